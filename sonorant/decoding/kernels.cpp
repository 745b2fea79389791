// The searches' inner loops for Python; `kernels.pyi` documents them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <nb_combined.cpp>  // nanobind itself

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../ctc/forced_alignment.hpp"
#include "ctc_prefixes.hpp"
#include "label_bindings.hpp"
#include "label_fusion.hpp"
#include "nbest.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sonorant::decoding;
using sonorant::lm::NgramModel;

namespace {

template <class Real>
using Frames = nb::ndarray<const Real, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

Spelling make_spelling(const std::vector<std::pair<std::string, bool>>& units) {
    Spelling spelling;
    for (const auto& [text, starts_word] : units) spelling.push_back({text, starts_word});
    return spelling;
}

// Spelling and language model, shared by the scorers of one model, and phrases of this one.
class Scorer {
public:
    Scorer(const std::vector<std::pair<std::string, bool>>& units, const NgramModel* model, double alpha, double beta,
           double unknown, const std::vector<uint32_t>& words)
        : spelling_(std::make_shared<const Spelling>(make_spelling(units))) {
        if (!model) return;
        for (const uint32_t word : words)
            if (word >= model->words()) throw nb::value_error("a unit's word is none of the model's");
        if (!words.empty() && words.size() != units.size()) throw nb::value_error("expected a word for each unit");
        ngram_ = std::make_shared<const Ngram>(*model, alpha, beta, unknown, words);
        fuse();
    }
    Scorer(const std::vector<std::pair<std::string, bool>>& units, double alpha, double beta)
        : spelling_(std::make_shared<const Spelling>(make_spelling(units))), neural_(Neural{alpha, beta}) {
        fuse();
    }
    Scorer(const Scorer& base, const std::vector<std::pair<std::string, double>>& phrases)
        : spelling_(base.spelling_), ngram_(base.ngram_), neural_(base.neural_) {
        if (!phrases.empty()) phrases_.emplace(*spelling_, phrases);
        if (ngram_ || neural_ || phrases_) fuse();
    }
    Scorer(const Scorer&) = delete;

    const Spelling& spelling() const { return *spelling_; }
    const Fusion* fusion() const { return fusion_ ? &*fusion_ : nullptr; }

private:
    void fuse() {
        fusion_.emplace(*spelling_, ngram_.get(), neural_ ? &*neural_ : nullptr, phrases_ ? &*phrases_ : nullptr);
    }

    std::shared_ptr<const Spelling> spelling_;
    std::shared_ptr<const Ngram> ngram_;
    std::optional<Neural> neural_;
    std::optional<Phrases> phrases_;  // fusion_ points to them: a scorer stays where it was made
    std::optional<Fusion> fusion_;
};

class CtcSearch {
public:
    CtcSearch(const Scorer& scorer, size_t beam, size_t candidates, double unit_floor, double blank_only)
        : spelling_(scorer.spelling()), search_(spelling_, checked({beam, candidates, unit_floor, blank_only}), scorer.fusion()) {}
    CtcSearch(const CtcSearch&) = delete;

    // Returns the number of the first row, from `row` on, that waits for `supply`; the number of rows: none does.
    template <class Real>
    size_t push(Frames<Real> rows, size_t row) {
        if (search_.finished()) throw nb::value_error("frames after finish(): a search is for one utterance; make a new one");
        if (rows.shape(1) != spelling_.size() + 1) throw nb::value_error("expected [frames, units + 1], blank last");
        const nb::gil_scoped_release released;
        while (row < rows.shape(0) && search_.advance(rows.data() + row * rows.shape(1))) ++row;
        return row;
    }

    nb::tuple due() {
        std::vector<int32_t> released = search_.released();
        DuePrefixes due = search_.due();
        return nb::make_tuple(std::move(released), std::move(due.slots), std::move(due.parents), std::move(due.labels));
    }

    void supply(Frames<float> rows) {
        if (rows.shape(1) != spelling_.size() + 1) throw nb::value_error("expected [due, units + 1], the end last");
        search_.supply(rows.data(), rows.shape(0));
    }

    size_t frames() const { return search_.frames(); }
    size_t prefixes() const { return search_.tree().size(); }
    bool finish() { return search_.finish(); }

    // Units of the most probable text.
    std::vector<int32_t> units() const {
        return search_.tree().units(search_.entries()[texts_of(search_).front().path].node);
    }

    uint64_t text_hash() const { return texts_of(search_).front().hash; }

