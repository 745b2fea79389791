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

constexpr size_t TOGETHER = 4;  // frames whose spectra are computed at once: the tables are larger than the L1 cache

struct Tables {
    const float *cosines, *sines;  // [hop, bins]
    size_t hop, bins;              // whole registers of bins
};

// The spectra of real frames by their even and odd parts: half the products, and no FFT for few bins of an odd size.
template <size_t FRAMES>
INLINE void fold(const float* samples, const Tables& tables, float* folded, float* real, float* imag) {
    const auto [cosines, sines, hop, bins] = tables;
    for (size_t n = 1; n <= hop; ++n)
        for (size_t frame = 0; frame < FRAMES; ++frame) {
            const float *own = samples + frame * hop, one = own[n], other = own[2 * hop - n];
            folded[2 * ((n - 1) * FRAMES + frame)] = one + other;
            folded[2 * ((n - 1) * FRAMES + frame) + 1] = one - other;
        }
    for (size_t k = 0; k < bins; k += 8) {
        Eight sums[2 * FRAMES] = {};
        for (size_t n = 0; n < hop; ++n) {
            Eight cosine, sine;
            std::memcpy(&cosine, cosines + n * bins + k, sizeof cosine);
            std::memcpy(&sine, sines + n * bins + k, sizeof sine);
            for (size_t frame = 0; frame < FRAMES; ++frame) {
                sums[2 * frame] += folded[2 * (n * FRAMES + frame)] * cosine;
                sums[2 * frame + 1] += folded[2 * (n * FRAMES + frame) + 1] * sine;
            }
        }
        for (size_t frame = 0; frame < FRAMES; ++frame) {
            std::memcpy(real + frame * bins + k, &sums[2 * frame], sizeof(Eight));
            std::memcpy(imag + frame * bins + k, &sums[2 * frame + 1], sizeof(Eight));
        }
    }
}

// frames: at most TOGETHER; folded: scratch of 2 * TOGETHER * hop floats.
FAST void fold_some(const float* samples, size_t frames, const Tables& tables, float* folded, float* real,
                    float* imag) {
    switch (frames) {
        case 4: return fold<4>(samples, tables, folded, real, imag);
        case 3: return fold<3>(samples, tables, folded, real, imag);
        case 2: return fold<2>(samples, tables, folded, real, imag);
        default: return fold<1>(samples, tables, folded, real, imag);
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
    // cosines, sines: [hop, bins], windowed and scaled, with zeros behind the last band up to a multiple of 8 bins;
    // edges: first bin of each band, and the last one's end
    VoiceActivity(ConstRows cosines, ConstRows sines, Integers edges)
        : cosines_(cosines), sines_(sines), edges_(edges), hop_(cosines.shape(0)), bins_(cosines.shape(1)),
          folded_(2 * TOGETHER * hop_), real_(TOGETHER * bins_), imag_(TOGETHER * bins_),
          powers_(SMOOTHED_FRAMES * BANDS, LEAST_POWER), levels_(FLOOR_FRAMES * BANDS, LEAST_LEVEL) {
        expect(hop_ && sines.shape(0) == hop_ && sines.shape(1) == bins_, "VoiceActivity: tables of unequal shape");
        expect(bins_ % 8 == 0, "VoiceActivity: bins must be a multiple of 8");
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
        const Tables tables{cosines_.data(), sines_.data(), hop_, bins_};
        for (size_t first = 0; first < frames; first += TOGETHER) {
            const size_t count = std::min(TOGETHER, frames - first);
            fold_some(samples_.data() + first * hop_, count, tables, folded_.data(), real_.data(), imag_.data());
            for (size_t i = 0; i < count; ++i)
                flags.data()[first + i] = next(real_.data() + i * bins_, imag_.data() + i * bins_);
        }
        samples_.erase(samples_.begin(), samples_.begin() + frames * hop_);
        return frames;
    }

private:
    uint8_t next(const float* real, const float* imag) {
        float* level = levels_.data() + frames_ % FLOOR_FRAMES * BANDS;
        float* power = powers_.data() + frames_ % SMOOTHED_FRAMES * BANDS;
        for (size_t band = 0; band + 1 < edges_.size(); ++band) {
            float sum = LEAST_POWER;
            for (int32_t k = edges_.data()[band]; k < edges_.data()[band + 1]; ++k)
                sum += real[k] * real[k] + imag[k] * imag[k];
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
    std::vector<float> samples_, folded_, real_, imag_, powers_, levels_;  // the latter two: rings of frames
};
