// Products of matrices whose right factor stays, and so is packed once, panel by panel as the loop reads it.
// Part of a kernels.cpp. An output is what it was before, plus its terms one by one: a row's bits are the same however
// many rows there are, and whichever, and with AVX-512 those of AVX2.
#pragma once

constexpr size_t LANES = 16;  // columns of a panel

struct alignas(64) Lanes {
    float values[LANES];
};

// A matrix [terms, columns]; columns are filled up to whole panels with zeros.
struct Packed {
    size_t terms, panels;
    std::vector<Lanes> lanes;  // [panels, terms]

    Packed(const float* matrix, size_t terms_, size_t columns) : Packed(matrix, terms_, columns, columns, 1) {}

    // steps: in `matrix`, from term to term and from column to column.
    Packed(const float* matrix, size_t terms_, size_t columns, size_t term_step, size_t column_step)
        : terms(terms_), panels((columns + LANES - 1) / LANES), lanes(panels * terms) {
        for (size_t panel = 0; panel < panels; ++panel) {
            const float* first = matrix + panel * LANES * column_step;
            const size_t filled = std::min(LANES, columns - panel * LANES);
            for (size_t term = 0; term < terms; ++term)
                for (size_t lane = 0; lane < filled; ++lane)
                    lanes[panel * terms + term].values[lane] = first[term * term_step + lane * column_step];
        }
    }

    size_t width() const { return panels * LANES; }
};

// Add the products of ROWS rows and PANELS panels, whose sums fit into registers, Vectors of floats.
template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_tile(const float* left, size_t left_step, const Lanes* lanes, size_t terms, float* sums, size_t step) {
    constexpr size_t SIZE = sizeof(Vector) / sizeof(float), VECTORS = PANELS * LANES / SIZE;
    Vector tile[ROWS][VECTORS];
    for (size_t row = 0; row < ROWS; ++row)
        for (size_t i = 0; i < VECTORS; ++i) std::memcpy(&tile[row][i], sums + row * step + i * SIZE, sizeof(Vector));
    for (size_t term = 0; term < terms; ++term) {
        Vector weights[VECTORS];
        for (size_t i = 0; i < VECTORS; ++i)
            std::memcpy(&weights[i], lanes[i * SIZE / LANES * terms + term].values + i * SIZE % LANES, sizeof(Vector));
        for (size_t row = 0; row < ROWS; ++row)
            for (size_t i = 0; i < VECTORS; ++i) tile[row][i] += left[row * left_step + term] * weights[i];
    }
    for (size_t row = 0; row < ROWS; ++row)
        for (size_t i = 0; i < VECTORS; ++i) std::memcpy(sums + row * step + i * SIZE, &tile[row][i], sizeof(Vector));
}

// The same of `rows` rows, which are less than or as many as ROWS.
template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_rest(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, float* sums,
                     size_t step) {
    if (rows == ROWS)
        add_tile<Vector, ROWS, PANELS>(left, left_step, lanes, terms, sums, step);
    else if constexpr (ROWS > 1)
        add_rest<Vector, ROWS - 1, PANELS>(left, left_step, rows, lanes, terms, sums, step);
}

template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_panels(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, float* sums,
                       size_t step) {
    for (; rows >= ROWS; rows -= ROWS, left += ROWS * left_step, sums += ROWS * step)
        add_tile<Vector, ROWS, PANELS>(left, left_step, lanes, terms, sums, step);
    add_rest<Vector, ROWS, PANELS>(left, left_step, rows, lanes, terms, sums, step);
}

INLINE void add_products_of_eight(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms,
                                  size_t panels, float* sums, size_t step) {
    for (size_t panel = 0; panel < panels; ++panel)  // six rows, as many as AVX2's registers have sums of
        add_panels<Eight, 6, 1>(left, left_step, rows, lanes + panel * terms, terms, sums + panel * LANES, step);
}

#ifdef TARGET
TARGET("arch=x86-64-v4")
void add_products(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, size_t panels,
                  float* sums, size_t step) {
    size_t panel = 0;
    for (; panel + 3 <= panels; panel += 3)
        add_panels<Sixteen, 8, 3>(left, left_step, rows, lanes + panel * terms, terms, sums + panel * LANES, step);
    for (; panel < panels; ++panel)
        add_panels<Sixteen, 8, 1>(left, left_step, rows, lanes + panel * terms, terms, sums + panel * LANES, step);
}

TARGET("arch=x86-64-v3")
void add_products(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, size_t panels,
                  float* sums, size_t step) {
    add_products_of_eight(left, left_step, rows, lanes, terms, panels, sums, step);
}

TARGET("default")
#endif
// Add left [rows, terms] times a packed matrix to sums [rows, width of the matrix]; steps: from row to row.
void add_products(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms, size_t panels,
                  float* sums, size_t step) {
    add_products_of_eight(left, left_step, rows, lanes, terms, panels, sums, step);
}
