// Batch normalisation of padded frames, forward and backward; formulae: `compiled_batch_normalisation.py`. Part of
// kernels.cpp.
//
// Threads share the channels, so that sums over frames have the same bits with any number of them.
#pragma once

constexpr size_t LEAST_CHANNELS = 16;  // of a thread: a line of a cache
constexpr size_t FEW_FRAMES = 64;      // are added up on their own: sums of many lose digits

// Values of frames, [N, channels].
struct NormalisedFrames {
    const float* values;
    size_t frames, channels;

    explicit NormalisedFrames(const Floats<2>& of) : values(of.data()), frames(of.shape(0)), channels(of.shape(1)) {}

    template <typename Array>
    void expect_values(const Array& of, const char* what) const {
        expect(of.shape(0) == frames && of.shape(1) == channels, what);
    }

    template <typename Array>
    void expect_channels(const Array& of, const char* what) const {
        expect(of.shape(0) == channels, what);
    }

    template <typename Array>
    void expect_pairs(const Array& of, const char* what) const {
        expect(of.shape(0) == 2 && of.shape(1) == channels, what);
    }

    void expect_present(const Floats<1>& of) const { expect(of.shape(0) == frames, "present: expected [N]"); }

    // Of frames that are there, at least 1: a divisor.
    float count(const float* present) const {
        const auto found = std::count_if(present, present + frames, [](float one) { return one > 0; });
        return std::max(static_cast<float>(found), 1.0f);
    }

    // Two sums of so many channels each, of what `add` adds for a frame.
    template <typename Add>
    std::vector<float> two_sums(size_t own, const Add& add) const {
        std::vector<float> sums(2 * own, 0.0f), few(2 * own);
        for (size_t first = 0; first < frames; first += FEW_FRAMES) {
            std::fill(few.begin(), few.end(), 0.0f);
            for (size_t frame = first; frame < std::min(first + FEW_FRAMES, frames); ++frame)
                add(frame, few.data(), few.data() + own);
            add_values(few.data(), few.size(), sums.data());
        }
        return sums;
    }
};

FASTEST void add_moments(const float* __restrict values, const float* __restrict centre, size_t count,
                         float* __restrict total, float* __restrict squares) {
    for (size_t i = 0; i < count; ++i) {
        const float about = values[i] - centre[i];
        total[i] += about;
        squares[i] += about * about;
    }
}

FASTEST void scale_about(const float* __restrict values, const float* __restrict mean, const float* __restrict factor,
                         const float* __restrict offset, size_t count, float* __restrict normal) {
    for (size_t i = 0; i < count; ++i) normal[i] = (values[i] - mean[i]) * factor[i] + offset[i];
}

FASTEST void add_weights_gradient(const float* __restrict d_normal, const float* __restrict values,
                                  const float* __restrict mean, size_t count, float* __restrict d_offset,
                                  float* __restrict products) {
    for (size_t i = 0; i < count; ++i) {
        d_offset[i] += d_normal[i];
        products[i] += d_normal[i] * (values[i] - mean[i]);
    }
}

FASTEST void values_gradient(const float* __restrict d_normal, const float* __restrict values,
                             const float* __restrict mean, const float* __restrict factor,
                             const float* __restrict constant, const float* __restrict slope, size_t count,
                             float* __restrict d_values) {
    for (size_t i = 0; i < count; ++i)
        d_values[i] = factor[i] * d_normal[i] - (constant[i] + slope[i] * (values[i] - mean[i]));
}

// Of padding, which has no part in the moments.
FASTEST void scale_gradient(const float* __restrict d_normal, const float* __restrict factor, size_t count,
                            float* __restrict d_values) {
    for (size_t i = 0; i < count; ++i) d_values[i] = factor[i] * d_normal[i];
}

struct NormalisingForward {
    NormalisedFrames of;
    const float *present, *centre, *scale, *offset;
    float epsilon, count;
    float *normal, *sums, *moments;

    void operator()(size_t first, size_t last) const {
        const size_t own = last - first;
        const std::vector<float> added = of.two_sums(own, [&](size_t frame, float* total, float* squares) {
            if (present[frame] > 0)
                add_moments(of.values + frame * of.channels + first, centre + first, own, total, squares);
        });
        std::vector<float> factor(own);
        float *mean = moments + first, *deviation = moments + of.channels + first;
        for (size_t i = 0; i < own; ++i) {
            sums[first + i] = added[i];
            sums[of.channels + first + i] = added[own + i];
            const float about = added[i] / count;
            mean[i] = centre[first + i] + about;
            deviation[i] = std::sqrt(std::max(added[own + i] / count - about * about, 0.0f) + epsilon);
            factor[i] = scale[first + i] / deviation[i];
        }
        for (size_t frame = 0, at = first; frame < of.frames; ++frame, at += of.channels)
            scale_about(of.values + at, mean, factor.data(), offset + first, own, normal + at);
    }
};

