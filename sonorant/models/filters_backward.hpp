// Gradients of `filters.hpp`, of the kernel and of the maps. Part of kernels.cpp.
#pragma once

// What the forward pass made (`found`, `argmax`), and gradients of a loss by `found` and by its moments.
struct FiltersMade {
    const float *found, *centre, *d_found, *d_moments;
    const uint8_t* argmax;
};

typedef int32_t Places __attribute__((vector_size(64)));  // as many as lanes

// `count` values, in lanes, of which the others are 0.
template <typename Vector, typename Value>
INLINE void load(const Value* from, size_t count, Vector& lanes) {
    if (count == LANES) return void(std::memcpy(&lanes, from, sizeof lanes));
    lanes = Vector{};
    std::memcpy(&lanes, from, count * sizeof(Value));
}

template <typename Vector, typename Value>
INLINE void store(const Vector& lanes, size_t count, Value* to) {
    if (count == LANES) return void(std::memcpy(to, &lanes, sizeof lanes));
    std::memcpy(to, &lanes, count * sizeof(Value));
}

// Gradients of `rows` rows of maxima, from `at` on, become those of the products of each place of a pool.
struct PoolGradient {
    FiltersMade made;
    size_t filters, pool, apart;  // of the lanes, from place to place

    // Of `count` filters from `first` on; their sums over rows are added to d_bias.
    INLINE void operator()(size_t at, size_t rows, size_t first, size_t count, const int32_t* places, Lanes* lanes,
                           float* d_bias) const {
        Sixteen centre, d_totals, d_squares, sums;
        load(made.centre + first, count, centre);
        load(made.d_moments + first, count, d_totals);
        load(made.d_moments + filters + first, count, d_squares);
        load(d_bias + first, count, sums);
        for (size_t row = 0; row < rows; ++row, at += filters) {
            Sixteen found, d;
            Places argmax;
            load(made.found + at + first, count, found);
            load(made.d_found + at + first, count, d);
            load(places + row * filters + first, count, argmax);
            d += d_totals + 2 * (found - centre) * d_squares;
            d = found > 0 ? d : Sixteen{};
            sums += d;
            for (size_t place = 0; place < pool; ++place) {
                const Sixteen own = argmax == int32_t(place) ? d : Sixteen{};
                std::memcpy(lanes[place * apart + row].values, &own, sizeof own);
            }
        }
        store(sums, count, d_bias + first);
    }
};

FASTEST void pool_gradient_of_rows(const PoolGradient& of, size_t at, size_t rows, int32_t* places, Lanes* lanes,
                                   float* d_bias) {
    for (size_t i = 0; i < rows * of.filters; ++i) places[i] = of.made.argmax[at + i];
    size_t first = 0;
    for (; first + LANES <= of.filters; first += LANES, lanes += BLOCK_ROWS)
        of(at, rows, first, LANES, places, lanes, d_bias);
    if (first < of.filters) of(at, rows, first, of.filters - first, places, lanes, d_bias);
}

// Gradients of the products of a block of rows: [frames, positions, panels, BLOCK_ROWS].
struct ProductGradients {
    const FilterSizes& sizes;
    std::vector<Lanes> lanes;
    std::vector<int32_t> places;

    explicit ProductGradients(const FilterSizes& sizes_)
        : sizes(sizes_), lanes(sizes.frames_after * sizes.positions() * sizes.panels() * BLOCK_ROWS),
          places(BLOCK_ROWS * sizes.filters) {}

    Lanes* at(size_t frame, size_t position) {
        return lanes.data() + (frame * sizes.positions() + position) * sizes.panels() * BLOCK_ROWS;
    }

    // d_bias: sums over maxima and rows, added to.
    void fill(const FiltersMade& made, size_t row, size_t rows, float* d_bias) {
        const PoolGradient pool_gradient{made, sizes.filters, sizes.pool, sizes.panels() * BLOCK_ROWS};
        for (size_t frame = 0; frame < sizes.frames_after; ++frame)
            for (size_t maximum = 0; maximum < sizes.maxima; ++maximum)
                pool_gradient_of_rows(pool_gradient, sizes.found(frame, maximum) + row * sizes.filters, rows,
                                      places.data(), at(frame, maximum * sizes.pool), d_bias);
    }
};

