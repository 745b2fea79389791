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

// What is added to sums of products: those of `count` taps, each of `terms` terms.
struct Tap {
    const float* left;   // of the first row
    const Lanes* right;  // of the first panel
};
struct Taps {
    const Tap* first;
    size_t count, terms;
    size_t row_step, term_step;  // in `left`, from row to row and from term to term
    size_t panel_step;           // in `right`, from panel to panel
};

// Add the products of ROWS rows from `row` on and PANELS panels from `panel` on, whose sums fit into registers, Vectors
// of floats.
template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_tile(const Taps& taps, size_t row, size_t panel, float* sums, size_t step) {
    constexpr size_t SIZE = sizeof(Vector) / sizeof(float), VECTORS = PANELS * LANES / SIZE;
    const size_t terms = taps.terms, row_step = taps.row_step, term_step = taps.term_step, panel_step = taps.panel_step;
    Vector tile[ROWS][VECTORS];
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t j = 0; j < VECTORS; ++j) std::memcpy(&tile[i][j], sums + i * step + j * SIZE, sizeof(Vector));
    for (const Tap* tap = taps.first; tap != taps.first + taps.count; ++tap) {
        const float* left = tap->left + row * row_step;
        const Lanes* lanes = tap->right + panel * panel_step;
        for (size_t term = 0; term < terms; ++term, left += term_step, ++lanes) {
            Vector weights[VECTORS];
            for (size_t j = 0; j < VECTORS; ++j) {
                const Lanes& of_panel = lanes[j * SIZE / LANES * panel_step];
                std::memcpy(&weights[j], of_panel.values + j * SIZE % LANES, sizeof(Vector));
            }
            for (size_t i = 0; i < ROWS; ++i)
                for (size_t j = 0; j < VECTORS; ++j) tile[i][j] += left[i * row_step] * weights[j];
        }
    }
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t j = 0; j < VECTORS; ++j) std::memcpy(sums + i * step + j * SIZE, &tile[i][j], sizeof(Vector));
}

// The same of the last `rows` rows, which are less than or as many as ROWS.
template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_rest(const Taps& taps, size_t row, size_t rows, size_t panel, float* sums, size_t step) {
    if (rows == ROWS)
        add_tile<Vector, ROWS, PANELS>(taps, row, panel, sums, step);
    else if constexpr (ROWS > 1)
        add_rest<Vector, ROWS - 1, PANELS>(taps, row, rows, panel, sums, step);
}

template <typename Vector, size_t ROWS, size_t PANELS>
INLINE void add_panels(const Taps& taps, size_t rows, size_t panel, float* sums, size_t step) {
    size_t row = 0;
    for (; row + ROWS <= rows; row += ROWS)
        add_tile<Vector, ROWS, PANELS>(taps, row, panel, sums + row * step + panel * LANES, step);
    add_rest<Vector, ROWS, PANELS>(taps, row, rows - row, panel, sums + row * step + panel * LANES, step);
}

INLINE void add_taps_by_eight(const Taps& taps, size_t rows, size_t panels, float* sums, size_t step) {
    for (size_t panel = 0; panel < panels; ++panel)  // six rows, as many as AVX2's registers have sums of
        add_panels<Eight, 6, 1>(taps, rows, panel, sums, step);
}

#ifdef TARGET
TARGET("arch=x86-64-v4")
void add_taps(const Taps& taps, size_t rows, size_t panels, float* sums, size_t step) {
    size_t panel = 0;
    for (; panel + 3 <= panels; panel += 3) add_panels<Sixteen, 8, 3>(taps, rows, panel, sums, step);
    if (panel + 2 <= panels) {
        add_panels<Sixteen, 8, 2>(taps, rows, panel, sums, step);
        panel += 2;
    }
    if (panel < panels) add_panels<Sixteen, 8, 1>(taps, rows, panel, sums, step);
}

TARGET("arch=x86-64-v3")
void add_taps(const Taps& taps, size_t rows, size_t panels, float* sums, size_t step) {
    add_taps_by_eight(taps, rows, panels, sums, step);
}

TARGET("default")
#endif
// Add the products of taps to sums [rows, panels LANES]; step: from row to row.
void add_taps(const Taps& taps, size_t rows, size_t panels, float* sums, size_t step) {
    add_taps_by_eight(taps, rows, panels, sums, step);
}

// Add left [rows, terms] times a packed matrix to sums [rows, width of the matrix]; steps: from row to row.
INLINE void add_products(const float* left, size_t left_step, size_t rows, const Lanes* lanes, size_t terms,
                         size_t panels, float* sums, size_t step) {
    const Tap tap{left, lanes};
    add_taps({&tap, 1, terms, left_step, 1, terms}, rows, panels, sums, step);
}
