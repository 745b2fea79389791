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
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "candidates.hpp"
#include "fusion.hpp"
#include "next_labels.hpp"
#include "prefixes.hpp"
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
        : spelling_(&spelling), limits_(limits), fusion_(fusion), next_(spelling.size() + 1),
          probability_(spelling.size() + 1), known_(spelling.size() + 1, 0), candidate_(spelling.size() + 1, NONE) {
        entries_.push_back({0, -1, 1, 0, {0, {NONE, {-1, -1}}}, IMPOSSIBLE});
        if (fusion_) contexts_.push_back(fusion_->start());
    }

    size_t frames() const { return frames_; }
    bool finished() const { return finished_; }
    const std::vector<Entry>& entries() const { return entries_; }
    const PrefixTree& prefixes() const { return prefixes_; }
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
        ++stamp_;
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
        if (fusion_ && fusion_->is_neural()) {
            next_.clear();
            for (const Entry& entry : entries_)
                if (!contexts_[entry.node].next) next_.want(entry.node);
            if (next_.wanted()) return false;
        }
        finished_ = true;
        if (fusion_) end_sentences();
        return true;
    }

    // Prefixes that wait for the neural language model (next_labels.hpp); slots that are free again; and its rows.
    DuePrefixes due() { return next_.due(prefixes_, contexts_); }
    std::vector<int32_t> released() { return next_.released(); }
    void supply(const float* rows, size_t count) { next_.supply(rows, count, contexts_); }

