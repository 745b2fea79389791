// Convolution over frequency of stacked vectors: `sonorant/models/frequency_convolution.py` has the layers.
// Part of kernels.cpp. What comes of a vector depends on that vector alone.
#pragma once

// Overwrite maxima [count, filters] by the largest of 0 and `pool` rows of sums each; what is no number stays none.
FAST void rectified_maxima(const float* sums, size_t step, size_t count, size_t pool, size_t filters,
                           float* __restrict maxima) {
    for (size_t at = 0; at < count; ++at, maxima += filters) {
        std::fill_n(maxima, filters, 0.f);
        for (size_t i = 0; i < pool; ++i, sums += step)
            for (size_t filter = 0; filter < filters; ++filter) {
                const float sum = sums[filter], most = maxima[filter];
                maxima[filter] = sum > most || sum != sum ? sum : most;
            }
    }
}

class FrequencyConvolution {
public:
    // bins: of a stacked vector; filters: kernels [values of a window, filters], those of a bin one after another.
    FrequencyConvolution(size_t bins, size_t frames, size_t pool, const Weights& first, const Weights& second,
                         const Weights& projection)
        : bins(bins), size(projection.first.shape(1)), frames_(frames), pool_(pool),
          first_(first, "FrequencyConvolution: first filters"), second_(second, "FrequencyConvolution: second filters"),
          projection_(projection, "FrequencyConvolution: weight of the projection") {
        const std::string here = "FrequencyConvolution: ";
        expect(frames && pool && bins % frames == 0, here + "bins of a vector, frames and pool do not fit");
        const size_t width = window(first_, frames, here + "first filters");
        const size_t pooled_width = window(second_, first_.columns, here + "second filters");
        expect(bins / frames >= width, here + "first filters of more than all bins");
        maxima_ = (bins / frames - width + 1) / pool;
        expect(maxima_ >= pooled_width, here + "second filters of more than all maxima");
        last_ = maxima_ - pooled_width + 1;
        expect(size, here + "projection to nothing");
        expect_shape(projection.first, last_ * second_.columns, size, here + "weight of the projection");
    }

    // Vectors [count, bins] become vectors [count, size].
    void apply(std::vector<float>& vectors, size_t count) const {
        static thread_local std::vector<float> by_bin, sums, maxima, found;
        const size_t mel_bins = bins / frames_, flat = last_ * second_.columns;
        by_bin.resize(bins);
        maxima.resize(maxima_ * first_.columns);
        found.resize(count * flat);
        for (size_t at = 0; at < count; ++at) {
            for (size_t frame = 0; frame < frames_; ++frame)
                for (size_t bin = 0; bin < mel_bins; ++bin)
                    by_bin[bin * frames_ + frame] = vectors[at * bins + frame * mel_bins + bin];
            convolve(first_, by_bin.data(), frames_, maxima_, pool_, sums, maxima.data());
            convolve(second_, maxima.data(), first_.columns, last_, 1, sums, found.data() + at * flat);
        }
        projection_.apply(found.data(), flat, count, sums);
        vectors.resize(count * size);
        for (size_t at = 0; at < count; ++at)
            std::copy_n(sums.data() + at * projection_.width(), size, vectors.data() + at * size);
    }

    const size_t bins, size;  // of a vector before and after

private:
    // Returns the bins in a window, of `step` values each.
    static size_t window(const Affine& filters, size_t step, const std::string& what) {
        const size_t terms = filters.weight.terms;
        expect(terms && filters.columns && terms % step == 0, what + ": windows of " + std::to_string(terms) + " values");
        return terms / step;
    }

    // values: those of a bin begin `step` behind the last's. Writes `count` maxima, each over `pool` positions.
    static void convolve(const Affine& filters, const float* values, size_t step, size_t count, size_t pool,
                         std::vector<float>& sums, float* maxima) {
        filters.apply(values, step, count * pool, sums);
        rectified_maxima(sums.data(), filters.width(), count, pool, filters.columns, maxima);
    }

    size_t frames_, pool_, maxima_, last_;  // frames of a vector; positions of a maximum, maxima, positions behind them
    Affine first_, second_, projection_;
};
