// Computes exported models in place of TensorFlow's graphs; `kernels.pyi` documents it.
//
// Bits depend on the CPU's instruction set (`variants.hpp`), the library's logarithm and whether the thread flushes
// denormals, and on nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <nb_combined.cpp>  // nanobind itself

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../audio/variants.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstRows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Weights = std::pair<ConstRows, Floats>;  // a matrix [inputs, outputs], and a bias [outputs]

void expect(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

void expect(bool holds, const std::string& what) { expect(holds, what.c_str()); }

// expected: another shape of a matrix than the one found.
void expect_shape(const ConstRows& found, size_t rows, size_t columns, const std::string& what) {
    const auto shape = [](size_t n, size_t m) { return "[" + std::to_string(n) + ", " + std::to_string(m) + "]"; };
    if (found.shape(0) != rows || found.shape(1) != columns)
        throw nb::value_error((what + ": " + shape(found.shape(0), found.shape(1)) + "; expected " + shape(rows, columns)).c_str());
}

#include "../models/activations.hpp"
#include "../models/products.hpp"

#include "affine.hpp"
#include "input_normalisation.hpp"

#include "convolution_2d.hpp"
#include "frequency_convolution.hpp"
#include "lstm_stack.hpp"

}  // namespace

NB_MODULE(MODULE, m) {
    nb::set_leak_warnings(false);  // a recognizer freezes its objects, and would be warned of each at its end
    m.attr("VARIANT") = variant();
    nb::class_<Convolution2d>(m, "Convolution2d")
        .def(nb::init<size_t, size_t, const std::vector<std::tuple<size_t, size_t, size_t, Weights>>&, const Weights&>(),
             "bins"_a, "frames"_a, "layers"_a, "projection"_a);
    nb::class_<FrequencyConvolution, Convolution2d>(m, "FrequencyConvolution")
        .def(nb::init<size_t, size_t, size_t, const Weights&, const Weights&, const Weights&>(), "bins"_a, "frames"_a,
             "pool"_a, "first"_a, "second"_a, "projection"_a);
    nb::class_<LstmStack>(m, "LstmStack")
        .def(nb::init<Floats, Floats, Floats, Floats, const std::optional<Convolution2d>&, const std::vector<Weights>&,
                      const Weights&>(),
             "mean"_a, "deviation"_a, "level"_a, "running_mean"_a, "convolution"_a.none(), "layers"_a, "projection"_a)
        .def("advance", &LstmStack::advance, "features"_a.noconvert(), "lengths"_a.noconvert(), "states"_a.noconvert(),
             "log_probs"_a.noconvert());
}