struct KernelGradient {
    FilterSizes sizes;
    Parts parts;
    FiltersMade made;
    const float* maps;
    float* d_kernel;  // [parts, taps channels, width]
    float* d_bias;    // [parts, filters]

    void operator()(size_t first, size_t last) const {
        ProductGradients gradients(sizes);
        std::vector<Tap> taps(sizes.frames_after * sizes.positions());
        const size_t size = sizes.taps() * sizes.channels * sizes.width();
        for (size_t part = first; part < last; ++part)
            parts.each_block(part, sizes.rows, [&](size_t row, size_t rows) {
                gradients.fill(made, row, rows, d_bias + part * sizes.filters);
                add(gradients, row, rows, taps, d_kernel + part * size);
            });
    }

    // Rows of a product are a tap's channels or, where these are fewer, a frame's bins.
    void add(ProductGradients& gradients, size_t row, size_t rows, std::vector<Tap>& taps, float* sums) const {
        const size_t channels = sizes.channels, width = sizes.width();
        const bool by_bins = channels < sizes.width_bins;
        const size_t row_step = by_bins ? sizes.rows * channels : 1;
        const size_t step = by_bins ? sizes.width_frames * channels * width : width;
        for (size_t tap = 0; tap < (by_bins ? sizes.width_frames : sizes.taps()); ++tap)
            for (size_t channel = 0; channel < (by_bins ? channels : 1); ++channel) {
                size_t count = 0;
                for (size_t frame = 0; frame < sizes.frames_after; ++frame)
                    for (size_t position = 0; position < sizes.positions(); ++position)
                        taps[count++] = {left(frame, position, tap, row) + channel, gradients.at(frame, position)};
                const Taps all{taps.data(), count, rows, row_step, channels, BLOCK_ROWS};
                add_taps(all, by_bins ? sizes.width_bins : channels, sizes.panels(),
                         sums + (tap * channels + channel) * width, step);
            }
    }

    const float* left(size_t frame, size_t position, size_t tap, size_t row) const {
        const size_t of = frame * sizes.stride_frames + tap % sizes.width_frames;
        return maps + sizes.slab(of, position + tap / sizes.width_frames) + row * sizes.channels;
    }
};

struct MapsGradient {
    FilterSizes sizes;
    FiltersMade made;
    std::vector<Packed> kernels;  // of each tap, transposed: [width, channels]
    float* d_maps;

    MapsGradient(const FilterSizes& sizes_, const FiltersMade& made_, const float* kernel, float* d_maps_)
        : sizes(sizes_), made(made_), d_maps(d_maps_) {
        std::vector<float> padded(sizes.channels * sizes.width());
        for (size_t tap = 0; tap < sizes.taps(); ++tap) {
            for (size_t channel = 0; channel < sizes.channels; ++channel, kernel += sizes.filters)
                std::copy_n(kernel, sizes.filters, padded.data() + channel * sizes.width());
            kernels.emplace_back(padded.data(), sizes.width(), sizes.channels, 1, sizes.width());
        }
    }

    void operator()(size_t first, size_t last) const {
        ProductGradients gradients(sizes);
        std::vector<Tap> taps;
        std::vector<float> sums(BLOCK_ROWS * kernels[0].width()), unused(sizes.filters);
        for (size_t block = first; block < last; ++block) {
            const size_t row = block * BLOCK_ROWS, rows = std::min(BLOCK_ROWS, sizes.rows - row);
            gradients.fill(made, row, rows, unused.data());
            for (size_t frame = 0; frame < sizes.frames; ++frame)
                for (size_t bin = 0; bin < sizes.bins; ++bin) {
                    find(gradients, frame, bin, taps);
                    std::fill(sums.begin(), sums.end(), 0.0f);
                    add_taps({taps.data(), taps.size(), LANES, LANES, 1, sizes.width()}, rows, kernels[0].panels,
                             sums.data(), kernels[0].width());
                    for (size_t i = 0; i < rows; ++i)
                        std::copy_n(sums.data() + i * kernels[0].width(), sizes.channels,
                                    d_maps + sizes.slab(frame, bin) + (row + i) * sizes.channels);
                }
        }
    }

