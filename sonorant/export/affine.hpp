// A product with a bias. Part of kernels.cpp.
#pragma once

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
