// Filters over frames and bins, max-pooled over bins and rectified: forward, and what the gradients' kernels share.
// Part of kernels.cpp.
//
// The usual form multiplies an array of all windows, which overlap, and most of its time is that array's. Here a product
// takes its rows from the feature maps where they are, a tap of the window at a time.
#pragma once

constexpr size_t BLOCK_ROWS = 24;  // vectors whose maps, and products, stay in a core's cache
constexpr size_t MOST_PARTS = 64;           // as many threads can share a gradient
constexpr size_t FLOATS_OF_PARTS = 1 << 24;  // of all parts' sums together, 64 MiB, unless one alone has more

struct FilterSizes {
    size_t frames, bins, rows, channels;          // of the maps
    size_t width_bins, width_frames, filters;     // of the kernel, whose channels are those of the maps
    size_t stride_frames, frames_after, maxima;   // `maxima` of `pool` positions each
    size_t pool;

    template <typename Maps, typename Kernel>
    FilterSizes(const Maps& maps, const Kernel& kernel, size_t stride_frames_, size_t frames_after_, size_t maxima_,
                size_t pool_)
        : frames(maps.shape(0)), bins(maps.shape(1)), rows(maps.shape(2)), channels(maps.shape(3)),
          width_bins(kernel.shape(0)), width_frames(kernel.shape(1)), filters(kernel.shape(3)),
          stride_frames(stride_frames_), frames_after(frames_after_), maxima(maxima_), pool(pool_) {
        expect(kernel.shape(2) == channels, "kernel: expected [width_bins, width_frames, channels, filters]");
        expect(pool >= 1 && pool <= 255, "pool: expected 1 to 255");
        expect(stride_frames >= 1, "stride_frames: expected 1 or more");
        expect(width_bins >= 1 && width_frames >= 1, "kernel: expected a bin and a frame, or more");
        expect(width_frames <= frames && frames_after >= 1 && frames_after - 1 <= (frames - width_frames) / stride_frames,
               "maps: expected frames for all windows");
        expect(maxima >= 1 && positions() + width_bins - 1 <= bins, "maps: expected bins for all windows");
    }

    template <typename Array>
    void expect_found(const Array& of, const char* what) const {
        expect(of.shape(0) == frames_after && of.shape(1) == maxima, what);
        expect(of.shape(2) == rows && of.shape(3) == filters, what);
    }

    size_t positions() const { return maxima * pool; }
    size_t taps() const { return width_bins * width_frames; }
    size_t panels() const { return (filters + LANES - 1) / LANES; }
    size_t width() const { return panels() * LANES; }
    size_t slab(size_t frame, size_t bin) const { return (frame * bins + bin) * rows * channels; }
    size_t found(size_t frame, size_t maximum) const { return (frame * maxima + maximum) * rows * filters; }
};

// Rows are summed up in parts, whose number depends on sizes alone: so do the sums, whatever the number of threads.
struct Parts {
    size_t count, rows;

    // floats: that a part sums up.
    Parts(const FilterSizes& sizes, size_t floats) {
        const size_t most = std::clamp<size_t>(FLOATS_OF_PARTS / std::max<size_t>(floats, 1), 1, MOST_PARTS);
        const size_t blocks = (sizes.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
        rows = std::max<size_t>((blocks + most - 1) / most, 1) * BLOCK_ROWS;
        count = (sizes.rows + rows - 1) / rows;
    }

    // Call `work` with the first row and the number of rows of each block of a part.
    template <typename Work>
    void each_block(size_t part, size_t all, const Work& work) const {
        for (size_t row = part * rows; row < std::min(all, (part + 1) * rows); row += BLOCK_ROWS)
            work(row, std::min(BLOCK_ROWS, std::min(all, (part + 1) * rows) - row));
    }
};

// The largest of `pool` sums, which are `apart` from each other, and which was the first of these.
FASTEST void largest_of_pool(const float* __restrict sums, size_t pool, size_t apart, size_t count,
                             float* __restrict largest, int32_t* __restrict places) {
    for (size_t i = 0; i < count; ++i) {
        largest[i] = sums[i];
        places[i] = 0;
    }
    for (size_t place = 1; place < pool; ++place)
        for (size_t i = 0; i < count; ++i) {
            const float next = sums[place * apart + i];
            const bool wins = next > largest[i] || next != next;  // what is no number stays
            largest[i] = wins ? next : largest[i];
            places[i] = wins ? int32_t(place) : places[i];
        }
}

// Of a row of filters; its moments are added to `totals` and `squares`.
FASTEST void rectify(const float* __restrict largest, const int32_t* __restrict places, const float* __restrict bias,
                     const float* __restrict centre, size_t filters, float* __restrict found,
                     uint8_t* __restrict argmax, float* __restrict totals, float* __restrict squares) {
    for (size_t i = 0; i < filters; ++i) {
        const float value = largest[i] + bias[i], rectified = value < 0 ? 0 : value, centred = rectified - centre[i];
        found[i] = rectified;
        totals[i] += centred;
        squares[i] += centred * centred;
    }
    for (size_t i = 0; i < filters; ++i) argmax[i] = uint8_t(places[i]);
}

struct FiltersForward {
    FilterSizes sizes;
    Parts parts;
    Packed kernel;  // [taps channels, filters]
    const float *maps, *bias, *centre;
    float* found;
    uint8_t* argmax;
    double* moments;  // [parts, 2, filters]

