// CTC prefix beam search of one utterance, frame by frame.
//
// The recursion is that of Hannun et al. 2014, "First-Pass Large Vocabulary Continuous Speech Recognition using
// Bi-Directional Recurrent DNNs", algorithm 1: the probability of a prefix is the sum over all its alignments, kept apart by
// whether they end in blank or in the prefix's last unit. Beside the sums, each prefix keeps its single most probable
// alignment, which gives the times of its units. The gain of a prefix by a language model or by phrases (fusion.hpp)
// is a factor of each extension, so of all alignments of a prefix.
//
// A neural language model is asked for what follows a prefix (next_labels.hpp) no earlier than an extension of it may come
// into the beam: its probabilities are at most 1, so prefixes far behind the beam's last one are never asked about, nor any
// in a frame of blank alone.
//
// Probabilities are linear and scaled to sum to one after every frame, which avoids a log-add for each transition; the
// scores of single alignments are logarithms, because their share of the sum shrinks with the length of the audio.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "beam_floor.hpp"
#include "candidates.hpp"
#include "fused_prefixes.hpp"
#include "fusion.hpp"
#include "next_labels.hpp"
#include "prefixes.hpp"
#include "row_probabilities.hpp"
#include "spelling.hpp"

namespace sonorant::decoding {

// beam: prefixes kept after each frame. candidates: units a frame that may extend a prefix.
// unit_floor: units less probable do not extend. blank_only: above this probability of blank none is extended.
struct Limits {
    size_t beam, candidates;
    double unit_floor, blank_only;
};

class PrefixSearch {
public:
    // fusion: nullptr: acoustic probabilities alone.
    PrefixSearch(const Spelling& spelling, Limits limits, const Fusion* fusion)
        : spelling_(&spelling), limits_(limits), prefixes_(spelling, fusion), probabilities_(spelling.size() + 1),
          candidate_(spelling.size() + 1, NONE), floor_(limits.beam) {
        entries_.push_back({0, -1, 1, 0, {0, {NONE, {-1, -1}}}, IMPOSSIBLE});
    }

    size_t frames() const { return frames_; }
    bool finished() const { return finished_; }
    const std::vector<Entry>& entries() const { return entries_; }
    const PrefixTree& tree() const { return prefixes_.tree(); }
    const Emissions& emissions() const { return emissions_; }

    // row: log-probabilities of a frame, [units + 1]. Throws std::domain_error for invalid ones. Returns false if the
    // frame waits for what `due` names; after `supply` the same frame goes on.
    template <class Real>
    bool advance(const Real* row) {
        if (frame_waits_) {
            for (const uint32_t i : unknown_) extend(i);
            return end_frame(true);
        }
        const size_t units = spelling_->size();
        probabilities_.next_frame();
        const double blank = std::exp(static_cast<double>(row[units]));
        const bool contested = !(blank > limits_.blank_only);
        const bool sound = contested && !std::isnan(row[units])
                               ? find_candidates(row, units, limits_.candidates, limits_.unit_floor, candidates_)
                               : !has_nan(row, units + 1);
        if (!sound) fail("has NaN values; expected log-probabilities");
        stay(row, blank, static_cast<double>(row[units]));
        if (contested && !contest()) return false;
        return end_frame(contested);
    }

    // The utterance is over: open words and phrases end, and so does the sentence. Returns false if that waits for what
    // `due` names; it is called again after `supply`.
    bool finish() {
        if (finished_) return true;
        std::vector<uint32_t> waiting;
        for (const Entry& entry : entries_)
            if (prefixes_.waits(entry.node)) waiting.push_back(entry.node);
        if (prefixes_.ask(waiting)) return false;
        finished_ = true;
        if (prefixes_.fused()) end_sentences();
        return true;
    }

    // Prefixes that wait for the neural language model (next_labels.hpp); slots that are free again; and its rows.
    DuePrefixes due() { return prefixes_.due(); }
    std::vector<int32_t> released() { return prefixes_.released(); }
    void supply(const float* rows, size_t count) { prefixes_.supply(rows, count); }

private:
    struct Extension {
        double mass, factor;
        uint32_t entry, candidate;
    };
    static constexpr size_t KEPT_AT_LEAST = 1024;
    static constexpr Alignment IMPOSSIBLE{-std::numeric_limits<double>::infinity(), {NONE, {-1, -1}}};

