// The recurrence of an LSTM layer with peepholes, forward and backward; formulae: `graph_lstm.py`. Part of kernels.cpp.
#pragma once

constexpr size_t LEAST_ROWS = 8;  // of a thread: as many as a tile of products has

struct Peepholes {
    const float *input, *forget, *output;

    Peepholes(const float* of, size_t cells) : input(of), forget(of + cells), output(of + 2 * cells) {}
};

// One row's step: sums, of the gates i, g, f and o before their nonlinearities, become gates, cell and output. A loop for
// each, as gcc makes slow code of one for all, by masks where exponentials are cut off.
FASTEST void cells_forward(const float* __restrict sums, size_t cells, Peepholes peepholes, const float* __restrict before,
                           float* __restrict gates, float* __restrict cell, float* __restrict output) {
    float *in = gates, *candidate = gates + cells, *forget = gates + 2 * cells, *out = gates + 3 * cells;
    for (size_t i = 0; i < cells; ++i) in[i] = sigmoid(sums[i] + peepholes.input[i] * before[i]);
    for (size_t i = 0; i < cells; ++i) candidate[i] = hyperbolic_tangent(sums[cells + i]);
    for (size_t i = 0; i < cells; ++i) forget[i] = sigmoid(sums[2 * cells + i] + peepholes.forget[i] * before[i]);
    for (size_t i = 0; i < cells; ++i) cell[i] = forget[i] * before[i] + in[i] * candidate[i];
    for (size_t i = 0; i < cells; ++i) out[i] = sigmoid(sums[3 * cells + i] + peepholes.output[i] * cell[i]);
    for (size_t i = 0; i < cells; ++i) output[i] = out[i] * hyperbolic_tangent(cell[i]);
}

// Its gradients. d_hidden: what the step after hands back to its output; d_cell: to its cell state, then to the one before.
FASTEST void cells_backward(const float* __restrict gates, size_t cells, Peepholes peepholes, const float* __restrict cell,
                            const float* __restrict before, const float* __restrict d_output,
                            const float* __restrict d_hidden, float* __restrict d_cell, float* __restrict d_gates) {
    for (size_t i = 0; i < cells; ++i) {
        const float in = gates[i], candidate = gates[cells + i], forget = gates[2 * cells + i], out = gates[3 * cells + i];
        const float activation = hyperbolic_tangent(cell[i]), d = d_output[i] + d_hidden[i];
        const float d_out = d * activation * out * (1 - out);
        const float d_now = d_cell[i] + d * out * (1 - activation * activation) + d_out * peepholes.output[i];
        const float d_in = d_now * candidate * in * (1 - in), d_forget = d_now * before[i] * forget * (1 - forget);
        d_gates[i] = d_in;
        d_gates[cells + i] = d_now * in * (1 - candidate * candidate);
        d_gates[2 * cells + i] = d_forget;
        d_gates[3 * cells + i] = d_out;
        d_cell[i] = d_now * forget + d_in * peepholes.input[i] + d_forget * peepholes.forget[i];
    }
}

// Of a layer's arrays.
struct Sizes {
    size_t steps, rows, cells;

    template <typename Array>
    void expect_sequence(const Array& of, size_t columns, const char* what) const {
        expect(of.shape(0) == steps && of.shape(1) == rows && of.shape(2) == columns, what);
    }

    template <typename Array>
    void expect_state(const Array& of, const char* what) const {
        expect(of.shape(0) == rows && of.shape(1) == cells, what);
    }

    void expect_weights(const Floats<2>& recurrent, const Floats<2>& peepholes) const {
        expect(recurrent.shape(1) == 4 * cells, "recurrent: expected [cells, 4 cells]");
        expect(peepholes.shape(0) == 3 && peepholes.shape(1) == cells, "peepholes: expected [3, cells]");
    }
};

struct ForwardPass {
    Sizes sizes;
    Packed recurrent;
    Peepholes peepholes;
    const float *products, *cell, *hidden;
    float *gates, *cells, *outputs;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, width = recurrent.width();
        std::vector<float> sums((last - first) * width);
        const float *before = cell, *heard = hidden;
        for (size_t step = 0; step < sizes.steps; ++step) {
            const size_t at = step * sizes.rows;
            for (size_t row = first; row < last; ++row)
                std::copy_n(products + (at + row) * 4 * size, 4 * size, sums.data() + (row - first) * width);
            add_products(heard + first * size, size, last - first, recurrent.lanes.data(), size, recurrent.panels,
                         sums.data(), width);
            for (size_t row = first; row < last; ++row)
                cells_forward(sums.data() + (row - first) * width, size, peepholes, before + row * size,
                              gates + (at + row) * 4 * size, cells + (at + row) * size, outputs + (at + row) * size);
            before = cells + at * size;
            heard = outputs + at * size;
        }
    }
};

