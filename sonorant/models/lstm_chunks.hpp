// The recurrence of an LSTM layer backwards in time, chunk by chunk, each from the end of the chunk after it; forward
// and backward. Part of kernels.cpp.
//
// A row is a chunk of an utterance, and all rows are one step on at a time. So each vector is met twice, first by the
// chunk before its own: what is made of it then is in the first half of an array [2, T, B, ...], and the rest in the other.
#pragma once

struct ChunkSizes {
    size_t chunk, vectors, utterances, cells;  // vectors: of all chunks but the last

    size_t rows() const { return vectors / chunk * utterances; }
    size_t steps() const { return 2 * chunk; }

    // Of the vector that a row meets at a step, in [T + chunk, B].
    size_t met(size_t step, size_t row) const {
        return ((row / utterances + 2) * chunk - 1 - step) * utterances + row % utterances;
    }

    // Of what is made of it, in [2, T, B].
    size_t made(size_t step, size_t row) const {
        const size_t at = met(step, row);
        return step < chunk ? at - chunk * utterances : vectors * utterances + at;
    }

    template <typename Array>
    void expect_made(const Array& of, size_t columns, const char* what) const {
        expect(of.shape(0) == 2 && of.shape(1) == vectors && of.shape(2) == utterances && of.shape(3) == columns, what);
    }
};

struct ChunksForward {
    ChunkSizes sizes;
    Packed recurrent;
    std::vector<float> zeros;  // peepholes, or a first state
    const float* products;
    float *gates, *cells, *heard, *outputs;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, width = recurrent.width();
        std::vector<float> sums((last - first) * width), hidden((last - first) * size);
        for (size_t step = 0; step < sizes.steps(); ++step) {
            for (size_t row = first; row < last; ++row) {
                const float* of_inputs = products + sizes.met(step, row) * 4 * size;
                std::copy_n(of_inputs, 4 * size, sums.data() + (row - first) * width);
                std::copy_n(hidden.data() + (row - first) * size, size, heard + sizes.made(step, row) * size);
            }
            add_products(hidden.data(), size, last - first, recurrent.lanes.data(), size, recurrent.panels, sums.data(),
                         width);
            for (size_t row = first; row < last; ++row) {
                const size_t at = sizes.made(step, row);
                const float* before = step ? cells + sizes.made(step - 1, row) * size : zeros.data();
                float* output = hidden.data() + (row - first) * size;
                cells_forward(sums.data() + (row - first) * width, size, Peepholes(zeros.data(), size), before,
                              gates + at * 4 * size, cells + at * size, output);
                if (step >= sizes.chunk) std::copy_n(output, size, outputs + sizes.met(step, row) * size);
            }
        }
    }
};

// Goes back through chunks, and then through what prepared them; each meets a vector once.
struct ChunksBackward {
    ChunkSizes sizes;
    Packed recurrent;  // transposed
    std::vector<float> zeros;
    const float *d_outputs, *gates, *cells;
    float *d_gates, *d_products;
    float *handed, *d_cell;  // of each row, to the step before: of outputs, [rows, width], and of the cell state
    bool prepares;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, width = recurrent.width();
        std::vector<float> of_step((last - first) * 4 * size);
        const size_t begin = prepares ? 0 : sizes.chunk;
        for (size_t step = begin + sizes.chunk; step-- > begin;) {
            for (size_t row = first; row < last; ++row) {
                float* d = of_step.data() + (row - first) * 4 * size;
                of_row(step, row, d);
                keep(step, row, d);
            }
            std::fill(handed + first * width, handed + last * width, 0.0f);
            add_products(of_step.data(), 4 * size, last - first, recurrent.lanes.data(), 4 * size, recurrent.panels,
                         handed + first * width, width);
        }
    }

    void of_row(size_t step, size_t row, float* d) const {
        const size_t size = sizes.cells, at = sizes.made(step, row);
        const float* before = step ? cells + sizes.made(step - 1, row) * size : zeros.data();
        const float* d_output = prepares ? zeros.data() : d_outputs + sizes.met(step, row) * size;
        cells_backward(gates + at * 4 * size, size, Peepholes(zeros.data(), size), cells + at * size, before, d_output,
                       handed + row * recurrent.width(), d_cell + row * size, d);
    }

    void keep(size_t step, size_t row, const float* d) const {
        const size_t count = 4 * sizes.cells;
        std::copy_n(d, count, d_gates + sizes.made(step, row) * count);
        float* of_inputs = d_products + sizes.met(step, row) * count;
        if (prepares)
            add_values(d, count, of_inputs);
        else
            std::copy_n(d, count, of_inputs);
    }
};