struct NormalisingWeightsGradient {
    NormalisedFrames of;
    const float *d_normal, *moments;
    float *d_scale, *d_offset;

    void operator()(size_t first, size_t last) const {
        const size_t own = last - first;
        const float *mean = moments + first, *deviation = moments + of.channels + first;
        const std::vector<float> added = of.two_sums(own, [&](size_t frame, float* total, float* products) {
            const size_t at = frame * of.channels + first;
            add_weights_gradient(d_normal + at, of.values + at, mean, own, total, products);
        });
        for (size_t i = 0; i < own; ++i) {
            d_offset[first + i] = added[i];
            d_scale[first + i] = added[own + i] / deviation[i];
        }
    }
};

struct NormalisingValuesGradient {
    NormalisedFrames of;
    const float *d_normal, *present, *moments, *scale, *d_scale, *d_offset;
    float count;
    float* d_values;

    void operator()(size_t first, size_t last) const {
        const size_t own = last - first;
        const float *mean = moments + first, *deviation = moments + of.channels + first;
        std::vector<float> factor(own), constant(own), slope(own);
        for (size_t i = 0; i < own; ++i) {
            factor[i] = scale[first + i] / deviation[i];
            constant[i] = factor[i] * d_offset[first + i] / count;
            slope[i] = factor[i] * d_scale[first + i] / (deviation[i] * count);
        }
        for (size_t frame = 0, at = first; frame < of.frames; ++frame, at += of.channels)
            if (present[frame] > 0)
                values_gradient(d_normal + at, of.values + at, mean, factor.data(), constant.data(), slope.data(), own,
                                d_values + at);
            else
                scale_gradient(d_normal + at, factor.data(), own, d_values + at);
    }
};

void normalise_forward(Floats<2> values, Floats<1> present, Floats<1> centre, Floats<1> scale, Floats<1> offset,
                       float epsilon, size_t threads, Sums<2> normal, Sums<2> sums, Sums<2> moments) {
    const NormalisedFrames of(values);
    of.expect_present(present);
    of.expect_channels(centre, "centre: expected [channels]");
    of.expect_channels(scale, "scale: expected [channels]");
    of.expect_channels(offset, "offset: expected [channels]");
    of.expect_values(normal, "normal: expected [N, channels]");
    of.expect_pairs(sums, "sums: expected [2, channels]");
    of.expect_pairs(moments, "moments: expected [2, channels]");
    const nb::gil_scoped_release released;
    const NormalisingForward pass{of,
                                  present.data(),
                                  centre.data(),
                                  scale.data(),
                                  offset.data(),
                                  epsilon,
                                  of.count(present.data()),
                                  normal.data(),
                                  sums.data(),
                                  moments.data()};
    share(of.channels, threads, LEAST_CHANNELS, pass);
}

void normalise_weights_gradient(Floats<2> d_normal, Floats<2> values, Floats<2> moments, size_t threads,
                                Sums<1> d_scale, Sums<1> d_offset) {
    const NormalisedFrames of(values);
    of.expect_values(d_normal, "d_normal: expected [N, channels]");
    of.expect_pairs(moments, "moments: expected [2, channels]");
    of.expect_channels(d_scale, "d_scale: expected [channels]");
    of.expect_channels(d_offset, "d_offset: expected [channels]");
    const nb::gil_scoped_release released;
    const NormalisingWeightsGradient pass{of, d_normal.data(), moments.data(), d_scale.data(), d_offset.data()};
    share(of.channels, threads, LEAST_CHANNELS, pass);
}

void normalise_values_gradient(Floats<2> d_normal, Floats<2> values, Floats<1> present, Floats<2> moments,
                               Floats<1> scale, Floats<1> d_scale, Floats<1> d_offset, size_t threads,
                               Sums<2> d_values) {
    const NormalisedFrames of(values);
    of.expect_values(d_normal, "d_normal: expected [N, channels]");
    of.expect_present(present);
    of.expect_pairs(moments, "moments: expected [2, channels]");
    of.expect_channels(scale, "scale: expected [channels]");
    of.expect_channels(d_scale, "d_scale: expected [channels]");
    of.expect_channels(d_offset, "d_offset: expected [channels]");
    of.expect_values(d_values, "d_values: expected [N, channels]");
    const nb::gil_scoped_release released;
    const NormalisingValuesGradient pass{of,
                                         d_normal.data(),
                                         present.data(),
                                         moments.data(),
                                         scale.data(),
                                         d_scale.data(),
                                         d_offset.data(),
                                         of.count(present.data()),
                                         d_values.data()};
    share(of.channels, threads, LEAST_CHANNELS, pass);
}
