// The hypotheses of searches by label for Python; `kernels.pyi` documents them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "label_hypotheses.hpp"
#include "monotonic_hypotheses.hpp"

namespace sonorant::decoding::bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <class Real, size_t dimensions>
using Rows = nb::ndarray<const Real, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

// A copy, which Python owns.
template <class Value>
nb::ndarray<nb::numpy, Value, nb::ndim<1>> array_of(const std::vector<Value>& values) {
    auto copy = std::make_unique<Value[]>(values.size());
    std::copy(values.begin(), values.end(), copy.get());
    const nb::capsule owner(copy.get(), [](void* data) noexcept { delete[] static_cast<Value*>(data); });
    return {copy.release(), {values.size()}, owner};
}

// Refuses an array of another shape.
template <class Array>
void expect(const char* name, const Array& array, const std::vector<size_t>& shape, const char* axes) {
    std::vector<size_t> found;
    for (size_t axis = 0; axis < array.ndim(); ++axis) found.push_back(array.shape(axis));
    if (found == shape) return;
    const auto listed = [](const std::vector<size_t>& sizes) {
        std::string text;
        for (const size_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
        return "[" + text + "]";
    };
    throw std::invalid_argument(std::string(name) + " of shape " + listed(found) + ": expected " + axes + " " + listed(shape));
}

// Labels, their frames, and what else there is of a hypothesis.
template <class... Others>
nb::tuple spelt(const std::vector<HeardLabel>& chain, Others... others) {
    nb::list labels, frames;
    for (const auto& [label, frame] : chain) {
        labels.append(label);
        frames.append(frame);
    }
    return nb::make_tuple(nb::tuple(labels), nb::tuple(frames), others...);
}

inline size_t at_least_one(const char* name, size_t number) {
    if (!number) throw std::invalid_argument(std::string(name) + "=0: must be at least 1");
    return number;
}

class LabelHypotheses {
public:
    LabelHypotheses(const std::vector<size_t>& frames, size_t beam, const LabelScoring& scoring)
        : frames_(frames), hypotheses_(frames, at_least_one("beam", beam), scoring) {}

    nb::object before() const { return by_utterance(hypotheses_.before()); }
    nb::object parents() const { return by_utterance(hypotheses_.parents()); }

    bool advance(Rows<double, 3> log_probs, Rows<float, 3> attention, std::optional<Rows<double, 3>> beside) {
        const size_t batch = frames_.size(), width = hypotheses_.width(), symbols = hypotheses_.symbols();
        expect("log_probs", log_probs, {batch, width, symbols}, "[utterances, hypotheses, symbols]");
        if (beside) expect("scores beside them", *beside, {batch, width, symbols}, "[utterances, hypotheses, symbols]");
        const size_t frames = std::max(attention.shape(2), most_frames());
        expect("attention", attention, {batch, width, frames}, "[utterances, hypotheses, frames]");
        const nb::gil_scoped_release released;
        return hypotheses_.advance({log_probs.data(), beside ? beside->data() : nullptr, attention.data(), frames});
    }

    nb::list finish() {
        hypotheses_.finish();
        nb::list found;
        for (const UtteranceLabels& utterance : hypotheses_.utterances()) {
            nb::list best;
            for (const Ended& one : utterance.ended().best()) best.append(spelt(utterance.spelt(one), one.score));
            found.append(best);
        }
        return found;
    }

private:
    size_t most_frames() const { return frames_.empty() ? 0 : *std::max_element(frames_.begin(), frames_.end()); }

    nb::object by_utterance(const std::vector<int32_t>& values) const {
        return nb::cast(array_of(values)).attr("reshape")(frames_.size(), hypotheses_.width());
    }

    std::vector<size_t> frames_;
    decoding::LabelHypotheses hypotheses_;
};

class MonotonicHypotheses {
public:
    MonotonicHypotheses(size_t symbols, size_t beam, std::optional<double> end_threshold, double ctc_weight)
        : hypotheses_(at_least_one("symbols", symbols), at_least_one("beam", beam), end_threshold, ctc_weight) {}

    void hear(Rows<float, 1> log_probs) {
        expect("log_probs by frame", log_probs, {hypotheses_.symbols()}, "[units + 1]");
        hypotheses_.hear(log_probs.data());
    }

    size_t offer() {
        hypotheses_.offer();
        return hypotheses_.offered();
    }

    nb::tuple attend(Rows<bool, 1> attends, Rows<double, 2> log_probs, Rows<double, 2> gains, int32_t frame) {
        expect("attends", attends, {hypotheses_.offered()}, "[offered]");
        const FrameChoice choice = hypotheses_.attend(attends.data(), checked(log_probs, gains), frame);
        return nb::make_tuple(array_of(choice.waits), array_of(choice.parents), array_of(choice.labels));
    }

    void end(Rows<double, 2> log_probs, Rows<double, 2> gains, int32_t frame) {
        hypotheses_.end(checked(log_probs, gains), frame);
    }

    void rest() { hypotheses_.rest(); }
    void finish() { hypotheses_.finish(); }

    size_t labels() const { return hypotheses_.labels(); }
    size_t frames() const { return hypotheses_.frames(); }
    nb::list waiting() const { return listed(hypotheses_.waiting()); }
    nb::list ended() const { return listed(hypotheses_.ended()); }

private:
    SeekingRows checked(const Rows<double, 2>& log_probs, const Rows<double, 2>& gains) const {
        const std::vector<size_t> shape{hypotheses_.offered(), hypotheses_.symbols()};
        expect("log_probs", log_probs, shape, "[offered, symbols]");
        expect("gains", gains, shape, "[offered, symbols]");
        return {log_probs.data(), gains.data()};
    }

    template <class One>
    nb::list listed(const std::vector<One>& every) const {
        nb::list found;
        for (const One& one : every) found.append(spelt(hypotheses_.spelt(one.labels), one.score));
        return found;
    }

    decoding::MonotonicHypotheses hypotheses_;
};

inline void bind_labels(nb::module_& m) {
    nb::class_<LabelScoring>(m, "LabelScoring")
        .def(
            "__init__",
            [](LabelScoring* self, std::vector<double> gains, double model_weight, double most_gain, double most_ahead,
               double coverage_weight, double coverage_threshold, std::optional<double> end_threshold) {
                if (gains.empty()) throw std::invalid_argument("expected the gains of all symbols, the end last");
                new (self) LabelScoring{std::move(gains), model_weight,       most_gain,    most_ahead,
                                        coverage_weight,  coverage_threshold, end_threshold};
            },
            "gains"_a, "model_weight"_a, "most_gain"_a, "most_ahead"_a, "coverage_weight"_a, "coverage_threshold"_a,
            "end_threshold"_a.none());
    nb::class_<LabelHypotheses>(m, "LabelHypotheses")
        .def(nb::init<const std::vector<size_t>&, size_t, const LabelScoring&>(), "frames"_a, "beam"_a, "scoring"_a)
        .def_prop_ro("before", &LabelHypotheses::before)
        .def_prop_ro("parents", &LabelHypotheses::parents)
        .def("advance", &LabelHypotheses::advance, "log_probs"_a, "attention"_a, "beside"_a.none())
        .def("finish", &LabelHypotheses::finish);
    nb::class_<MonotonicHypotheses>(m, "MonotonicHypotheses")
        .def(nb::init<size_t, size_t, std::optional<double>, double>(), "symbols"_a, "beam"_a, "end_threshold"_a.none(),
             "ctc_weight"_a = 0.0)
        .def("hear", &MonotonicHypotheses::hear, "log_probs"_a)
        .def("offer", &MonotonicHypotheses::offer)
        .def("attend", &MonotonicHypotheses::attend, "attends"_a, "log_probs"_a, "gains"_a, "frame"_a)
        .def("end", &MonotonicHypotheses::end, "log_probs"_a, "gains"_a, "frame"_a)
        .def("rest", &MonotonicHypotheses::rest)
        .def("finish", &MonotonicHypotheses::finish)
        .def_prop_ro("labels", &MonotonicHypotheses::labels)
        .def_prop_ro("frames", &MonotonicHypotheses::frames)
        .def("waiting", &MonotonicHypotheses::waiting)
        .def("ended", &MonotonicHypotheses::ended);
}

}  // namespace sonorant::decoding::bindings
