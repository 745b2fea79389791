// Layers' kernels for training on a CPU; `kernels.pyi` documents them.
//
// Bits depend on the CPU's instruction set (`../audio/variants.hpp`), and not on the number of threads; an utterance's are
// the same in any batch, but where moments of the batch are part of them (`batch_normalisation.hpp`).
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <nb_combined.cpp>  // nanobind itself

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
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

#include "running.hpp"

#include "lstm.hpp"
#include "lstm_chunks.hpp"

#include "clipped_recurrence.hpp"

#include "batch_normalisation.hpp"

#include "filters.hpp"
#include "filters_backward.hpp"

#include "energies.hpp"
#include "taught_decoder.hpp"

#include "taught_feedback.hpp"
#include "taught_monotonic.hpp"

}  // namespace

NB_MODULE(MODULE, m) {
    m.attr("VARIANT") = variant();
    m.def("lstm_forward", lstm_forward, "products"_a, "recurrent"_a, "peepholes"_a, "cell"_a, "hidden"_a,
          "threads"_a, "gates"_a.noconvert(), "cells"_a.noconvert(), "outputs"_a.noconvert());
    m.def("lstm_backward", lstm_backward, "d_outputs"_a, "d_last_cell"_a, "gates"_a, "cells"_a, "cell"_a, "recurrent"_a,
          "peepholes"_a, "threads"_a, "d_gates"_a.noconvert(), "d_cell"_a.noconvert(), "d_hidden"_a.noconvert());
    m.def("lstm_peepholes", lstm_peepholes, "d_gates"_a, "cells"_a, "cell"_a, "d_peepholes"_a.noconvert());
    m.def("decaying_sums", decaying_sums, "terms"_a, "decay"_a, "threads"_a, "sums"_a.noconvert());
    m.def("running_peaks", running_peaks, "levels"_a, "kept"_a, "fall"_a, "threads"_a, "peaks"_a.noconvert());
    m.def("lstm_chunks_forward", lstm_chunks_forward, "products"_a, "recurrent"_a, "chunk"_a, "threads"_a,
          "gates"_a.noconvert(), "cells"_a.noconvert(), "heard"_a.noconvert(), "outputs"_a.noconvert());
    m.def("lstm_chunks_backward", lstm_chunks_backward, "d_outputs"_a, "gates"_a, "cells"_a, "recurrent"_a, "chunk"_a,
          "threads"_a, "d_gates"_a.noconvert(), "d_products"_a.noconvert());
    m.def("clipped_forward", clipped_forward, "inputs"_a, "lengths"_a, "weight"_a, "ceiling"_a, "threads"_a,
          "states"_a.noconvert(), "outputs"_a.noconvert());
    m.def("clipped_backward", clipped_backward, "d_outputs"_a, "states"_a, "weight"_a, "ceiling"_a, "threads"_a,
          "d_inputs"_a.noconvert(), "d_sums"_a.noconvert());
    m.def("normalise_forward", normalise_forward, "values"_a, "present"_a, "centre"_a, "scale"_a, "offset"_a,
          "epsilon"_a, "threads"_a, "normal"_a.noconvert(), "sums"_a.noconvert(), "moments"_a.noconvert());
    m.def("normalise_weights_gradient", normalise_weights_gradient, "d_normal"_a, "values"_a, "moments"_a, "threads"_a,
          "d_scale"_a.noconvert(), "d_offset"_a.noconvert());
    m.def("normalise_values_gradient", normalise_values_gradient, "d_normal"_a, "values"_a, "present"_a, "moments"_a,
          "scale"_a, "d_scale"_a, "d_offset"_a, "threads"_a, "d_values"_a.noconvert());
    m.def("filters_forward", filters_forward, "maps"_a, "kernel"_a, "bias"_a, "centre"_a, "stride_frames"_a, "pool"_a,
          "threads"_a, "found"_a.noconvert(), "argmax"_a.noconvert(), "moments"_a.noconvert());
    m.def("filters_kernel_gradient", filters_kernel_gradient, "d_found"_a, "d_moments"_a, "found"_a, "argmax"_a,
          "centre"_a, "maps"_a, "stride_frames"_a, "pool"_a, "threads"_a, "d_kernel"_a.noconvert(),
          "d_bias"_a.noconvert());
    m.def("filters_maps_gradient", filters_maps_gradient, "d_found"_a, "d_moments"_a, "found"_a, "argmax"_a,
          "centre"_a, "kernel"_a, "stride_frames"_a, "pool"_a, "threads"_a, "d_maps"_a.noconvert());
    nb::class_<TaughtFeedback>(m, "TaughtFeedback")
        .def(nb::init<Floats<2>, Floats<2>, Floats<3>, Integers<1>, Floats<3>, Floats<2>, Floats<1>, Floats<1>>(),
             "weight"_a, "query"_a, "encoded"_a, "lengths"_a, "keys"_a, "fertility"_a, "energy"_a, "feedback"_a)
        .def("forward", &TaughtFeedback::forward, "products"_a, "threads"_a, "gates"_a.noconvert(), "cells"_a.noconvert(),
             "hidden"_a.noconvert(), "contexts"_a.noconvert(), "queries"_a.noconvert(), "weights"_a.noconvert(),
             "feedbacks"_a.noconvert())
        .def("backward", &TaughtFeedback::backward, "d_hidden"_a, "d_contexts"_a, "d_weights"_a, "gates"_a, "cells"_a,
             "queries"_a, "weights"_a, "feedbacks"_a, "threads"_a, "d_gates"_a.noconvert(), "d_queries"_a.noconvert(),
             "d_encoded"_a.noconvert(), "d_keys"_a.noconvert(), "d_fertility"_a.noconvert(), "d_energy"_a.noconvert(),
             "d_feedback"_a.noconvert());
    nb::class_<TaughtMonotonic>(m, "TaughtMonotonic")
        .def(nb::init<Floats<2>, Floats<2>, Floats<3>, Integers<1>, Floats<3>, Floats<3>, Floats<1>, size_t>(),
             "weight"_a, "query"_a, "encoded"_a, "lengths"_a, "keys"_a, "noise"_a, "energy"_a, "chunk"_a)
        .def("forward", &TaughtMonotonic::forward, "products"_a, "threads"_a, "gates"_a.noconvert(),
             "cells"_a.noconvert(), "hidden"_a.noconvert(), "contexts"_a.noconvert(), "queries"_a.noconvert(),
             "alphas"_a.noconvert(), "energies"_a.noconvert(), "chunk_energies"_a.noconvert())
        .def("backward", &TaughtMonotonic::backward, "d_hidden"_a, "d_contexts"_a, "d_alphas"_a, "gates"_a, "cells"_a,
             "queries"_a, "alphas"_a, "energies"_a, "chunk_energies"_a, "threads"_a, "d_gates"_a.noconvert(),
             "d_queries"_a.noconvert(), "d_encoded"_a.noconvert(), "d_keys"_a.noconvert(), "d_noise"_a.noconvert(),
             "d_energy"_a.noconvert());
}