    [[noreturn]] void fail(const std::string& what) const {
        throw std::domain_error("frame " + std::to_string(frames_) + " " + what);
    }

    // Each prefix as it is, one frame later.
    template <class Real>
    void stay(const Real* row, double blank, double log_blank) {
        stayed_ = entries_;
        for (Entry& entry : stayed_) {
            const double total = entry.total();
            if (entry.best_unit.score > entry.best_blank.score) entry.best_blank = entry.best_unit;
            entry.best_blank.score += log_blank;
            entry.blank = total * blank;
            if (entry.last < 0) continue;
            entry.unit *= probabilities_.of(row, entry.last);
            entry.best_unit.score += static_cast<double>(row[entry.last]);
            entry.best_unit.latest.span.last = static_cast<int32_t>(frames_);
        }
    }

    // Collects prefixes with one more unit; returns false if it waits for the language model to go on.
    bool contest() {
        merge(static_cast<int32_t>(frames_));
        // What stays only gained, so an extension that is no better than the last of a full beam cannot get in.
        floor_.clear();
        for (const Entry& entry : stayed_) floor_.add(entry.total());
        extensions_.clear();
        unknown_.clear();
        floor_.raise();
        for (uint32_t i = 0; i < entries_.size(); ++i)
            if (prefixes_.waits(entries_[i].node)) unknown_.push_back(i);
            else extend(i);
        if (unknown_.empty()) return true;
        floor_.raise();
        const auto may_not = [&](uint32_t i) { return !promising(i, [](uint32_t) { return true; }); };
        unknown_.erase(std::remove_if(unknown_.begin(), unknown_.end(), may_not), unknown_.end());
        std::vector<uint32_t> waiting;
        for (const uint32_t i : unknown_) waiting.push_back(entries_[i].node);
        frame_waits_ = prefixes_.ask(waiting);
        return !frame_waits_;
    }

    // Leaves the most probable prefixes of both kinds; of equals the older.
    bool end_frame(bool contested) {
        frame_waits_ = false;
        if (contested) select(static_cast<int32_t>(frames_));
        entries_.swap(stayed_);
        if (contested) prefixes_.release(entries_);
        rescale();
        ++frames_;
        if (tree().size() > kept_limit_ || emissions_.size() > kept_limit_) forget();
        return true;
    }

    // Collects the extensions of an entry that have more than the floor.
    void extend(uint32_t i) {
        promising(i, [&](uint32_t j) {
            const double acoustic = acoustic_mass(i, j);
            if (acoustic <= 0) return false;
            const double factor = prefixes_.factor(entries_[i].node, candidates_[j].unit);
            const double mass = acoustic * factor;
            if (mass <= floor_.value()) return false;
            extensions_.push_back({mass, factor, i, j});
            floor_.add(mass);
            return false;
        });
        if (floor_.lags()) floor_.raise();
    }

    // Calls `visit` with the candidates that may extend an entry by more than the floor to a prefix that is not of the
    // beam, until it returns true, and returns whether it did.
    template <class Visit>
    bool promising(uint32_t i, Visit visit) {
        const Entry& entry = entries_[i];
        auto [starting, continuing] = prefixes_.largest_factors(entry.node);
        starting *= entry.total();  // the most that an extension has, by the unit's kind
        continuing *= entry.total();
        for (uint32_t j = 0; j < candidates_.size(); ++j) {
            const auto& [unit, log_probability, probability] = candidates_[j];
            if (std::max(starting, continuing) * probability <= floor_.value()) break;  // none after it is more probable
            if (((*spelling_)[unit].starts_word ? starting : continuing) * probability <= floor_.value()) continue;
            if (!merged_[i * candidates_.size() + j] && visit(j)) return true;
        }
        return false;
    }

    // Extensions that are prefixes of the beam already add to these.
    void merge(int32_t frame) {
        merged_.assign(entries_.size() * candidates_.size(), false);
        for (uint32_t j = 0; j < candidates_.size(); ++j) candidate_[candidates_[j].unit] = j;
        for (uint32_t i = 0; i < entries_.size(); ++i) prefixes_.entry(entries_[i].node) = i;
        for (Entry& child : stayed_) {
            if (child.last < 0 || candidate_[child.last] == NONE) continue;
            const uint32_t parent = tree()[child.node].parent, i = tree()[parent].entry, j = candidate_[child.last];
            if (i >= entries_.size() || entries_[i].node != parent) continue;
            merged_[i * candidates_.size() + j] = true;
            child.unit += acoustic_mass(i, j) * prefixes_.last_factor(child.node);
            const double score = extended_from(entries_[i], child.last).score + candidates_[j].log_probability;
            if (score > child.best_unit.score) child.best_unit = extended(i, j, frame);
        }
        for (const Candidate& candidate : candidates_) candidate_[candidate.unit] = NONE;
    }