    nb::list best(size_t n, double frame_s) const {
        nb::list found;
        for (const Hypothesis& hypothesis : best_hypotheses(search_, spelling_, n, frame_s)) {
            nb::list words;
            for (const Word& word : hypothesis.words)
                words.append(nb::make_tuple(word.begin, word.end, word.start_s, word.end_s, word.confidence));
            found.append(nb::make_tuple(units_of(hypothesis), words, hypothesis.probability));
        }
        return found;
    }

    nb::list texts(size_t n) const {
        nb::list found;
        for (const Hypothesis& hypothesis : best_texts(search_, n))
            found.append(nb::make_tuple(units_of(hypothesis), hypothesis.probability));
        return found;
    }

private:
    static nb::tuple units_of(const Hypothesis& hypothesis) {
        nb::list units;
        for (const int32_t unit : hypothesis.units) units.append(unit);
        return nb::tuple(units);
    }

    static Limits checked(Limits limits) {
        if (!limits.beam || !limits.candidates) throw nb::value_error("beam and candidates must be at least 1");
        return limits;
    }

    const Spelling& spelling_;
    PrefixSearch search_;
};

using Symbols = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Gains = nb::ndarray<nb::numpy, double, nb::ndim<3>>;

// Calls `next` on labels and parents [utterances, hypotheses]; returns the gains that it writes, and its state.
template <class State, class Next>
std::pair<Gains, State> gains_of(Symbols before, Symbols parents, const State& state, size_t symbols, Next next) {
    const size_t batch = before.shape(0), hypotheses = before.shape(1);
    if (parents.shape(0) != batch || parents.shape(1) != hypotheses || batch * state.hypotheses != state.open.size())
        throw nb::value_error("expected labels and parents [utterances, hypotheses] of the state's utterances");
    auto* gains = new double[batch * hypotheses * symbols];
    const nb::capsule owner(gains, [](void* data) noexcept { delete[] static_cast<double*>(data); });
    State after = next(state, before.data(), parents.data(), hypotheses, gains);
    return {Gains(gains, {batch, hypotheses, symbols}, owner), std::move(after)};
}

class LabelScorer {
public:
    explicit LabelScorer(const Scorer& scorer) : labels_(scorer.spelling(), checked(scorer)) {}

    LabelState begin(size_t batch) const { return labels_.begin(batch); }
    double most_gain() const { return labels_.fusion().most_gain(); }
    double most_ahead() const { return labels_.fusion().most_ahead(); }

    std::pair<Gains, LabelState> next(Symbols before, Symbols parents, const LabelState& state) const {
        return gains_of(before, parents, state, labels_.symbols(), [&](const auto&... of) { return labels_.next(of...); });
    }

    std::pair<nb::ndarray<nb::numpy, double, nb::ndim<2>>, std::vector<LabelState>> extend(
        const std::vector<int32_t>& before, const std::vector<LabelState>& states) const {
        const auto is_one = [](const LabelState& state) { return state.open.size() == 1; };
        if (before.size() != states.size() || !std::all_of(states.begin(), states.end(), is_one))
            throw nb::value_error("expected a label and a state for each sequence");
        auto gains = std::make_unique<double[]>(before.size() * labels_.symbols());
        std::vector<LabelState> after;
        const int32_t only = 0;
        for (size_t i = 0; i < before.size(); ++i)
            after.push_back(labels_.next(states[i], &before[i], &only, 1, gains.get() + i * labels_.symbols()));
        const nb::capsule owner(gains.get(), [](void* data) noexcept { delete[] static_cast<double*>(data); });
        return {{gains.release(), {before.size(), labels_.symbols()}, owner}, std::move(after)};
    }

private:
    static const Fusion& checked(const Scorer& scorer) {
        if (!scorer.fusion()) throw nb::value_error("a scorer without language model and phrases has no gains");
        return *scorer.fusion();
    }

