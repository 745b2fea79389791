// Spectral peaks on the move, each with the bins around it: `sonorant/audio/peaks.py` and `vtlp` say why.
// Part of kernels.cpp.
#pragma once

constexpr size_t REACH = 2;  // bins on either side that a peak tops

struct Map {
    const float *rise, *slope;
    float rotations_per_bin;
};

// Peaks of one frame, a column each.
struct Peaks {
    static constexpr size_t COLUMNS = 8;
    std::vector<int32_t> bin, steps, edge, from, till;
    std::vector<uint8_t> flags;
    std::vector<float> floats;
    size_t stride;
    explicit Peaks(size_t bins)
        : bin(bins + 4), steps(bins), edge(bins + 1), from(bins), till(bins), flags(bins + 8), floats(COLUMNS * bins),
          stride(bins) {}
    float* column(size_t c) { return floats.data() + c * stride; }
};

// Which of eight flags are set, by their bits, and how many: of eight bins at most three are peaks.
struct AmongEight {
    int32_t positions[256][4] = {};
    constexpr AmongEight() {
        for (int bits = 0; bits < 256; ++bits)
            for (int position = 0; position < 8; ++position) {
                int32_t& count = positions[bits][3];
                if (bits >> position & 1 && count < 3) positions[bits][count++] = position;
            }
    }
};
constexpr AmongEight AMONG_EIGHT;

INLINE size_t find_peaks(const float* __restrict power, size_t bins, uint8_t* __restrict flags,
                         int32_t* __restrict peaks) {
    for (size_t i = 0; i < bins; ++i) {  // power[-2..bins + 2) can be read
        const float top = power[i];
        flags[i] = (top > power[i - 1] ? 1 : 0) & (top > power[i - 2] ? 1 : 0) & (top >= power[i + 1] ? 1 : 0) &
                   (top >= power[i + 2] ? 1 : 0);
    }
    size_t count = 0;
    for (size_t i = 0; i < bins; i += 8) {  // flags end with zeros
        uint64_t eight;
        std::memcpy(&eight, flags + i, sizeof eight);
        const int32_t* found = AMONG_EIGHT.positions[eight * 0x0102040810204080u >> 56];  // a bit of each byte
        for (int k = 0; k < 4; ++k) peaks[count + k] = static_cast<int32_t>(i) + found[k];
        count += found[3];
    }
    return count;
}

// Steps (whole bins) and rotation of each peak: `kernels.pyi` has the formulae.
INLINE void plan_moves(size_t count, float rotations_per_bin, const float* __restrict before,
                       const float* __restrict top,
                       const float* __restrict after, const float* __restrict slopes, const float* __restrict rises,
                       float* __restrict rotations, int32_t* __restrict steps, float* __restrict reals,
                       float* __restrict imags) {
    for (size_t j = 0; j < count; ++j) {
        const float b = std::sqrt(before[j]), t = std::sqrt(top[j]), a = std::sqrt(after[j]);
        const float tone = 2 * (a - b) / (a + b + 2 * t + 1e-30f);
        const float offset = tone > .5f ? .5f : tone < -.5f ? -.5f : tone;
        const float rise = rises[j] + slopes[j] * offset;
        const float whole = std::rint(rise), rest = rise - whole, rotated = rotations[j] + rise * rotations_per_bin;
        const float rotation = rotated - std::rint(rotated);
        steps[j] = static_cast<int32_t>(whole);
        rotations[j] = rotation;
        const float x = rotation * 3.14159265f, q = x * x;  // half the angle, within pi / 2: Taylor will do
        const float sine =
            x * (1 + q * (-1 / 6.f + q * (1 / 120.f + q * (-1 / 5040.f + q * (1 / 362880.f - q * (1 / 39916800.f))))));
        const float cosine =
            1 + q * (-.5f + q * (1 / 24.f + q * (-1 / 720.f + q * (1 / 40320.f + q * (-1 / 3628800.f + q * (1 / 479001600.f))))));
        const float d = rest * rest, gain = 1 + d * (.394934f + d * (.0880f + d * .0147f));
        const float signed_gain = gain * (1 - 4 * std::fabs(whole * .5f - std::rint(whole * .5f)));  // +-1
        reals[j] = signed_gain * (1 - 2 * sine * sine);
        imags[j] = signed_gain * (2 * sine * cosine);
    }
}

constexpr float FAR_LOUDER = 100;  // in power: 20 dB

// Peak j takes bins edge[j]..edge[j + 1] along, of which from..till come to lie where the spectrum is and no peak nearer.
// Beside a far louder peak it takes fewer: that one keeps all its bins, up to the other's top.
INLINE void plan_regions(size_t count, int32_t size, const int32_t* __restrict bin, const int32_t* __restrict steps,
                         const float* __restrict top, int32_t* __restrict edge, int32_t* __restrict from,
                         int32_t* __restrict till) {
    if (count == 0) return;
    edge[0] = 0;
    for (size_t j = 1; j < count; ++j) {
        edge[j] = (bin[j - 1] + bin[j] + 1) / 2;
        const int32_t left = bin[j - 1] + steps[j - 1], right = bin[j] + steps[j];
        int32_t to = (left + right + 1) / 2;
        to = top[j - 1] > FAR_LOUDER * top[j] ? std::min(edge[j] + steps[j - 1], right) : to;
        to = top[j] > FAR_LOUDER * top[j - 1] ? std::max(edge[j] + steps[j], left + 1) : to;
        to = std::min(std::max(to, 0), size);
        from[j] = std::max(edge[j], to - steps[j]);
        till[j - 1] = std::min(edge[j], to - steps[j - 1]);
    }
    edge[count] = size;
    from[0] = std::max(0, -steps[0]);
    till[count - 1] = std::min(size, size - steps[count - 1]);
}

