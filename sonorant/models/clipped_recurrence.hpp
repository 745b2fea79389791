// The recurrence of clipped rectifiers in both directions of time, forward and backward; formulae:
// `clipped_recurrence.py`. Part of kernels.cpp.
//
// States are [2, B, T + 1, cells], of both directions, and lie between frames: a frame's own state is on its one side,
// and the previous one in the direction on its other. Gradients are at the index of the previous state, so that those
// of the weights are one product of all rows.
#pragma once

// Where values of a frame, or of a state, begin.
struct ClippedSizes {
    size_t utterances, frames, cells;

    size_t frame(size_t direction, size_t step) const { return direction ? frames - 1 - step : step; }

    size_t in_sequence(size_t utterance, size_t frame) const { return (utterance * frames + frame) * cells; }

    size_t states_step() const { return (frames + 1) * cells; }  // from utterance to utterance

    size_t state(size_t direction, size_t utterance, size_t place) const {
        return (direction * utterances + utterance) * states_step() + place * cells;
    }

    size_t previous_state(size_t direction, size_t utterance, size_t frame) const {
        return state(direction, utterance, frame + direction);
    }

    size_t own_state(size_t direction, size_t utterance, size_t frame) const {
        return state(direction, utterance, frame + 1 - direction);
    }

    template <typename Array>
    void expect_sequence(const Array& of, const char* what) const {
        expect(of.shape(0) == utterances && of.shape(1) == frames && of.shape(2) == cells, what);
    }

    template <typename Array>
    void expect_states(const Array& of, const char* what) const {
        expect(of.shape(0) == 2 && of.shape(1) == utterances, what);
        expect(of.shape(2) == frames + 1 && of.shape(3) == cells, what);
    }

    void expect_lengths(const Integers<1>& of) const {
        expect(of.shape(0) == utterances, "lengths: expected [B]");
        for (size_t utterance = 0; utterance < utterances; ++utterance)
            expect(of.data()[utterance] >= 0 && static_cast<size_t>(of.data()[utterance]) <= frames,
                   "lengths: expected 0 to T");
    }

    void expect_weight(const Floats<3>& of) const {
        expect(of.shape(0) == 2 && of.shape(1) == cells, "weight: expected [2, cells, cells]");
    }
};

// NaN passes: every comparison with it is false.
FASTEST void clip(const float* __restrict sums, size_t count, float ceiling, float* __restrict clipped) {
    for (size_t i = 0; i < count; ++i) {
        const float rectified = sums[i] < 0 ? 0 : sums[i];
        clipped[i] = rectified > ceiling ? ceiling : rectified;
    }
}

// Of a frame: what its output and the step after hand back, where the rectifier passes it.
FASTEST void clip_gradient(const float* __restrict states, size_t count, float ceiling,
                           const float* __restrict d_states, const float* __restrict handed, float* __restrict d_sums) {
    for (size_t i = 0; i < count; ++i) d_sums[i] = states[i] > 0 && states[i] < ceiling ? d_states[i] + handed[i] : 0;
}

struct ClippedForward {
    ClippedSizes sizes;
    Packed weights[2];
    float ceiling;
    const float* inputs;
    const int32_t* lengths;
    float *states, *outputs;

    void operator()(size_t first, size_t last) const {
        for (size_t direction = 0; direction < 2; ++direction) {
            for (size_t utterance = first; utterance < last; ++utterance)
                std::fill_n(states + sizes.state(direction, utterance, direction * sizes.frames), sizes.cells, 0.0f);
            std::vector<float> sums((last - first) * weights[direction].width());
            for (size_t step = 0; step < sizes.frames; ++step)
                advance(direction, sizes.frame(direction, step), first, last, sums.data());
        }
    }

    void advance(size_t direction, size_t frame, size_t first, size_t last, float* sums) const {
        const Packed& weight = weights[direction];
        const size_t width = weight.width();
        for (size_t utterance = first; utterance < last; ++utterance)
            std::copy_n(inputs + sizes.in_sequence(utterance, frame), sizes.cells, sums + (utterance - first) * width);
        add_products(states + sizes.previous_state(direction, first, frame), sizes.states_step(), last - first,
                     weight.lanes.data(), sizes.cells, weight.panels, sums, width);
        for (size_t utterance = first; utterance < last; ++utterance) {
            float* state = states + sizes.own_state(direction, utterance, frame);
            // Backwards an utterance begins at its last frame, with 0.
            if (direction && static_cast<int64_t>(frame) >= lengths[utterance])
                std::fill_n(state, sizes.cells, 0.0f);
            else
                clip(sums + (utterance - first) * width, sizes.cells, ceiling, state);
            float* output = outputs + sizes.in_sequence(utterance, frame);
            if (direction)
                add_values(state, sizes.cells, output);
            else
                std::copy_n(state, sizes.cells, output);
        }
    }
};

