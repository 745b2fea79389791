// Products of matrices whose right factor stays, and so is packed once, panel by panel as the loop reads it.
// Part of kernels.cpp. An output is what it was before, plus its terms one by one: a row's bits are the same however
// many rows there are, and whichever.
#pragma once

constexpr size_t LANES = 16;  // columns of a panel

struct alignas(64) Lanes {
    float values[LANES];
};

// A matrix [terms, columns]; columns are filled up to whole panels with zeros.
struct Packed {
    size_t terms, panels;
    std::vector<Lanes> lanes;  // [panels, terms]

    Packed(const float* matrix, size_t terms_, size_t columns)
        : terms(terms_), panels((columns + LANES - 1) / LANES), lanes(panels * terms) {
        for (size_t column = 0; column < columns; ++column)
            for (size_t term = 0; term < terms; ++term)
                lanes[column / LANES * terms + term].values[column % LANES] = matrix[term * columns + column];
    }

    size_t width() const { return panels * LANES; }
};

template <size_t ROWS>
INLINE void add_tile(const float* left, size_t left_step, const Lanes* panel, size_t terms, float* sums, size_t step) {
    Eight low[ROWS], high[ROWS];
    for (size_t row = 0; row < ROWS; ++row) {
        std::memcpy(&low[row], sums + row * step, sizeof(Eight));
        std::memcpy(&high[row], sums + row * step + 8, sizeof(Eight));
    }
    for (size_t term = 0; term < terms; ++term) {
        Eight low_weight, high_weight;
        std::memcpy(&low_weight, panel[term].values, sizeof(Eight));
        std::memcpy(&high_weight, panel[term].values + 8, sizeof(Eight));
        for (size_t row = 0; row < ROWS; ++row) {
            low[row] += left[row * left_step + term] * low_weight;
            high[row] += left[row * left_step + term] * high_weight;
        }
    }
    for (size_t row = 0; row < ROWS; ++row) {
        std::memcpy(sums + row * step, &low[row], sizeof(Eight));
        std::memcpy(sums + row * step + 8, &high[row], sizeof(Eight));
    }
}

// Add left [rows, terms] times a packed matrix to sums [rows, width of the matrix]; steps: from row to row.
FAST void add_products(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, size_t panels,
                       float* sums, size_t step) {
    for (size_t panel = 0; panel < panels; ++panel, lanes += terms, sums += LANES) {
        size_t row = 0;
        for (; row + 6 <= rows; row += 6)  // as many as the registers have sums of
            add_tile<6>(left + row * left_step, left_step, lanes, terms, sums + row * step, step);
        const float* rest = left + row * left_step;
        float* rest_sums = sums + row * step;
        switch (rows - row) {
            case 5: add_tile<5>(rest, left_step, lanes, terms, rest_sums, step); break;
            case 4: add_tile<4>(rest, left_step, lanes, terms, rest_sums, step); break;
            case 3: add_tile<3>(rest, left_step, lanes, terms, rest_sums, step); break;
            case 2: add_tile<2>(rest, left_step, lanes, terms, rest_sums, step); break;
            case 1: add_tile<1>(rest, left_step, lanes, terms, rest_sums, step); break;
        }
    }
}

// A packed matrix [terms, columns], and a bias [columns] to which its products are added.
struct Affine {
    Packed weight;
    size_t columns;
    std::vector<float> bias;

    Affine(const float* matrix, size_t terms, size_t columns_, const float* bias_)
        : weight(matrix, terms, columns_), columns(columns_), bias(weight.width()) {
        std::copy_n(bias_, columns, bias.data());
    }

    Affine(const Weights& of, const std::string& what)
        : Affine(fitting(of, what).first.data(), of.first.shape(0), of.first.shape(1), of.second.data()) {}

    size_t width() const { return weight.width(); }

    // Overwrite sums by [rows, width] of rows of `left`, `step` from row to row.
    void apply(const float* left, size_t step, size_t rows, std::vector<float>& sums) const {
        sums.resize(rows * width());
        for (size_t row = 0; row < rows; ++row) std::copy_n(bias.data(), width(), sums.data() + row * width());
        add_products(left, step, rows, weight.lanes.data(), weight.terms, weight.panels, sums.data(), width());
    }

private:
    static const Weights& fitting(const Weights& of, const std::string& what) {
        expect_shape(of.first, of.first.shape(0), of.second.size(), what);
        return of;
    }
};