    double acoustic_mass(uint32_t i, uint32_t j) const {
        const Entry& entry = entries_[i];
        const Candidate& candidate = candidates_[j];
        // Without a blank between them, two equal units are one.
        return (candidate.unit == entry.last ? entry.blank : entry.total()) * candidate.probability;
    }

    static const Alignment& extended_from(const Entry& entry, int32_t unit) {
        return unit == entry.last ? entry.best_blank : entry.best();
    }

    Alignment extended(uint32_t i, uint32_t j, int32_t frame) {
        const Candidate& candidate = candidates_[j];
        return emissions_.extended(extended_from(entries_[i], candidate.unit), candidate.log_probability, frame);
    }

    void select(int32_t frame) {
        const double least = floor_.raise();  // all above it stay in the beam, and some of those that equal it
        size_t as_good = floor_.at_floor();
        const auto wins = [&](double mass) { return mass > least || (mass == least && as_good > 0 && as_good--); };
        size_t kept = 0;
        for (size_t i = 0; i < stayed_.size(); ++i)
            if (wins(stayed_[i].total())) stayed_[kept++] = stayed_[i];
        stayed_.resize(kept);
        for (const Extension& extension : extensions_)
            if (wins(extension.mass)) stayed_.push_back(longer(extension, frame));
    }

    Entry longer(const Extension& extension, int32_t frame) {
        const int32_t unit = candidates_[extension.candidate].unit;
        const uint32_t node = prefixes_.extended(entries_[extension.entry].node, unit, extension.factor);
        return {node, unit, 0, extension.mass, IMPOSSIBLE, extended(extension.entry, extension.candidate, frame)};
    }

    void end_sentences() {
        std::vector<double> scores;
        for (const Entry& entry : entries_)
            scores.push_back(std::log(entry.total()) + prefixes_.finish(entry.node));
        const double best = *std::max_element(scores.begin(), scores.end());
        for (size_t i = 0; i < entries_.size(); ++i) {
            const double total = entries_[i].total();
            const double factor = total > 0 ? std::exp(scores[i] - best) / total : 0;
            entries_[i].blank *= factor;
            entries_[i].unit *= factor;
        }
        rescale();
    }

    void rescale() {
        double total = 0;
        for (const Entry& entry : entries_) total += entry.total();
        if (!(total > 0 && total < std::numeric_limits<double>::infinity()))
            fail("leaves a total probability of " + std::to_string(total) + " to the beam; expected (0, 1]");
        for (Entry& entry : entries_) {
            entry.blank /= total;
            entry.unit /= total;
        }
    }

    // Memory follows the transcripts of the beam, not the audio.
    void forget() {
        std::vector<uint32_t> used;
        for (const Entry& entry : entries_) used.push_back(entry.node);
        const std::vector<uint32_t> moved = prefixes_.keep(used);
        std::vector<Alignment*> alignments;
        for (Entry& entry : entries_) {
            entry.node = moved[entry.node];
            alignments.push_back(&entry.best_blank);
            alignments.push_back(&entry.best_unit);
        }
        emissions_.keep(alignments);
        kept_limit_ = std::max(KEPT_AT_LEAST, 2 * std::max(tree().size(), emissions_.size()));
    }

    const Spelling* spelling_;
    Limits limits_;
    size_t frames_ = 0, kept_limit_ = KEPT_AT_LEAST;
    bool finished_ = false, frame_waits_ = false;
    std::vector<Entry> entries_, stayed_;
    FusedPrefixes prefixes_;
    Emissions emissions_;

    // Of one frame.
    RowProbabilities probabilities_;
    std::vector<Candidate> candidates_;
    std::vector<uint32_t> candidate_;  // position among the candidates by unit
    std::vector<char> merged_;         // [entries, candidates]
    std::vector<Extension> extensions_;
    std::vector<uint32_t> unknown_;  // entries without log-probabilities of what follows
    BeamFloor floor_;                // an extension needs more to come into the beam
};

}  // namespace sonorant::decoding
