// Levels of bands, the noise floor below them, and how far they fall: `sonorant/serving/voice_activity.py` says why.
// Part of kernels.cpp. All sums have one order, and a frame's flags depend on the frames before it alone.
#pragma once

constexpr size_t BANDS = 8;
constexpr size_t BEST_BANDS = 4;        // those that count: in noise, or a narrow channel, the others tell nothing
constexpr float LEAST_POWER = 1e-9f;    // of a band, relative to full scale: -90 dB, below which all is silence
constexpr float LEAST_LEVEL = -90;      // the same in dB
constexpr size_t SMOOTHED_FRAMES = 4;
constexpr size_t FLOOR_FRAMES = 200;
constexpr size_t FALL_FRAMES = 40;
// Stationary white and pink noise stay below 7.5 dB of either in minutes; 99.7 % of 3,916 words of digits and commands,
// 1,650 of them in rooms with noise at 5 to 25 dB, fall by 10 dB and more.
constexpr float ACTIVE_DB = 8;
constexpr float FALL_DB = 9;
constexpr uint8_t ACTIVE = 1, SPEECH = 2;  // flags of a frame

// The spectrum of a real frame by its even and odd parts: half the products, and no FFT for few bins of an odd size.
FAST void fold(const float* __restrict samples, const float* __restrict cosines, const float* __restrict sines,
               size_t hop, size_t bins, float* __restrict real, float* __restrict imag) {
    std::fill_n(real, bins, 0.f);
    std::fill_n(imag, bins, 0.f);
    for (size_t n = 1; n <= hop; ++n) {
        const float even = samples[n] + samples[2 * hop - n], odd = samples[n] - samples[2 * hop - n];
        const float *cosine = cosines + (n - 1) * bins, *sine = sines + (n - 1) * bins;
        for (size_t k = 0; k < bins; ++k) {
            real[k] += even * cosine[k];
            imag[k] += odd * sine[k];
        }
    }
}

// The least level of each band in the floor's window.
FAST void find_floor(const float* __restrict levels, float* __restrict floor) {
    std::copy_n(levels, BANDS, floor);
    for (size_t frame = 1; frame < FLOOR_FRAMES; ++frame)
        for (size_t band = 0; band < BANDS; ++band)
            floor[band] = std::min(floor[band], levels[frame * BANDS + band]);
}

class VoiceActivity {
public:
    // cosines, sines: [hop, bins], windowed and scaled; edges: first bin of each band, and the last one's end
    VoiceActivity(ConstRows cosines, ConstRows sines, Integers edges)
        : cosines_(cosines), sines_(sines), edges_(edges), hop_(cosines.shape(0)), bins_(cosines.shape(1)),
          real_(bins_), imag_(bins_), powers_(SMOOTHED_FRAMES * BANDS, LEAST_POWER),
          levels_(FLOOR_FRAMES * BANDS, LEAST_LEVEL) {
        expect(hop_ && sines.shape(0) == hop_ && sines.shape(1) == bins_, "VoiceActivity: tables of unequal shape");
        expect(2 <= edges.size() && edges.size() <= BANDS + 1, "VoiceActivity: there must be 1 to 8 bands");
        for (size_t band = 0; band + 1 < edges.size(); ++band)
            expect(0 <= edges.data()[band] && edges.data()[band] < edges.data()[band + 1] &&
                       edges.data()[band + 1] <= static_cast<int32_t>(bins_),
                   "VoiceActivity: edges must ascend within the bins");
    }

    size_t push(Floats samples, Flags flags) {
        const size_t total = samples_.size() + samples.size(), hops = total / hop_, frames = hops ? hops - 1 : 0;
        expect(flags.size() >= frames, "VoiceActivity: fewer flags than frames");
        samples_.insert(samples_.end(), samples.data(), samples.data() + samples.size());
        for (size_t frame = 0; frame < frames; ++frame) flags.data()[frame] = next(samples_.data() + frame * hop_);
        samples_.erase(samples_.begin(), samples_.begin() + frames * hop_);
        return frames;
    }

private:
    uint8_t next(const float* frame) {
        fold(frame, cosines_.data(), sines_.data(), hop_, bins_, real_.data(), imag_.data());
        float* level = levels_.data() + frames_ % FLOOR_FRAMES * BANDS;
        float* power = powers_.data() + frames_ % SMOOTHED_FRAMES * BANDS;
        for (size_t band = 0; band + 1 < edges_.size(); ++band) {
            float sum = LEAST_POWER;
            for (int32_t k = edges_.data()[band]; k < edges_.data()[band + 1]; ++k)
                sum += real_[k] * real_[k] + imag_[k] * imag_[k];
            power[band] = sum;
            float smoothed = 0;
            for (size_t ago = 0; ago < SMOOTHED_FRAMES; ++ago)
                smoothed += powers_[(frames_ + 1 + ago) % SMOOTHED_FRAMES * BANDS + band];
            level[band] = 10 * std::log10(smoothed / SMOOTHED_FRAMES);
        }
        float above[BANDS], fallen[BANDS];
        find_floor(levels_.data(), above);
        for (size_t band = 0; band < BANDS; ++band) above[band] = level[band] - above[band];
        const bool active = best(above) >= ACTIVE_DB;
        if (active) falls(fallen);
        ++frames_;
        return !active ? 0 : best(fallen) >= FALL_DB ? ACTIVE | SPEECH : ACTIVE;
    }

    // The largest fall of each band among the latest frames.
    void falls(float* fallen) const {
        float peak[BANDS];
        std::fill_n(peak, BANDS, LEAST_LEVEL);
        std::fill_n(fallen, BANDS, 0.f);
        for (size_t ago = FALL_FRAMES; ago-- > 0;) {
            const float* level = levels_.data() + (frames_ + FLOOR_FRAMES - ago) % FLOOR_FRAMES * BANDS;
            for (size_t band = 0; band < BANDS; ++band) {
                peak[band] = std::max(peak[band], level[band]);
                fallen[band] = std::max(fallen[band], peak[band] - level[band]);
            }
        }
    }

    // The mean of the largest values.
    float best(float* values) const {
        std::sort(values, values + BANDS);
        const size_t count = std::min(BEST_BANDS, edges_.size() - 1);
        float sum = 0;
        for (size_t band = BANDS - count; band < BANDS; ++band) sum += values[band];
        return sum / count;
    }

    ConstRows cosines_, sines_;
    Integers edges_;
    size_t hop_, bins_, frames_ = 0;
    std::vector<float> samples_, real_, imag_, powers_, levels_;  // the latter two: rings of frames
};