    // What saw that bin of that frame: a panel of filters, and the tap by which it did, for each.
    void find(ProductGradients& gradients, size_t frame, size_t bin, std::vector<Tap>& taps) const {
        taps.clear();
        for (size_t tap = 0; tap < sizes.taps(); ++tap) {
            const size_t of_bin = tap / sizes.width_frames, of_frame = tap % sizes.width_frames;
            if (of_bin > bin || of_frame > frame || (frame - of_frame) % sizes.stride_frames) continue;
            const size_t position = bin - of_bin, after = (frame - of_frame) / sizes.stride_frames;
            if (position >= sizes.positions() || after >= sizes.frames_after) continue;
            const Lanes* lanes = gradients.at(after, position);
            for (size_t panel = 0; panel < sizes.panels(); ++panel)
                taps.push_back({lanes[panel * BLOCK_ROWS].values, kernels[tap].lanes.data() + panel * LANES});
        }
    }
};

FiltersMade expect_made(const FilterSizes& sizes, const Floats<4>& d_found, const Floats<2>& d_moments,
                        const Floats<4>& found, const ConstBytes<4>& argmax, const Floats<1>& centre) {
    sizes.expect_found(found, "found: expected [frames, maxima, N, filters]");
    sizes.expect_found(d_found, "d_found: expected [frames, maxima, N, filters]");
    sizes.expect_found(argmax, "argmax: expected [frames, maxima, N, filters]");
    expect(centre.shape(0) == sizes.filters, "centre: expected [filters]");
    expect(d_moments.shape(0) == 2 && d_moments.shape(1) == sizes.filters, "d_moments: expected [2, filters]");
    return {found.data(), centre.data(), d_found.data(), d_moments.data(), argmax.data()};
}

void filters_kernel_gradient(Floats<4> d_found, Floats<2> d_moments, Floats<4> found, ConstBytes<4> argmax,
                             Floats<1> centre, Floats<4> maps, size_t stride_frames, size_t pool, size_t threads, Sums<4> d_kernel,
                             Sums<1> d_bias) {
    const FilterSizes sizes(maps, d_kernel, stride_frames, found.shape(0), found.shape(1), pool);
    const FiltersMade made = expect_made(sizes, d_found, d_moments, found, argmax, centre);
    expect(d_bias.shape(0) == sizes.filters, "d_bias: expected [filters]");
    const nb::gil_scoped_release released;
    const size_t inputs = sizes.taps() * sizes.channels, width = sizes.width();
    const Parts parts(sizes, inputs * width);
    std::vector<float> kernels(parts.count * inputs * width), biases(parts.count * sizes.filters), sums(inputs * width);
    share(parts.count, threads, 1, KernelGradient{sizes, parts, made, maps.data(), kernels.data(), biases.data()});
    add_parts(kernels, inputs * width, sums.data());
    for (size_t input = 0; input < inputs; ++input)
        std::copy_n(sums.data() + input * width, sizes.filters, d_kernel.data() + input * sizes.filters);
    add_parts(biases, sizes.filters, d_bias.data());
}

void filters_maps_gradient(Floats<4> d_found, Floats<2> d_moments, Floats<4> found, ConstBytes<4> argmax,
                           Floats<1> centre, Floats<4> kernel, size_t stride_frames, size_t pool, size_t threads, Sums<4> d_maps) {
    const FilterSizes sizes(d_maps, kernel, stride_frames, found.shape(0), found.shape(1), pool);
    const FiltersMade made = expect_made(sizes, d_found, d_moments, found, argmax, centre);
    const nb::gil_scoped_release released;
    const MapsGradient pass(sizes, made, kernel.data(), d_maps.data());
    share((sizes.rows + BLOCK_ROWS - 1) / BLOCK_ROWS, threads, 1, pass);
}
