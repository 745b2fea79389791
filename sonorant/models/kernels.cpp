// Layers' kernels for training on a CPU; `kernels.pyi` documents them.
//
// Bits depend on the CPU's instruction set (`../audio/variants.hpp`), and on nothing else: an utterance's are the same in
// any batch, and with any number of threads.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <nb_combined.cpp>  // nanobind itself

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include "../audio/variants.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

#include "activations.hpp"
#include "arrays.hpp"
#include "products.hpp"
#include "sharing.hpp"

#include "lstm.hpp"

}  // namespace

NB_MODULE(MODULE, m) {
    m.attr("VARIANT") = variant();
    m.def("lstm_forward", lstm_forward, "products"_a, "recurrent"_a, "peepholes"_a, "cell"_a, "hidden"_a,
          "threads"_a, "gates"_a.noconvert(), "cells"_a.noconvert(), "outputs"_a.noconvert());
    m.def("lstm_backward", lstm_backward, "d_outputs"_a, "d_last_cell"_a, "gates"_a, "cells"_a, "cell"_a, "recurrent"_a,
          "peepholes"_a, "threads"_a, "d_gates"_a.noconvert(), "d_cell"_a.noconvert(), "d_hidden"_a.noconvert());
}