constexpr size_t SLACK = 16;  // values past a row's end that whole vectors may touch

// Both write whole vectors, the first without a test whether it is needed: what comes after is written next. More than
// one is rare, and marked as unlikely for the compiler.
INLINE void rotate_eight(const float* in, float real, float imag, float* out) {
    const Eight cross = {-imag, imag, -imag, imag, -imag, imag, -imag, imag};
    for (int half = 0; half < 16; half += 8) {
        Eight z;
        std::memcpy(&z, in + half, sizeof z);
        z = z * real + __builtin_shufflevector(z, z, 1, 0, 3, 2, 5, 4, 7, 6) * cross;
        std::memcpy(out + half, &z, sizeof z);
    }
}

INLINE void rotate(const float* in, int32_t size, float real, float imag, float* out) {
    rotate_eight(in, real, imag, out);
    if (__builtin_expect(size > 8, false))
        for (int32_t i = 8; i < size; i += 8) rotate_eight(in + 2 * i, real, imag, out + 2 * i);
}

INLINE void fill(float* out, int32_t size, float value) {
    const Eight values = Eight{} + value;
    std::memcpy(out, &values, sizeof values);
    if (__builtin_expect(size > 8, false))
        for (int32_t i = 8; i < size; i += 8) std::memcpy(out + i, &values, sizeof values);
}

FAST void move_frame(const float* __restrict in, size_t bins, Map map, float* __restrict rotations,
                     float* __restrict power, Peaks& peaks, float* __restrict out) {
    for (size_t i = 0; i < bins; ++i) power[i] = in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1];
    int32_t *bin = peaks.bin.data(), *steps = peaks.steps.data();
    const size_t count = find_peaks(power, bins, peaks.flags.data(), bin);
    float *before = peaks.column(0), *top = peaks.column(1), *after = peaks.column(2), *slope = peaks.column(3);
    float *rise = peaks.column(4), *rotation = peaks.column(5), *real = peaks.column(6), *imag = peaks.column(7);
    const int32_t size = static_cast<int32_t>(bins);
    power[-1] = power[std::min(size - 1, 1)];  // the spectrum is mirrored: a peak at an edge has no offset
    power[size] = power[std::max(size - 2, 0)];
    for (size_t j = 0; j < count; ++j) {
        const int32_t i = bin[j];
        before[j] = power[i - 1];
        top[j] = power[i];
        after[j] = power[i + 1];
        rise[j] = map.rise[i];
        slope[j] = map.slope[i];
        rotation[j] = rotations[i];
    }
    power[-1] = power[size] = -1;
    plan_moves(count, map.rotations_per_bin, before, top, after, slope, rise, rotation, steps, real, imag);
    plan_regions(count, size, bin, steps, top, peaks.edge.data(), peaks.from.data(), peaks.till.data());
    const int32_t *edge = peaks.edge.data(), *from = peaks.from.data(), *till = peaks.till.data();
    int32_t written = 0;
    for (size_t j = 0; j < count; ++j) {
        if (from[j] < till[j]) {
            const int32_t to = from[j] + steps[j];
            fill(out + 2 * written, 2 * (to - written), 0);
            rotate(in + 2 * from[j], till[j] - from[j], real[j], imag[j], out + 2 * to);
            written = till[j] + steps[j];
        }
        fill(rotations + edge[j], edge[j + 1] - edge[j], rotation[j]);
    }
    fill(out + 2 * written, 2 * (size - written), 0);
}

void move_peaks(ConstSpectra spectra, Floats rise, Floats slope, float rotations_per_bin, Row rotations,
                Spectra moved) {
    const size_t frames = spectra.shape(0), bins = spectra.shape(1);
    expect(bins > 0 && rise.size() == bins && slope.size() == bins && rotations.size() == bins,
           "move_peaks: rise, slope and rotations must have a value for each bin");
    expect(moved.shape(0) == frames && moved.shape(1) == bins, "move_peaks: moved must have the shape of spectra");
    std::vector<float> power(bins + 2 * REACH, -1.f), last(rotations.data(), rotations.data() + bins);
    std::vector<float> spare_in(2 * bins + SLACK), spare_out(2 * bins + SLACK);
    last.resize(bins + SLACK);
    Peaks peaks(bins);
    const float* in = reinterpret_cast<const float*>(spectra.data());
    float* out = reinterpret_cast<float*>(moved.data());
    const size_t row = 2 * bins;
    for (size_t frame = 0; frame < frames; ++frame, in += row, out += row) {
        // Whole vectors may run into the next row, which is written later; the last rows have none to run into.
        const bool runs_over = (frames - frame - 1) * row < SLACK;
        if (runs_over) std::copy(in, in + row, spare_in.data());
        move_frame(runs_over ? spare_in.data() : in, bins, {rise.data(), slope.data(), rotations_per_bin}, last.data(),
                   power.data() + REACH, peaks, runs_over ? spare_out.data() : out);
        if (runs_over) std::copy(spare_out.data(), spare_out.data() + row, out);
    }
    std::memcpy(rotations.data(), last.data(), bins * sizeof *rotations.data());
}
