// An LSTM decoder with attention that is taught its labels: through all labels, forward and backward, an attention being
// a class of `taught_feedback.hpp` or `taught_monotonic.hpp`. Part of kernels.cpp; `attention_decoder.py` has the
// formulae.
#pragma once

// L labels, B utterances, T frames of `encoded` values, H cells, queries of Q values.
struct DecoderSizes {
    size_t labels, rows, frames, encoded, cells, queries;

    size_t at(size_t label, size_t row) const { return label * rows + row; }

    template <typename Array>
    void expect_of_labels(const Array& of, size_t columns, const char* what) const {
        expect(of.shape(0) == labels && of.shape(1) == rows && of.shape(2) == columns, what);
    }

    template <typename Array>
    void expect_of_frames(const Array& of, size_t columns, const char* what) const {
        expect(of.shape(0) == rows && of.shape(1) == frames && of.shape(2) == columns, what);
    }

    template <typename Array>
    void expect_of_rows(const Array& of, size_t columns, const char* what) const {
        expect(of.shape(0) == rows && of.shape(1) == columns, what);
    }
};

template <typename Attention>
struct TaughtForward {
    DecoderSizes sizes;
    Packed weight, query;  // [encoded + H, 4 H], of context and hidden state; [H, Q]
    const float* products;
    Attention attention;
    float *gates, *cells, *hidden, *contexts, *queries;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, context = sizes.encoded, heard_size = context + size, rows = last - first;
        const std::vector<float> none(3 * size);
        std::vector<float> heard(rows * heard_size), sums(rows * weight.width()), asked(rows * query.width());
        typename Attention::Scratch scratch(sizes);
        for (size_t label = 0; label < sizes.labels; ++label) {
            for (size_t i = 0; i < rows; ++i)
                std::copy_n(products + sizes.at(label, first + i) * 4 * size, 4 * size, sums.data() + i * weight.width());
            add_products(heard.data(), heard_size, rows, weight.lanes.data(), heard_size, weight.panels, sums.data(),
                         weight.width());
            for (size_t i = 0; i < rows; ++i) {
                const size_t at = sizes.at(label, first + i);
                const float* before = label ? cells + sizes.at(label - 1, first + i) * size : none.data();
                cells_forward(sums.data() + i * weight.width(), size, Peepholes(none.data(), size), before,
                              gates + at * 4 * size, cells + at * size, hidden + at * size);
            }
            std::fill(asked.begin(), asked.end(), 0.0f);
            add_products(hidden + sizes.at(label, first) * size, size, rows, query.lanes.data(), size, query.panels,
                         asked.data(), query.width());
            for (size_t i = 0; i < rows; ++i) {
                const size_t at = sizes.at(label, first + i);
                std::copy_n(asked.data() + i * query.width(), sizes.queries, queries + at * sizes.queries);
                attention.attend(label, first + i, queries + at * sizes.queries, contexts + at * context, scratch);
                std::copy_n(contexts + at * context, context, heard.data() + i * heard_size);
                std::copy_n(hidden + at * size, size, heard.data() + i * heard_size + context);
            }
        }
    }
};

template <typename Attention>
struct TaughtBackward {
    DecoderSizes sizes;
    Packed weight, query;  // transposed
    const float *d_hidden, *d_contexts, *gates, *cells, *queries;
    Attention attention;
    float *d_gates, *d_queries;

    void operator()(size_t first, size_t last) const {
        const size_t size = sizes.cells, context = sizes.encoded, rows = last - first;
        const std::vector<float> none(3 * size);
        std::vector<float> handed(rows * weight.width());  // back to context and hidden state of the label before
        std::vector<float> asked(rows * query.width()), d_cells(rows * size), d_context(context);
        typename Attention::Scratch scratch(sizes);
        for (size_t label = sizes.labels; label-- > 0;) {
            std::fill(asked.begin(), asked.end(), 0.0f);
            for (size_t i = 0; i < rows; ++i) {
                const size_t at = sizes.at(label, first + i);
                const float* back = handed.data() + i * weight.width();
                for (size_t k = 0; k < context; ++k) d_context[k] = d_contexts[at * context + k] + back[k];
                std::copy_n(back + context, size, asked.data() + i * query.width());
                std::fill_n(d_queries + at * sizes.queries, sizes.queries, 0.0f);
                attention.differentiate(label, first + i, queries + at * sizes.queries, d_context.data(),
                                        d_queries + at * sizes.queries, scratch);
            }
            add_products(d_queries + sizes.at(label, first) * sizes.queries, sizes.queries, rows, query.lanes.data(),
                         sizes.queries, query.panels, asked.data(), query.width());
            for (size_t i = 0; i < rows; ++i) {
                const size_t at = sizes.at(label, first + i);
                const float* before = label ? cells + sizes.at(label - 1, first + i) * size : none.data();
                cells_backward(gates + at * 4 * size, size, Peepholes(none.data(), size), cells + at * size, before,
                               d_hidden + at * size, asked.data() + i * query.width(), d_cells.data() + i * size,
                               d_gates + at * 4 * size);
            }
            std::fill(handed.begin(), handed.end(), 0.0f);
            add_products(d_gates + sizes.at(label, first) * 4 * size, 4 * size, rows, weight.lanes.data(), 4 * size,
                         weight.panels, handed.data(), weight.width());
        }
    }
};