private:
    struct Extension {
        double mass;
        uint32_t entry, candidate;
    };
    static constexpr size_t KEPT_AT_LEAST = 1024;
    static constexpr Alignment IMPOSSIBLE{-std::numeric_limits<double>::infinity(), {NONE, {-1, -1}}};

    [[noreturn]] void fail(const std::string& what) const {
        throw std::domain_error("frame " + std::to_string(frames_) + " " + what);
    }

    template <class Real>
    double probability(const Real* row, int32_t unit) {
        if (known_[unit] != stamp_) {
            known_[unit] = stamp_;
            probability_[unit] = std::exp(static_cast<double>(row[unit]));
        }
        return probability_[unit];
    }

    // Each prefix as it is, one frame later.
    template <class Real>
    void stay(const Real* row, double blank, double log_blank) {
        stayed_.clear();
        for (const Entry& entry : entries_) {
            Entry after = entry;
            after.best_blank = entry.best();
            after.best_blank.score += log_blank;
            after.blank = entry.total() * blank;
            if (entry.last >= 0) {
                after.unit = entry.unit * probability(row, entry.last);
                after.best_unit.score += static_cast<double>(row[entry.last]);
                after.best_unit.latest.span.last = static_cast<int32_t>(frames_);
            }
            stayed_.push_back(after);
        }
    }

    // Collects prefixes with one more unit; returns false if it waits for the language model to go on.
    bool contest() {
        merge(static_cast<int32_t>(frames_));
        // What stays only gained, so an extension that is no better than the last of a full beam cannot get in.
        totals_.clear();
        for (const Entry& entry : stayed_) totals_.push_back(entry.total());
        extensions_.clear();
        unknown_.clear();
        floor_ = last_in_beam();
        const bool neural = fusion_ && fusion_->is_neural();
        for (uint32_t i = 0; i < entries_.size(); ++i)
            if (neural && !contexts_[entries_[i].node].next) unknown_.push_back(i);
            else extend(i);
        if (unknown_.empty()) return true;
        floor_ = last_in_beam();
        const auto may_not = [&](uint32_t i) { return !promising(i, [](uint32_t) { return true; }); };
        unknown_.erase(std::remove_if(unknown_.begin(), unknown_.end(), may_not), unknown_.end());
        next_.clear();
        for (const uint32_t i : unknown_) next_.want(entries_[i].node);
        frame_waits_ = next_.wanted();
        return !frame_waits_;
    }

    // Leaves the most probable prefixes of both kinds; of equals the older.
    bool end_frame(bool contested) {
        frame_waits_ = false;
        if (contested) select(static_cast<int32_t>(frames_));
        entries_.swap(stayed_);
        if (contested && next_.slots()) next_.release(entries_, prefixes_, contexts_);
        rescale();
        ++frames_;
        if (prefixes_.size() > kept_limit_ || emissions_.size() > kept_limit_) forget();
        return true;
    }

    // Leaves the highest totals, as many as the beam has, and returns the least of them; 0 if they are fewer.
    double last_in_beam() {
        if (totals_.size() < limits_.beam) return 0;
        const auto last = totals_.begin() + static_cast<ptrdiff_t>(limits_.beam) - 1;
        std::nth_element(totals_.begin(), last, totals_.end(), std::greater<>());
        totals_.erase(last + 1, totals_.end());
        return totals_.back();
    }

    // Collects the extensions of an entry that have more than the floor.
    void extend(uint32_t i) {
        promising(i, [&](uint32_t j) {
            const double mass = extended_mass(i, j);
            if (mass <= floor_) return false;
            extensions_.push_back({mass, i, j});
            totals_.push_back(mass);
            return false;
        });
        if (totals_.size() >= 2 * limits_.beam) floor_ = last_in_beam();
    }

    // Calls `visit` with the candidates that may extend an entry by more than the floor to a prefix that is not of the
    // beam, until it returns true, and returns whether it did.
    template <class Visit>
    bool promising(uint32_t i, Visit visit) {
        const Entry& entry = entries_[i];
        double starting = entry.total(), continuing = starting;  // the most that an extension has, by the unit's kind
        if (fusion_) {
            const auto largest = fusion_->largest_factors(contexts_[entry.node], Speller{*this, entry.node});
            starting *= largest.first;
            continuing *= largest.second;
        }
        for (uint32_t j = 0; j < candidates_.size(); ++j) {
            const auto& [unit, log_probability, probability] = candidates_[j];
            if (std::max(starting, continuing) * probability <= floor_) break;  // none after it is more probable
            if (((*spelling_)[unit].starts_word ? starting : continuing) * probability <= floor_) continue;
            if (!merged_[i * candidates_.size() + j] && visit(j)) return true;
        }
        return false;
    }

    // Extensions that are prefixes of the beam already add to these.
    void merge(int32_t frame) {
        merged_.assign(entries_.size() * candidates_.size(), false);
        for (uint32_t j = 0; j < candidates_.size(); ++j) candidate_[candidates_[j].unit] = j;
        for (uint32_t i = 0; i < entries_.size(); ++i) prefixes_[entries_[i].node].entry = i;
        for (Entry& child : stayed_) {
            if (child.last < 0 || candidate_[child.last] == NONE) continue;
            const uint32_t parent = prefixes_[child.node].parent, i = prefixes_[parent].entry, j = candidate_[child.last];
            if (i >= entries_.size() || entries_[i].node != parent) continue;
            merged_[i * candidates_.size() + j] = true;
            child.unit += acoustic_mass(i, j) * (fusion_ ? contexts_[child.node].factor : 1);
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

    double extended_mass(uint32_t i, uint32_t j) {
        const double mass = acoustic_mass(i, j);
        return !fusion_ || mass == 0 ? mass : mass * factor(entries_[i].node, candidates_[j].unit);
    }

    double factor(uint32_t node, int32_t unit) {
        return fusion_->factor(contexts_[node], unit, Speller{*this, node});
    }

    static const Alignment& extended_from(const Entry& entry, int32_t unit) {
        return unit == entry.last ? entry.best_blank : entry.best();
    }

    Alignment extended(uint32_t i, uint32_t j, int32_t frame) {
        const Candidate& candidate = candidates_[j];
        return emissions_.extended(extended_from(entries_[i], candidate.unit), candidate.log_probability, frame);
    }

    void select(int32_t frame) {
        const double least = last_in_beam();  // all above it stay in the beam, and some of those that equal it
        size_t as_good = least > 0 ? static_cast<size_t>(std::count(totals_.begin(), totals_.end(), least)) : 0;
        const auto wins = [&](double mass) { return mass > least || (mass == least && as_good > 0 && as_good--); };
        size_t kept = 0;
        for (size_t i = 0; i < stayed_.size(); ++i)
            if (wins(stayed_[i].total())) stayed_[kept++] = stayed_[i];
        stayed_.resize(kept);
        for (const Extension& extension : extensions_)
            if (wins(extension.mass)) stayed_.push_back(longer(extension, frame));
    }

    Entry longer(const Extension& extension, int32_t frame) {
        const uint32_t parent = entries_[extension.entry].node;
        const int32_t unit = candidates_[extension.candidate].unit;
        uint32_t node = prefixes_.child(parent, unit);
        if (node == NONE) {
            node = prefixes_.add(parent, unit, (*spelling_)[unit]);
            if (fusion_) {
                contexts_.push_back(fusion_->after(contexts_[parent], unit));
                contexts_.back().factor = factor(parent, unit);
            }
        }
        return {node, unit, 0, extension.mass, IMPOSSIBLE, extended(extension.entry, extension.candidate, frame)};
    }

    void end_sentences() {
        std::vector<double> scores;
        for (const Entry& entry : entries_)
            scores.push_back(std::log(entry.total()) +
                             fusion_->finish(contexts_[entry.node], Speller{*this, entry.node}));
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
        if (fusion_) {
            for (uint32_t node = 0; node < moved.size(); ++node)
                if (moved[node] != NONE) contexts_[moved[node]] = contexts_[node];
            contexts_.resize(prefixes_.size());
            next_.renumber(moved);
        }
        std::vector<Alignment*> alignments;
        for (Entry& entry : entries_) {
            entry.node = moved[entry.node];
            alignments.push_back(&entry.best_blank);
            alignments.push_back(&entry.best_unit);
        }
        emissions_.keep(alignments);
        kept_limit_ = std::max(KEPT_AT_LEAST, 2 * std::max(prefixes_.size(), emissions_.size()));
    }

    // Spells the open word of a prefix.
    struct Speller {
        const PrefixSearch& search;
        uint32_t node;

        std::string operator()() const {
            std::vector<const std::string*> parts;
            for (uint32_t at = node; search.prefixes_[at].parent != NONE; at = search.prefixes_[at].parent) {
                const Unit& unit = (*search.spelling_)[search.prefixes_[at].unit];
                parts.push_back(&unit.text);
                if (unit.starts_word) break;
            }
            std::string word;
            for (auto part = parts.rbegin(); part != parts.rend(); ++part) word += **part;
            return word;
        }
    };

    const Spelling* spelling_;
    Limits limits_;
    const Fusion* fusion_;
    size_t frames_ = 0, kept_limit_ = KEPT_AT_LEAST;
    bool finished_ = false, frame_waits_ = false;
    uint64_t stamp_ = 0;

    std::vector<Entry> entries_, stayed_;
    PrefixTree prefixes_;
    std::vector<Context> contexts_;  // of the prefixes, if anything is fused
    Emissions emissions_;
    NextLabels next_;                 // by a neural language model

    // Of one frame.
    std::vector<double> probability_;  // by unit, where known_ has the frame's stamp
    std::vector<uint64_t> known_;
    std::vector<Candidate> candidates_;
    std::vector<uint32_t> candidate_;  // position among the candidates by unit
    std::vector<char> merged_;         // [entries, candidates]
    std::vector<Extension> extensions_;
    std::vector<uint32_t> unknown_;  // entries without log-probabilities of what follows
    std::vector<double> totals_;
    double floor_ = 0;  // an extension needs more to come into the beam
};

}  // namespace sonorant::decoding