    LabelFusion labels_;
};

CtcPrefixState begin_prefixes(const std::vector<Frames<float>>& log_probs) {
    std::vector<CtcFrames> utterances;
    for (const auto& rows : log_probs) {
        if (!rows.shape(1) || rows.shape(1) != log_probs.front().shape(1))
            throw nb::value_error("expected [frames, units + 1] of each utterance, blank last");
        CtcFrames& frames = utterances.emplace_back(rows.shape(1));
        for (size_t t = 0; t < rows.shape(0); ++t) frames.push(rows.data() + t * rows.shape(1));
    }
    return CtcPrefixes::begin(std::move(utterances));
}

std::pair<Gains, CtcPrefixState> next_prefixes(Symbols before, Symbols parents, const CtcPrefixState& state) {
    const size_t symbols = state.utterances->empty() ? 0 : state.utterances->front().symbols;
    return gains_of(before, parents, state, symbols, [](const auto&... of) { return CtcPrefixes::next(of...); });
}

nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> force_align(Frames<double> log_probs, const std::vector<int64_t>& labels,
                                                         int64_t blank) {
    const size_t frames = log_probs.shape(0), symbols = log_probs.shape(1);
    const auto is_symbol = [&](int64_t label) { return label >= 0 && static_cast<size_t>(label) < symbols; };
    if (!is_symbol(blank) || !std::all_of(labels.begin(), labels.end(), is_symbol))
        throw nb::value_error("expected labels and blank among the symbols");
    auto path = std::make_unique<int64_t[]>(frames);
    bool found;
    {
        const nb::gil_scoped_release released;
        found = frames > 0 && sonorant::ctc::ForcedAlignment(labels, blank)(log_probs.data(), frames, symbols, path.get());
    }
    if (!found) {
        const std::string counts = std::to_string(frames) + " frames for " + std::to_string(labels.size()) + " labels";
        throw nb::value_error((counts + ": no path spells them").c_str());
    }
    const nb::capsule owner(path.get(), [](void* data) noexcept { delete[] static_cast<int64_t*>(data); });
    return {path.release(), {frames}, owner};
}

}  // namespace

NB_MODULE(kernels, m) {
    nb::set_leak_warnings(false);  // a recognizer freezes its objects, and would be warned of each at its end
    nb::class_<Scorer>(m, "Scorer")
        .def(nb::init<const std::vector<std::pair<std::string, bool>>&, const NgramModel*, double, double, double,
                      const std::vector<uint32_t>&>(),
             "units"_a, "model"_a.none(), "alpha"_a, "beta"_a, "unknown"_a, "words"_a, nb::keep_alive<1, 3>())
        .def(nb::init<const std::vector<std::pair<std::string, bool>>&, double, double>(), "units"_a, "alpha"_a, "beta"_a)
        .def(nb::init<const Scorer&, const std::vector<std::pair<std::string, double>>&>(), "base"_a, "phrases"_a,
             nb::keep_alive<1, 2>());
    nb::class_<LabelState>(m, "LabelState");
    nb::class_<LabelScorer>(m, "LabelScorer")
        .def(nb::init<const Scorer&>(), "scorer"_a, nb::keep_alive<1, 2>())
        .def("begin", &LabelScorer::begin, "batch"_a)
        .def("next", &LabelScorer::next, "before"_a, "parents"_a, "state"_a)
        .def("first_state", [](const LabelScorer& scorer) { return scorer.begin(1); })
        .def("extend", &LabelScorer::extend, "before"_a, "states"_a)
        .def_prop_ro("most_gain", &LabelScorer::most_gain)
        .def_prop_ro("most_ahead", &LabelScorer::most_ahead);
    nb::class_<CtcPrefixState>(m, "CtcPrefixState");
    m.def("begin_prefixes", &begin_prefixes, "log_probs"_a);
    m.def("next_prefixes", &next_prefixes, "before"_a, "parents"_a, "state"_a);
    m.def("force_align", &force_align, "log_probs"_a, "labels"_a, "blank"_a);
    bindings::bind_labels(m);
    nb::class_<CtcSearch>(m, "CtcSearch")
        .def(nb::init<const Scorer&, size_t, size_t, double, double>(), "scorer"_a, "beam"_a, "candidates"_a,
             "unit_floor"_a, "blank_only"_a, nb::keep_alive<1, 2>())
        .def("push", &CtcSearch::push<float>, "log_probs"_a.noconvert(), "first"_a = 0)
        .def("push", &CtcSearch::push<double>, "log_probs"_a.noconvert(), "first"_a = 0)
        .def("due", &CtcSearch::due)
        .def("supply", &CtcSearch::supply, "log_probs"_a)
        .def_prop_ro("frames", &CtcSearch::frames)
        .def_prop_ro("prefixes", &CtcSearch::prefixes)
        .def("finish", &CtcSearch::finish)
        .def("units", &CtcSearch::units)
        .def_prop_ro("text_hash", &CtcSearch::text_hash)
        .def("best", &CtcSearch::best, "n"_a, "frame_s"_a)
        .def("texts", &CtcSearch::texts, "n"_a);
}
