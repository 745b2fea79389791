// Additive energies of a query at an utterance's frames, e_t = v . tanh(k_t + q + f_t u), and what weights make of
// frames: forward, and backward. Part of kernels.cpp; `attention.py` has the formulae.
#pragma once

// The sum is of sixteen sums, so that a compiler may vectorise it.
INLINE float dot(const float* __restrict a, const float* __restrict b, size_t size) {
    float lanes[LANES] = {}, rest = 0;
    size_t i = 0;
    for (; i + LANES <= size; i += LANES)
        for (size_t lane = 0; lane < LANES; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
    for (; i < size; ++i) rest += a[i] * b[i];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0] + rest;
}

// Of one query at the frames of one utterance; without feedback both pointers are null.
struct Energies {
    size_t frames, size, step;  // step: from the keys of a frame to those of the next
    const float *keys, *query, *vector, *by_feedback, *feedback;
};

INLINE void activate(const Energies& of, size_t frame, float* __restrict activations) {
    const float* key = of.keys + frame * of.step;
    for (size_t i = 0; i < of.size; ++i) activations[i] = key[i] + of.query[i];
    if (of.feedback)
        for (size_t i = 0; i < of.size; ++i) activations[i] += of.feedback[frame] * of.by_feedback[i];
    for (size_t i = 0; i < of.size; ++i) activations[i] = hyperbolic_tangent(activations[i]);
}

FASTEST void energies_forward(const Energies& of, float* __restrict activations, float* __restrict energies) {
    for (size_t frame = 0; frame < of.frames; ++frame) {
        activate(of, frame, activations);
        energies[frame] = dot(activations, of.vector, of.size);
    }
}

struct EnergyGradients {
    float *keys, *query, *vector, *by_feedback, *feedback;  // of frames; of the rest, sums over frames
};

// Add the gradients; those of the feedback only where there is one.
FASTEST void energies_backward(const Energies& of, const float* __restrict d_energies, float* __restrict activations,
                               const EnergyGradients& to) {
    float *__restrict d_query = to.query, *__restrict d_vector = to.vector, *__restrict d_by_feedback = to.by_feedback;
    for (size_t frame = 0; frame < of.frames; ++frame) {
        activate(of, frame, activations);
        float* __restrict d_key = to.keys + frame * of.step;
        const float d = d_energies[frame];
        for (size_t i = 0; i < of.size; ++i) {
            const float slope = d * of.vector[i] * (1 - activations[i] * activations[i]);
            d_vector[i] += d * activations[i];
            d_key[i] += slope;
            d_query[i] += slope;
            activations[i] = slope;
        }
        if (of.feedback == nullptr) continue;
        const float feedback = of.feedback[frame];
        for (size_t i = 0; i < of.size; ++i) d_by_feedback[i] += feedback * activations[i];
        to.feedback[frame] += dot(activations, of.by_feedback, of.size);
    }
}

// Make energies their softmax.
FASTEST void make_softmax(float* energies, size_t frames) {
    float greatest = -std::numeric_limits<float>::infinity(), sum = 0;
    for (size_t frame = 0; frame < frames; ++frame) greatest = std::max(greatest, energies[frame]);
    for (size_t frame = 0; frame < frames; ++frame) energies[frame] = exponential(energies[frame] - greatest);
    for (size_t frame = 0; frame < frames; ++frame) sum += energies[frame];
    for (size_t frame = 0; frame < frames; ++frame) energies[frame] /= sum;
}

// Overwrite a context by the sum of weighted frames [frames, size].
FASTEST void sum_frames(const float* __restrict weights, const float* __restrict encoded, size_t frames, size_t size,
                        float* __restrict context) {
    std::fill_n(context, size, 0.0f);
    for (size_t frame = 0; frame < frames; ++frame)
        for (size_t i = 0; i < size; ++i) context[i] += weights[frame] * encoded[frame * size + i];
}

// Add to the gradients of weights and frames.
FASTEST void sum_frames_backward(const float* __restrict weights, const float* __restrict encoded, size_t frames,
                                 size_t size, const float* __restrict d_context, float* __restrict d_weights,
                                 float* __restrict d_encoded) {
    for (size_t frame = 0; frame < frames; ++frame) {
        d_weights[frame] += dot(d_context, encoded + frame * size, size);
        for (size_t i = 0; i < size; ++i) d_encoded[frame * size + i] += weights[frame] * d_context[i];
    }
}
