// Convolution over frequency of stacked vectors: `sonorant/models/frequency_convolution.py` has the layers.
// Part of kernels.cpp.
#pragma once

// Filters as long as a vector, and others behind them.
class FrequencyConvolution : public Convolution2d {
public:
    FrequencyConvolution(size_t bins, size_t frames, size_t pool, const Weights& first, const Weights& second,
                         const Weights& projection)
        : Convolution2d(HERE, bins, frames, layers(bins, frames, pool, first, second), projection) {}

private:
    static std::vector<Filters> layers(size_t bins, size_t frames, size_t pool, const Weights& first,
                                       const Weights& second) {
        expect(frames && pool && bins % frames == 0, std::string(HERE) + "bins of a vector, frames and pool do not fit");
        return {{{frames, 1, pool}, first, "first filters"}, {{1, 1, 1}, second, "second filters"}};
    }

    static constexpr const char* HERE = "FrequencyConvolution: ";
};