struct BackwardPass {
    Sizes sizes;
    Packed recurrent;  // transposed
    Peepholes peepholes;
    const float *d_outputs, *d_last_cell, *gates, *cells, *cell;
    float *d_gates, *d_cell, *d_hidden;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, width = recurrent.width();
        std::vector<float> handed((last - first) * width);  // back to the outputs of the step before
        std::copy_n(d_last_cell + first * size, (last - first) * size, d_cell + first * size);
        for (size_t step = sizes.steps; step-- > 0;) {
            const size_t at = step * sizes.rows;
            const float* before = step ? cells + (at - sizes.rows) * size : cell;
            for (size_t row = first; row < last; ++row)
                cells_backward(gates + (at + row) * 4 * size, size, peepholes, cells + (at + row) * size,
                               before + row * size, d_outputs + (at + row) * size, handed.data() + (row - first) * width,
                               d_cell + row * size, d_gates + (at + row) * 4 * size);
            std::fill(handed.begin(), handed.end(), 0.0f);
            add_products(d_gates + (at + first) * 4 * size, 4 * size, last - first, recurrent.lanes.data(), 4 * size,
                         recurrent.panels, handed.data(), width);
        }
        for (size_t row = first; row < last; ++row)
            std::copy_n(handed.data() + (row - first) * width, size, d_hidden + row * size);
    }
};

void lstm_forward(Floats<3> products, Floats<2> recurrent, Floats<2> peepholes, Floats<2> cell, Floats<2> hidden,
                  size_t threads, Sums<3> gates, Sums<3> cells, Sums<3> outputs) {
    const Sizes sizes{products.shape(0), products.shape(1), recurrent.shape(0)};
    const size_t size = sizes.cells;
    sizes.expect_weights(recurrent, peepholes);
    sizes.expect_sequence(products, 4 * size, "products: expected [T, B, 4 cells]");
    sizes.expect_sequence(gates, 4 * size, "gates: expected [T, B, 4 cells]");
    sizes.expect_sequence(cells, size, "cells: expected [T, B, cells]");
    sizes.expect_sequence(outputs, size, "outputs: expected [T, B, cells]");
    sizes.expect_state(cell, "cell: expected [B, cells]");
    sizes.expect_state(hidden, "hidden: expected [B, cells]");
    const nb::gil_scoped_release released;
    const ForwardPass pass{sizes,
                           Packed(recurrent.data(), size, 4 * size),
                           Peepholes(peepholes.data(), size),
                           products.data(),
                           cell.data(),
                           hidden.data(),
                           gates.data(),
                           cells.data(),
                           outputs.data()};
    share(sizes.rows, threads, LEAST_ROWS, pass);
}

void lstm_backward(Floats<3> d_outputs, Floats<2> d_last_cell, Floats<3> gates, Floats<3> cells, Floats<2> cell,
                   Floats<2> recurrent, Floats<2> peepholes, size_t threads, Sums<3> d_gates, Sums<2> d_cell,
                   Sums<2> d_hidden) {
    const Sizes sizes{gates.shape(0), gates.shape(1), recurrent.shape(0)};
    const size_t size = sizes.cells;
    sizes.expect_weights(recurrent, peepholes);
    sizes.expect_sequence(d_outputs, size, "d_outputs: expected [T, B, cells]");
    sizes.expect_sequence(gates, 4 * size, "gates: expected [T, B, 4 cells]");
    sizes.expect_sequence(cells, size, "cells: expected [T, B, cells]");
    sizes.expect_sequence(d_gates, 4 * size, "d_gates: expected [T, B, 4 cells]");
    sizes.expect_state(d_last_cell, "d_last_cell: expected [B, cells]");
    sizes.expect_state(cell, "cell: expected [B, cells]");
    sizes.expect_state(d_cell, "d_cell: expected [B, cells]");
    sizes.expect_state(d_hidden, "d_hidden: expected [B, cells]");
    const nb::gil_scoped_release released;
    const BackwardPass pass{sizes,
                            Packed(recurrent.data(), 4 * size, size, 1, 4 * size),
                            Peepholes(peepholes.data(), size),
                            d_outputs.data(),
                            d_last_cell.data(),
                            gates.data(),
                            cells.data(),
                            cell.data(),
                            d_gates.data(),
                            d_cell.data(),
                            d_hidden.data()};
    share(sizes.rows, threads, LEAST_ROWS, pass);
}

// Add a step's gradients by the peepholes of one row: input and forget gate see the cell state before, the output gate
// that now.
FASTEST void add_peepholes(const float* __restrict d_gates, size_t cells, const float* __restrict before,
                           const float* __restrict now, float* __restrict sums) {
    for (size_t i = 0; i < cells; ++i) {
        sums[i] += d_gates[i] * before[i];
        sums[cells + i] += d_gates[2 * cells + i] * before[i];
        sums[2 * cells + i] += d_gates[3 * cells + i] * now[i];
    }
}

void lstm_peepholes(Floats<3> d_gates, Floats<3> cells, Floats<2> cell, Sums<2> d_peepholes) {
    const Sizes sizes{cells.shape(0), cells.shape(1), cells.shape(2)};
    const size_t size = sizes.cells;
    sizes.expect_sequence(d_gates, 4 * size, "d_gates: expected [T, B, 4 cells]");
    sizes.expect_state(cell, "cell: expected [B, cells]");
    expect(d_peepholes.shape(0) == 3 && d_peepholes.shape(1) == size, "d_peepholes: expected [3, cells]");
    const nb::gil_scoped_release released;
    std::fill_n(d_peepholes.data(), d_peepholes.size(), 0.0f);
    for (size_t step = 0; step < sizes.steps; ++step) {
        const float* now = cells.data() + step * sizes.rows * size;
        const float* before = step ? now - sizes.rows * size : cell.data();
        for (size_t row = 0; row < sizes.rows; ++row)
            add_peepholes(d_gates.data() + (step * sizes.rows + row) * 4 * size, size, before + row * size,
                          now + row * size, d_peepholes.data());
    }
}
