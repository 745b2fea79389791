// CTC's kernels, of a CPU; `kernels.pyi` documents them. An utterance's bits are the same in any batch, and with any
// number of threads.
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
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "../audio/variants.hpp"
#include "forced_alignment.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

#include "../models/activations.hpp"
#include "../models/arrays.hpp"
#include "../models/sharing.hpp"

using Spikes = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void expect_within(int64_t value, int64_t least, int64_t greatest, const std::string& what) {
    if (value < least || value > greatest)
        throw nb::value_error((what + ": expected " + std::to_string(least) + " to " + std::to_string(greatest) +
                               ", got " + std::to_string(value))
                                  .c_str());
}

#include "ctc.hpp"
#include "spikes.hpp"

}  // namespace

NB_MODULE(MODULE, m) {
    m.attr("VARIANT") = variant();
    m.def("ctc_loss", ctc_loss, "log_probs"_a, "lengths"_a, "labels"_a, "label_lengths"_a, "threads"_a,
          "losses"_a.noconvert(), "gradient"_a.noconvert());
    m.def("ctc_spikes", ctc_spikes, "log_probs"_a, "lengths"_a, "labels"_a, "label_lengths"_a, "threads"_a,
          "spikes"_a.noconvert());
}
