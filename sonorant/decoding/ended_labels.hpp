// Where a hypothesis of a search by label may end, and the best of those that have.
//
// A score sums logarithms of labels, so that where a model gives the end a small probability everywhere, as label
// smoothing has it do, the empty text comes before a long one that is right. A hypothesis may end only where
//
//     log P(end | x, y) > threshold x max over the other labels y' of log P(y' | x, y)     (Hannun 2019, arXiv 1904.02619).
//
// P is that of the acoustic model, with joint CTC where the search has whole utterances, without language model and bonuses. Where no
// hypothesis of an utterance may end, the one that came nearest to it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "chains.hpp"
#include "highest.hpp"

namespace sonorant::decoding {

// A label and the encoded frame that it attends to.
struct HeardLabel {
    int32_t label, frame;
};

// By how much the left side exceeds the right one, of log-probabilities [symbols], the end last. gains: what the symbols
// add to the score; labels that add -inf are not among the others. threshold: above 0; without one all may end, by an
// infinite margin.
inline double end_margin(const double* log_probs, const double* gains, size_t symbols, std::optional<double> threshold) {
    const size_t end = symbols - 1;
    if (!threshold) return std::numeric_limits<double>::infinity();
    double others = NEVER;
    for (size_t label = 0; label < end; ++label)
        if (gains[label] > NEVER) others = std::max(others, log_probs[label]);
    return log_probs[end] - *threshold * others;
}

// A hypothesis with its end. own: the part of its score that does not change while frames arrive, where the search asks
// for it.
struct Ended {
    uint32_t labels;
    double score, own;
};

class EndedLabels {
public:
    explicit EndedLabels(size_t most) : most_(most) {}

    // Best first, of equals the older; at most `most`.
    const std::vector<Ended>& best() const { return best_; }

    // The score that a further one has to exceed.
    double floor() const { return best_.size() < most_ ? NEVER : best_.back().score; }

    // Takes in one whose end has this margin, unless its probability is 0.
    void add(double margin, const Ended& ended) {
        if (margin > 0 && ended.score > floor()) {
            best_.insert(std::upper_bound(best_.begin(), best_.end(), ended, comes_before), ended);
            if (best_.size() > most_) best_.pop_back();
        } else if (!(margin > 0) && ended.score > NEVER &&
                   std::tie(margin, ended.score) > std::tie(margin_, nearest_.score)) {
            margin_ = margin;
            nearest_ = ended;
        }
    }

    // Where none may end, the one that came nearest to it has.
    void finish() {
        if (best_.empty() && nearest_.score > NEVER) best_.push_back(nearest_);
    }

    // Gives each the score that `score_of` it returns.
    template <class ScoreOf>
    void rescore(const ScoreOf& score_of) {
        for (Ended& one : best_) one.score = score_of(one);
        if (nearest_.own > NEVER) nearest_.score = score_of(nearest_);
        std::stable_sort(best_.begin(), best_.end(), comes_before);
    }

    // Those that `cannot` be are none, unless all are.
    template <class Cannot>
    void remove(const Cannot& cannot) {
        if (!std::all_of(best_.begin(), best_.end(), cannot))
            best_.erase(std::remove_if(best_.begin(), best_.end(), cannot), best_.end());
    }

    void add_chains_to(std::vector<uint32_t*>& used) {
        for (Ended& one : best_) used.push_back(&one.labels);
        used.push_back(&nearest_.labels);
    }

private:
    static bool comes_before(const Ended& one, const Ended& other) { return one.score > other.score; }

    size_t most_;
    std::vector<Ended> best_;
    double margin_ = NEVER;
    Ended nearest_{NONE, NEVER, NEVER};
};

}  // namespace sonorant::decoding