// What is the same for all labels. Arrays: of the decoder [encoded + H, 4 H], of context and hidden state; of queries
// [H, Q]; encoded frames [B, T, encoded] and their number [B]; their keys [B, T, Q].
class TaughtDecoder {
protected:
    TaughtDecoder(Floats<2> weight, Floats<2> query, Floats<3> encoded, Integers<1> lengths, Floats<3> keys)
        : sizes_{0, encoded.shape(0), encoded.shape(1), encoded.shape(2), query.shape(0), query.shape(1)},
          weight_(weight), query_(query), encoded_(encoded), lengths_(lengths), keys_(keys) {
        expect(weight.shape(0) == sizes_.encoded + sizes_.cells && weight.shape(1) == 4 * sizes_.cells,
               "weight: expected [encoded + H, 4 H]");
        sizes_.expect_of_frames(keys, sizes_.queries, "keys: expected [B, T, Q]");
        expect(lengths.shape(0) == sizes_.rows, "lengths: expected [B]");
        for (size_t row = 0; row < sizes_.rows; ++row)
            expect(lengths.data()[row] >= 0 && static_cast<size_t>(lengths.data()[row]) <= sizes_.frames,
                   "lengths: expected 0 to T");
    }

    DecoderSizes sizes_of(size_t labels) const {
        DecoderSizes sizes = sizes_;
        sizes.labels = labels;
        return sizes;
    }

    const float* frames(size_t row) const { return encoded_.data() + row * sizes_.frames * sizes_.encoded; }
    const float* keys(size_t row) const { return keys_.data() + row * sizes_.frames * sizes_.queries; }
    size_t length(size_t row) const { return lengths_.data()[row]; }

    template <typename Attention>
    void forward(const Floats<3>& products, const Attention& attention, size_t threads, Sums<3>& gates, Sums<3>& cells,
                 Sums<3>& hidden, Sums<3>& contexts, Sums<3>& queries) const {
        const DecoderSizes sizes = sizes_of(products.shape(0));
        sizes.expect_of_labels(products, 4 * sizes.cells, "products: expected [L, B, 4 H]");
        expect_made(sizes, gates, cells, hidden, contexts, queries);
        const nb::gil_scoped_release released;
        const TaughtForward<Attention> pass{sizes,
                                            Packed(weight_.data(), sizes.encoded + sizes.cells, 4 * sizes.cells),
                                            Packed(query_.data(), sizes.cells, sizes.queries),
                                            products.data(),
                                            attention,
                                            gates.data(),
                                            cells.data(),
                                            hidden.data(),
                                            contexts.data(),
                                            queries.data()};
        share(sizes.rows, threads, LEAST_ROWS, pass);
    }

    template <typename Attention>
    void backward(const Floats<3>& d_hidden, const Floats<3>& d_contexts, const Floats<3>& gates,
                  const Floats<3>& cells, const Floats<3>& queries, const Attention& attention, size_t threads,
                  Sums<3>& d_gates, Sums<3>& d_queries) const {
        const DecoderSizes sizes = sizes_of(gates.shape(0));
        expect_made(sizes, d_gates, cells, d_hidden, d_contexts, d_queries);
        sizes.expect_of_labels(gates, 4 * sizes.cells, "gates: expected [L, B, 4 H]");
        sizes.expect_of_labels(queries, sizes.queries, "queries: expected [L, B, Q]");
        const size_t heard = sizes.encoded + sizes.cells;
        const nb::gil_scoped_release released;
        const TaughtBackward<Attention> pass{sizes,
                                             Packed(weight_.data(), 4 * sizes.cells, heard, 1, 4 * sizes.cells),
                                             Packed(query_.data(), sizes.queries, sizes.cells, 1, sizes.queries),
                                             d_hidden.data(),
                                             d_contexts.data(),
                                             gates.data(),
                                             cells.data(),
                                             queries.data(),
                                             attention,
                                             d_gates.data(),
                                             d_queries.data()};
        share(sizes.rows, threads, LEAST_ROWS, pass);
    }

    DecoderSizes sizes_;  // without labels

private:
    template <typename Array, typename Other>
    static void expect_made(const DecoderSizes& sizes, const Array& gates, const Other& cells, const Other& hidden,
                            const Other& contexts, const Array& queries) {
        sizes.expect_of_labels(gates, 4 * sizes.cells, "gates: expected [L, B, 4 H]");
        sizes.expect_of_labels(cells, sizes.cells, "cells: expected [L, B, H]");
        sizes.expect_of_labels(hidden, sizes.cells, "hidden: expected [L, B, H]");
        sizes.expect_of_labels(contexts, sizes.encoded, "contexts: expected [L, B, encoded]");
        sizes.expect_of_labels(queries, sizes.queries, "queries: expected [L, B, Q]");
    }

    Floats<2> weight_, query_;
    Floats<3> encoded_;
    Integers<1> lengths_;
    Floats<3> keys_;
};
