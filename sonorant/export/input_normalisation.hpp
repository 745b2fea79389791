// Vectors as the first layer receives them: `sonorant/models/running_level.py` and `running_mean.py` have the formulae.
// Part of kernels.cpp.
#pragma once

struct RunningLevel {
    float kept, least;  // of the peak from vector to vector, and its least value
};

struct RunningMean {
    float decay, fall, steepness, below_peak;
};

INLINE float mean_of(const float* values, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; ++i) sum += values[i];
    return sum / count;
}

// Divides a vector by the running peak of its level.
FAST void divide_by_level(RunningLevel of, const float* vector, size_t bins, float* peak, float* relative) {
    *peak = std::max(of.kept * *peak, std::max(mean_of(vector, bins), of.least));
    for (size_t i = 0; i < bins; ++i) relative[i] = vector[i] / *peak;
}

FAST void normalise(const float* mean, const float* deviation, size_t bins, float* vector) {
    for (size_t i = 0; i < bins; ++i) vector[i] = (vector[i] - mean[i]) / deviation[i];
}

// Subtracts the running mean over speech; state: the sums S [bins] and N, and the peak p.
FAST void subtract_mean(RunningMean of, size_t bins, float* __restrict state, float* __restrict vector) {
    float *total = state, *count = state + bins, *peak = count + 1;
    const float level = mean_of(vector, bins);
    *peak = std::max(*peak - of.fall, level);
    const float weight = sigmoid(of.steepness * (level - *peak + of.below_peak));
    *count = weight + of.decay * *count;
    for (size_t i = 0; i < bins; ++i) {
        total[i] = weight * vector[i] + of.decay * total[i];
        vector[i] -= total[i] / *count;
    }
}
