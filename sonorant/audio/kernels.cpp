// The inner loops of signal processing that NumPy would need several passes for; `kernels.pyi` documents them.
//
// Each loop is compiled for AVX2 and FMA and for any x86-64, and the loader picks; elsewhere (arm64) once. Divisions and
// square roots are exact, no approximate instruction is used, and every sum has one order: bits depend on the CPU's
// instruction set, and on nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <nb_combined.cpp>  // nanobind itself

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "variants.hpp"

namespace nb = nanobind;

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Spectra = nb::ndarray<std::complex<float>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstSpectra = nb::ndarray<const std::complex<float>, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

// ---------------------------------------------------------------------------------------------------- image method

typedef float Four __attribute__((vector_size(16)));
typedef float Eight __attribute__((vector_size(32)));

struct Axis {
    const float *square, *gain;
    size_t images;
};

constexpr size_t BLOCK = 256;  // images whose delays are computed at once

// The four points around an image get the cubic B-spline's weights, by powers of its distance past the second.
INLINE void spread_block(const float* past, const float* gain, const int32_t* point, size_t images, float* grid) {
    const Four c0 = {1 / 6.f, 4 / 6.f, 1 / 6.f, 0}, c1 = {-.5f, 0, .5f, 0};
    const Four c2 = {.5f, -1, .5f, 0}, c3 = {-1 / 6.f, .5f, -.5f, 1 / 6.f};
    for (size_t i = 0; i < images; ++i) {
        Four sum;
        float* at = grid + point[i];
        std::memcpy(&sum, at, sizeof sum);
        sum += (((c3 * past[i] + c2) * past[i] + c1) * past[i] + c0) * gain[i];
        std::memcpy(at, &sum, sizeof sum);
    }
}

FAST void spread_axes(Axis x, Axis y, Axis z, float reach_square, float* grid) {
    alignas(64) float past[BLOCK], gain[BLOCK];
    alignas(64) int32_t point[BLOCK];
    for (size_t i = 0; i < x.images; ++i)
        for (size_t j = 0; j < y.images; ++j) {
            const float plane = x.square[i] + y.square[j], plane_gain = x.gain[i] * y.gain[j];
            if (plane > reach_square) break;
            const size_t end = std::upper_bound(z.square, z.square + z.images, reach_square - plane) - z.square;
            for (size_t start = 0; start < end; start += BLOCK) {
                const size_t images = std::min(BLOCK, end - start);
                const float *square = z.square + start, *z_gain = z.gain + start;
                for (size_t k = 0; k < images; ++k) {
                    const float delay = std::sqrt(plane + square[k]);
                    gain[k] = plane_gain * z_gain[k] / delay;
                    point[k] = static_cast<int32_t>(delay);
                    past[k] = delay - point[k];
                }
                spread_block(past, gain, point, images, grid);
            }
        }
}

void spread(Floats x2, Floats x_gain, Floats y2, Floats y_gain, Floats z2, Floats z_gain, float reach, Row grid) {
    expect(x2.size() == x_gain.size() && y2.size() == y_gain.size() && z2.size() == z_gain.size(),
           "spread: an axis has as many squared offsets as gains");
    expect(reach >= 0 && grid.size() >= static_cast<size_t>(reach) + 5, "spread: grid must have reach + 5 points");
    spread_axes({x2.data(), x_gain.data(), x2.size()}, {y2.data(), y_gain.data(), y2.size()},
                {z2.data(), z_gain.data(), z2.size()}, reach * reach, grid.data());
}

// ------------------------------------------------------------------------------------------------------- high-pass

struct Biquad {
    double b0, b1, b2, a1, a2;
};

FAST void filter_row(float* values, size_t count, Biquad f) {
    double soon = 0, later = 0;  // what past samples add to this one, and to the next
    for (size_t i = 0; i < count; ++i) {
        const double x = values[i], y = f.b0 * x + soon;
        soon = f.b1 * x - f.a1 * y + later;
        later = f.b2 * x - f.a2 * y;
        values[i] = static_cast<float>(y);
    }
}

void biquad(Rows values, double b0, double b1, double b2, double a1, double a2) {
    for (size_t row = 0; row < values.shape(0); ++row)
        filter_row(values.data() + row * values.shape(1), values.shape(1), {b0, b1, b2, a1, a2});
}

#include "peaks.hpp"