    void operator()(size_t first, size_t last) const {
        std::vector<float> sums(sizes.pool * BLOCK_ROWS * sizes.width());
        std::vector<Tap> taps(sizes.taps());
        std::vector<float> largest(BLOCK_ROWS * sizes.width());
        std::vector<int32_t> places(BLOCK_ROWS * sizes.width());
        std::vector<float> of_block(2 * sizes.filters);
        for (size_t part = first; part < last; ++part)
            parts.each_block(part, sizes.rows, [&](size_t row, size_t rows) {
                std::fill(of_block.begin(), of_block.end(), 0.0f);
                for (size_t frame = 0; frame < sizes.frames_after; ++frame)
                    for (size_t maximum = 0; maximum < sizes.maxima; ++maximum) {
                        multiply(frame, maximum, row, rows, taps, sums);
                        rectify_rows(frame, maximum, row, rows, sums, largest, places, of_block);
                    }
                for (size_t i = 0; i < of_block.size(); ++i) moments[part * of_block.size() + i] += of_block[i];
            });
    }

    void multiply(size_t frame, size_t maximum, size_t row, size_t rows, std::vector<Tap>& taps,
                  std::vector<float>& sums) const {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (size_t place = 0; place < sizes.pool; ++place) {
            for (size_t tap = 0; tap < sizes.taps(); ++tap) {
                const size_t bin = maximum * sizes.pool + place + tap / sizes.width_frames;
                const size_t slab = sizes.slab(frame * sizes.stride_frames + tap % sizes.width_frames, bin);
                taps[tap] = {maps + slab + row * sizes.channels, kernel.lanes.data() + tap * sizes.channels};
            }
            add_taps({taps.data(), taps.size(), sizes.channels, sizes.channels, 1, kernel.terms}, rows, kernel.panels,
                     sums.data() + place * BLOCK_ROWS * sizes.width(), sizes.width());
        }
    }

    void rectify_rows(size_t frame, size_t maximum, size_t row, size_t rows, const std::vector<float>& sums,
                      std::vector<float>& largest, std::vector<int32_t>& places, std::vector<float>& totals) const {
        const size_t width = sizes.width(), first = sizes.found(frame, maximum) + row * sizes.filters;
        largest_of_pool(sums.data(), sizes.pool, BLOCK_ROWS * width, rows * width, largest.data(), places.data());
        for (size_t i = 0; i < rows; ++i)
            rectify(largest.data() + i * width, places.data() + i * width, bias, centre, sizes.filters,
                    found + first + i * sizes.filters, argmax + first + i * sizes.filters, totals.data(),
                    totals.data() + sizes.filters);
    }
};

// Sums [parts, count] over the parts, in order.
template <typename Value>
void add_parts(const std::vector<Value>& parts, size_t count, float* sums) {
    std::vector<double> totals(count);
    for (size_t first = 0; first < parts.size(); first += count)
        for (size_t i = 0; i < count; ++i) totals[i] += parts[first + i];
    std::copy(totals.begin(), totals.end(), sums);
}

void filters_forward(Floats<4> maps, Floats<4> kernel, Floats<1> bias, Floats<1> centre, size_t stride_frames,
                     size_t pool, size_t threads, Sums<4> found, Bytes<4> argmax, Sums<2> moments) {
    const FilterSizes sizes(maps, kernel, stride_frames, found.shape(0), found.shape(1), pool);
    sizes.expect_found(found, "found: expected [frames, maxima, N, filters]");
    sizes.expect_found(argmax, "argmax: expected [frames, maxima, N, filters]");
    expect(bias.shape(0) == sizes.filters && centre.shape(0) == sizes.filters, "bias, centre: expected [filters]");
    expect(moments.shape(0) == 2 && moments.shape(1) == sizes.filters, "moments: expected [2, filters]");
    const nb::gil_scoped_release released;
    const Parts parts(sizes, 2 * sizes.filters);
    std::vector<double> of_parts(parts.count * 2 * sizes.filters);
    const FiltersForward pass{sizes,
                              parts,
                              Packed(kernel.data(), sizes.taps() * sizes.channels, sizes.filters),
                              maps.data(),
                              bias.data(),
                              centre.data(),
                              found.data(),
                              argmax.data(),
                              of_parts.data()};
    share(parts.count, threads, 1, pass);
    add_parts(of_parts, 2 * sizes.filters, moments.data());
}
