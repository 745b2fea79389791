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

inline size_t at_least_one(size_t beam) {
    if (!beam) throw std::invalid_argument("beam must be at least 1");
    return beam;
}

// `LabelHypotheses` of arrays.
class Batch {
public:
    Batch(const std::vector<size_t>& frames, size_t beam, const LabelScoring& scoring)
        : frames_(frames), hypotheses_(frames, at_least_one(beam), scoring) {}

    nb::object before() const { return by_utterance(hypotheses_.before()); }
    nb::object parents() const { return by_utterance(hypotheses_.parents()); }

    bool advance(Rows<double, 3> log_probs, Rows<float, 3> attention, std::optional<Rows<double, 3>> beside) {
        const size_t batch = frames_.size(), width = hypotheses_.width(), symbols = hypotheses_.symbols();
        const auto are_rows = [&](const auto& rows) { return rows.shape(0) == batch && rows.shape(1) == width; };
        const auto are_of_symbols = [&](const auto& rows) { return are_rows(rows) && rows.shape(2) == symbols; };
        if (!are_of_symbols(log_probs) || (beside && !are_of_symbols(*beside)))
            throw std::invalid_argument("expected log_probs, and scores beside them, [utterances, hypotheses, symbols]");
        const size_t frames = attention.shape(2);
        if (!are_rows(attention) || std::any_of(frames_.begin(), frames_.end(), [&](size_t own) { return own > frames; }))
            throw std::invalid_argument("expected attention [utterances, hypotheses, frames]");
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
    nb::object by_utterance(const std::vector<int32_t>& values) const {
        return nb::cast(array_of(values)).attr("reshape")(frames_.size(), hypotheses_.width());
    }

    std::vector<size_t> frames_;
    LabelHypotheses hypotheses_;
};

// `MonotonicHypotheses` of arrays.
class Stream {
public:
    Stream(size_t symbols, size_t beam, std::optional<double> end_threshold)
        : hypotheses_(symbols, at_least_one(beam), end_threshold) {}

    size_t offer() {
        hypotheses_.offer();
        return hypotheses_.offered();
    }

    nb::tuple attend(Rows<bool, 1> attends, Rows<double, 2> log_probs, Rows<double, 2> gains, int32_t frame) {
        if (attends.shape(0) != hypotheses_.offered()) throw std::invalid_argument("expected attends [offered]");
        const FrameChoice choice = hypotheses_.attend(attends.data(), checked(log_probs, gains), frame);
        return nb::make_tuple(array_of(choice.waits), array_of(choice.parents), array_of(choice.labels));
    }

    void end(Rows<double, 2> log_probs, Rows<double, 2> gains, int32_t frame) {
        hypotheses_.end(checked(log_probs, gains), frame);
    }

    void rest() { hypotheses_.rest(); }
    void finish() { hypotheses_.finish(); }

    void rescore(const std::vector<double>& added) {
        if (added.size() != hypotheses_.ended().size()) throw std::invalid_argument("expected a number for each");
        hypotheses_.rescore(added);
    }

    nb::list waiting() const { return listed(hypotheses_.waiting()); }
    nb::list ended() const { return listed(hypotheses_.ended()); }

private:
    SeekingRows checked(const Rows<double, 2>& log_probs, const Rows<double, 2>& gains) const {
        for (const auto* rows : {&log_probs, &gains})
            if (rows->shape(0) != hypotheses_.offered() || rows->shape(1) != hypotheses_.symbols())
                throw std::invalid_argument("expected log_probs and gains [offered, symbols]");
        return {log_probs.data(), gains.data()};
    }

    template <class One>
    nb::list listed(const std::vector<One>& every) const {
        nb::list found;
        for (const One& one : every) found.append(spelt(hypotheses_.spelt(one.labels), one.score, one.log_prob));
        return found;
    }

    MonotonicHypotheses hypotheses_;
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
    nb::class_<Batch>(m, "LabelHypotheses")
        .def(nb::init<const std::vector<size_t>&, size_t, const LabelScoring&>(), "frames"_a, "beam"_a, "scoring"_a)
        .def_prop_ro("before", &Batch::before)
        .def_prop_ro("parents", &Batch::parents)
        .def("advance", &Batch::advance, "log_probs"_a, "attention"_a, "beside"_a.none())
        .def("finish", &Batch::finish);
    nb::class_<Stream>(m, "MonotonicHypotheses")
        .def(nb::init<size_t, size_t, std::optional<double>>(), "symbols"_a, "beam"_a, "end_threshold"_a.none())
        .def("offer", &Stream::offer)
        .def("attend", &Stream::attend, "attends"_a, "log_probs"_a, "gains"_a, "frame"_a)
        .def("end", &Stream::end, "log_probs"_a, "gains"_a, "frame"_a)
        .def("rest", &Stream::rest)
        .def("finish", &Stream::finish)
        .def("rescore", &Stream::rescore, "added"_a)
        .def("waiting", &Stream::waiting)
        .def("ended", &Stream::ended);
}

}  // namespace sonorant::decoding::bindings