// --------------------------------------------------------------------------------------------------- overlap-add

FAST void cut(const float* __restrict samples, size_t hop, const float* __restrict window, size_t size, size_t count,
              float* __restrict frames, size_t stride) {
    for (size_t frame = 0; frame < count; ++frame)
        for (size_t i = 0; i < size; ++i) frames[frame * stride + i] = samples[frame * hop + i] * window[i];
}

void cut_frames(Floats samples, size_t hop, Floats window, Rows frames) {
    const size_t count = frames.shape(0), size = window.size();
    expect(size <= frames.shape(1), "cut_frames: a frame must hold the window");
    expect(count == 0 || samples.size() >= (count - 1) * hop + size, "cut_frames: too few samples for all frames");
    cut(samples.data(), hop, window.data(), size, count, frames.data(), frames.shape(1));
}

FAST void add_frames(const float* frames, size_t stride, size_t count, const float* window, size_t size, size_t hop,
                     float* sum) {
    for (size_t frame = 0; frame < count; ++frame)
        for (size_t i = 0; i < size; ++i) sum[frame * hop + i] += frames[frame * stride + i] * window[i];
}

void overlap_add(ConstRows frames, Floats window, size_t hop, Row sum) {
    const size_t count = frames.shape(0), size = window.size();
    expect(size <= frames.shape(1), "overlap_add: a frame must hold the window");
    expect(count == 0 || sum.size() >= (count - 1) * hop + size, "overlap_add: the sum is too short for all frames");
    add_frames(frames.data(), frames.shape(1), count, window.data(), size, hop, sum.data());
}

// ---------------------------------------------------------------------------------------------------------- mixing

