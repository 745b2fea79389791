// Recurrences along the time of each utterance, value by value. Part of kernels.cpp.
#pragma once

constexpr size_t LEAST_UTTERANCES = 8;  // of a thread

// y_t = decay y_{t-1} + x_t.
FASTEST void decay_and_add(const float* __restrict before, const float* __restrict now, float decay, size_t count,
                           float* __restrict sums) {
    for (size_t i = 0; i < count; ++i) sums[i] = decay * before[i] + now[i];
}

// y_t = max(kept y_{t-1} - fall, x_t).
FASTEST void fall_or_rise(const float* __restrict before, const float* __restrict now, float kept, float fall,
                          size_t count, float* __restrict peaks) {
    for (size_t i = 0; i < count; ++i) {
        const float fallen = kept * before[i] - fall;
        peaks[i] = fallen > now[i] || fallen != fallen ? fallen : now[i];  // what is no number stays
    }
}

// The first vector of an utterance as it is, and each after it by `next`, of the one before in `made` and its own.
template <typename Next>
void recur(const Floats<3>& values, size_t threads, const Sums<3>& made, const Next& next) {
    const size_t utterances = values.shape(0), vectors = values.shape(1), size = values.shape(2);
    expect(made.shape(0) == utterances && made.shape(1) == vectors && made.shape(2) == size,
           "expected arrays of the same shape");
    if (!vectors) return;
    const float* from = values.data();
    float* to = made.data();
    const nb::gil_scoped_release released;
    share(utterances, threads, LEAST_UTTERANCES, [=, &next](size_t first, size_t last) {
        for (size_t utterance = first; utterance < last; ++utterance) {
            size_t at = utterance * vectors * size;
            std::copy_n(from + at, size, to + at);
            for (size_t vector = 1; vector < vectors; ++vector, at += size)
                next(to + at, from + at + size, size, to + at + size);
        }
    });
}

void decaying_sums(Floats<3> terms, float decay, size_t threads, Sums<3> sums) {
    recur(terms, threads, sums, [decay](const float* before, const float* now, size_t size, float* after) {
        decay_and_add(before, now, decay, size, after);
    });
}

void running_peaks(Floats<3> levels, float kept, float fall, size_t threads, Sums<3> peaks) {
    recur(levels, threads, peaks, [=](const float* before, const float* now, size_t size, float* after) {
        fall_or_rise(before, now, kept, fall, size, after);
    });
}