void lstm_chunks_forward(Floats<3> products, Floats<2> recurrent, size_t chunk, size_t threads, Sums<4> gates,
                         Sums<4> cells, Sums<4> heard, Sums<3> outputs) {
    const ChunkSizes sizes{chunk, outputs.shape(0), outputs.shape(1), recurrent.shape(0)};
    const size_t size = sizes.cells;
    expect(chunk >= 1 && sizes.vectors % chunk == 0, "outputs: expected whole chunks");
    expect(recurrent.shape(1) == 4 * size, "recurrent: expected [cells, 4 cells]");
    expect(products.shape(0) == sizes.vectors + chunk && products.shape(1) == sizes.utterances &&
               products.shape(2) == 4 * size,
           "products: expected [T + chunk, B, 4 cells]");
    expect(outputs.shape(2) == size, "outputs: expected [T, B, cells]");
    sizes.expect_made(gates, 4 * size, "gates: expected [2, T, B, 4 cells]");
    sizes.expect_made(cells, size, "cells: expected [2, T, B, cells]");
    sizes.expect_made(heard, size, "heard: expected [2, T, B, cells]");
    const nb::gil_scoped_release released;
    const ChunksForward pass{sizes,
                             Packed(recurrent.data(), size, 4 * size),
                             std::vector<float>(3 * size),
                             products.data(),
                             gates.data(),
                             cells.data(),
                             heard.data(),
                             outputs.data()};
    share(sizes.rows(), threads, LEAST_ROWS, pass);
}

void lstm_chunks_backward(Floats<3> d_outputs, Floats<4> gates, Floats<4> cells, Floats<2> recurrent, size_t chunk,
                          size_t threads, Sums<4> d_gates, Sums<3> d_products) {
    const ChunkSizes sizes{chunk, d_outputs.shape(0), d_outputs.shape(1), recurrent.shape(0)};
    const size_t size = sizes.cells;
    expect(chunk >= 1 && sizes.vectors % chunk == 0, "d_outputs: expected whole chunks");
    expect(recurrent.shape(1) == 4 * size, "recurrent: expected [cells, 4 cells]");
    expect(d_outputs.shape(2) == size, "d_outputs: expected [T, B, cells]");
    sizes.expect_made(gates, 4 * size, "gates: expected [2, T, B, 4 cells]");
    sizes.expect_made(cells, size, "cells: expected [2, T, B, cells]");
    sizes.expect_made(d_gates, 4 * size, "d_gates: expected [2, T, B, 4 cells]");
    expect(d_products.shape(0) == sizes.vectors + chunk && d_products.shape(1) == sizes.utterances &&
               d_products.shape(2) == 4 * size,
           "d_products: expected [T + chunk, B, 4 cells]");
    const nb::gil_scoped_release released;
    const size_t of_vectors = sizes.utterances * 4 * size;
    std::fill_n(d_products.data() + sizes.vectors * of_vectors, chunk * of_vectors, 0.0f);  // only prepares
    Packed transposed(recurrent.data(), 4 * size, size, 1, 4 * size);
    std::vector<float> handed(sizes.rows() * transposed.width()), d_cell(sizes.rows() * size);
    ChunksBackward pass{sizes,
                        std::move(transposed),
                        std::vector<float>(3 * size),
                        d_outputs.data(),
                        gates.data(),
                        cells.data(),
                        d_gates.data(),
                        d_products.data(),
                        handed.data(),
                        d_cell.data(),
                        false};
    share(sizes.rows(), threads, LEAST_ROWS, pass);
    pass.prepares = true;
    share(sizes.rows(), threads, LEAST_ROWS, pass);
}