FAST double sum_squares(const float* values, size_t count) {
    constexpr size_t WIDTH = 8;  // of SIMD
    double sum[WIDTH] = {};
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        for (size_t k = 0; k < WIDTH; ++k) {
            const double value = values[i + k];
            sum[k] += value * value;
        }
    for (; i < count; ++i) sum[0] += static_cast<double>(values[i]) * values[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

double energy(Floats values) { return sum_squares(values.data(), values.size()); }

FAST float scale_and_add(float* __restrict speech, float* __restrict noise, float* __restrict total, size_t count,
                         float speech_gain, float noise_gain) {
    constexpr size_t WIDTH = 8;
    float peak[WIDTH] = {};
    const auto add = [&](size_t i, float& most) {
        speech[i] *= speech_gain;
        noise[i] *= noise_gain;
        total[i] = speech[i] + noise[i];
        const float size = std::fabs(total[i]);
        most = size > most ? size : most;
    };
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        for (size_t k = 0; k < WIDTH; ++k) add(i + k, peak[k]);
    for (; i < count; ++i) add(i, peak[0]);
    return *std::max_element(peak, peak + WIDTH);
}

float add_scaled(Rows speech, Rows noise, float speech_gain, float noise_gain, Rows total) {
    expect(speech.size() == noise.size() && speech.size() == total.size(), "add_scaled: all arrays have one size");
    return scale_and_add(speech.data(), noise.data(), total.data(), total.size(), speech_gain, noise_gain);
}

// -------------------------------------------------------------------------------------------------------- features

constexpr size_t GROUP = 8;  // weights side by side

struct Filters {
    const int32_t *first, *offset;  // filter m weighs bins from first[m] on by groups offset[m]..offset[m + 1]
    const float* weight;
    size_t count;
};

// `power` has space for a group beyond the bins.
FAST void filter_frame(const float* __restrict in, size_t bins, Filters filters, float* __restrict power,
                       float* __restrict energy) {
    for (size_t i = 0; i < bins; ++i) power[i] = in[2 * i] * in[2 * i] + in[2 * i + 1] * in[2 * i + 1];
    for (size_t m = 0; m < filters.count; ++m) {
        Eight sum = {};
        const float* at = power + filters.first[m];
        for (int32_t group = filters.offset[m]; group < filters.offset[m + 1]; ++group, at += GROUP) {
            Eight weight, values;
            std::memcpy(&weight, filters.weight + group * GROUP, sizeof weight);
            std::memcpy(&values, at, sizeof values);
            sum += weight * values;
        }
        energy[m] = ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
    }
}

void filter_power(ConstSpectra spectra, Integers first, Integers offset, ConstRows weight, Rows energies) {
    const size_t frames = energies.shape(0), filters = energies.shape(1), bins = spectra.shape(1);
    expect(spectra.shape(0) >= frames, "filter_power: there must be a spectrum for each row of energies");
    expect(first.size() == filters && offset.size() == filters + 1 && weight.shape(1) == GROUP,
           "filter_power: there must be a first bin and groups of 8 weights for each filter");
    for (size_t m = 0; m < filters; ++m) {
        const int32_t start = offset.data()[m], end = offset.data()[m + 1];
        expect(first.data()[m] >= 0 && 0 <= start && start <= end && end <= (int32_t)weight.shape(0) &&
                   first.data()[m] + (end - start) * GROUP < bins + GROUP,
               "filter_power: a filter reaches beyond the spectrum or the weights");
    }
    std::vector<float> power(bins + GROUP);
    const float* in = reinterpret_cast<const float*>(spectra.data());
    for (size_t frame = 0; frame < frames; ++frame)
        filter_frame(in + 2 * frame * bins, bins, {first.data(), offset.data(), weight.data(), filters}, power.data(),
                     energies.data() + frame * filters);
}

INLINE float bits_to_float(int32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// x^exponent as 2^(exponent log2 x), both by series: log2 of a mantissa in sqrt(1/2)..sqrt(2) is that of
// (1 + s)/(1 - s) with |s| < 0.172. Zero and what is below the least normal number give 0.
FAST void power_values(float* values, size_t count, float exponent) {
    for (size_t i = 0; i < count; ++i) {
        int32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        const int32_t scale = (bits - 0x3f3504f3) >> 23;
        const float mantissa = bits_to_float(bits - (scale << 23));
        const float s = (mantissa - 1) / (mantissa + 1), q = s * s;
        const float log2 = 2.88539008f * s * (1 + q * (1 / 3.f + q * (1 / 5.f + q * (1 / 7.f + q * (1 / 9.f))))) + scale;
        const float y = exponent * log2, whole = std::rint(y), x = (y - whole) * .693147181f;
        const float exp = 1 + x * (1 + x * (.5f + x * (1 / 6.f + x * (1 / 24.f + x * (1 / 120.f + x * (1 / 720.f))))));
        const float power = exp * bits_to_float((static_cast<int32_t>(whole) + 127) << 23);
        values[i] = bits >= 0x00800000 ? power : 0;
    }
}

void power_law(Rows values, float exponent) { power_values(values.data(), values.size(), exponent); }

#include "voice_activity.hpp"

}  // namespace

NB_MODULE(MODULE, module) {
    nb::set_leak_warnings(false);  // a recognizer freezes its objects, and would be warned of each at its end
    module.attr("VARIANT") = variant();
    using nb::literals::operator""_a;
    const auto free = nb::call_guard<nb::gil_scoped_release>();
    const auto exact = [](const char* name) { return nb::arg(name).noconvert(); };
    module.def("spread", &spread, exact("x2"), exact("x_gain"), exact("y2"), exact("y_gain"), exact("z2"),
               exact("z_gain"), "reach"_a, exact("grid"), free);
    module.def("biquad", &biquad, exact("values"), "b0"_a, "b1"_a, "b2"_a, "a1"_a, "a2"_a, free);
    module.def("move_peaks", &move_peaks, exact("spectra"), exact("rise"), exact("slope"), "rotations_per_bin"_a,
               exact("rotations"), exact("moved"), free);
    module.def("cut_frames", &cut_frames, exact("samples"), "hop"_a, exact("window"), exact("frames"), free);
    module.def("overlap_add", &overlap_add, exact("frames"), exact("window"), "hop"_a, exact("sum"), free);
    module.def("energy", &energy, exact("values"), free);
    module.def("add_scaled", &add_scaled, exact("speech"), exact("noise"), "speech_gain"_a, "noise_gain"_a,
               exact("total"), free);
    module.def("filter_power", &filter_power, exact("spectra"), exact("first"), exact("offset"), exact("weight"),
               exact("energies"), free);
    module.def("power_law", &power_law, exact("values"), "exponent"_a, free);
    nb::class_<VoiceActivity>(module, "VoiceActivity")
        .def(nb::init<ConstRows, ConstRows, Integers>(), exact("cosines"), exact("sines"), exact("edges"))
        .def("push", &VoiceActivity::push, exact("samples"), exact("flags"), free);
}