struct ClippedBackward {
    ClippedSizes sizes;
    Packed weights[2];  // transposed
    float ceiling;
    const float *d_outputs, *states;
    float *d_inputs, *d_sums;

    void operator()(size_t first, size_t last) const {
        for (size_t direction = 0; direction < 2; ++direction) {
            for (size_t utterance = first; utterance < last; ++utterance)  // no frame's previous state
                std::fill_n(d_sums + sizes.state(direction, utterance, (1 - direction) * sizes.frames), sizes.cells,
                            0.0f);
            std::vector<float> handed((last - first) * weights[direction].width());
            for (size_t step = sizes.frames; step-- > 0;)
                go_back(direction, sizes.frame(direction, step), first, last, handed);
        }
    }

    void go_back(size_t direction, size_t frame, size_t first, size_t last, std::vector<float>& handed) const {
        const Packed& weight = weights[direction];
        const size_t width = weight.width();
        for (size_t utterance = first; utterance < last; ++utterance) {
            const size_t at = sizes.in_sequence(utterance, frame);
            float* d = d_sums + sizes.previous_state(direction, utterance, frame);
            clip_gradient(states + sizes.own_state(direction, utterance, frame), sizes.cells, ceiling, d_outputs + at,
                          handed.data() + (utterance - first) * width, d);
            if (direction)
                add_values(d, sizes.cells, d_inputs + at);
            else
                std::copy_n(d, sizes.cells, d_inputs + at);
        }
        std::fill(handed.begin(), handed.end(), 0.0f);
        add_products(d_sums + sizes.previous_state(direction, first, frame), sizes.states_step(), last - first,
                     weight.lanes.data(), sizes.cells, weight.panels, handed.data(), width);
    }
};

void clipped_forward(Floats<3> inputs, Integers<1> lengths, Floats<3> weight, float ceiling, size_t threads,
                     Sums<4> states, Sums<3> outputs) {
    const ClippedSizes sizes{inputs.shape(0), inputs.shape(1), weight.shape(2)};
    sizes.expect_weight(weight);
    sizes.expect_sequence(inputs, "inputs: expected [B, T, cells]");
    sizes.expect_sequence(outputs, "outputs: expected [B, T, cells]");
    sizes.expect_states(states, "states: expected [2, B, T + 1, cells]");
    sizes.expect_lengths(lengths);
    const nb::gil_scoped_release released;
    const size_t cells = sizes.cells;
    const float* backwards = weight.data() + cells * cells;
    const ClippedForward pass{sizes,
                              {Packed(weight.data(), cells, cells), Packed(backwards, cells, cells)},
                              ceiling,
                              inputs.data(),
                              lengths.data(),
                              states.data(),
                              outputs.data()};
    share(sizes.utterances, threads, LEAST_ROWS, pass);
}

void clipped_backward(Floats<3> d_outputs, Floats<4> states, Floats<3> weight, float ceiling, size_t threads,
                      Sums<3> d_inputs, Sums<4> d_sums) {
    const ClippedSizes sizes{d_outputs.shape(0), d_outputs.shape(1), weight.shape(2)};
    sizes.expect_weight(weight);
    sizes.expect_sequence(d_outputs, "d_outputs: expected [B, T, cells]");
    sizes.expect_sequence(d_inputs, "d_inputs: expected [B, T, cells]");
    sizes.expect_states(states, "states: expected [2, B, T + 1, cells]");
    sizes.expect_states(d_sums, "d_sums: expected [2, B, T + 1, cells]");
    const nb::gil_scoped_release released;
    const size_t cells = sizes.cells;
    const float* backwards = weight.data() + cells * cells;
    const ClippedBackward pass{sizes,
                               {Packed(weight.data(), cells, cells, 1, cells),
                                Packed(backwards, cells, cells, 1, cells)},
                               ceiling,
                               d_outputs.data(),
                               states.data(),
                               d_inputs.data(),
                               d_sums.data()};
    share(sizes.utterances, threads, LEAST_ROWS, pass);
}
