// The hypotheses of the search by monotonic attention, waiting and ended; `monotonic_search.py` has their score.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "candidates.hpp"
#include "chains.hpp"
#include "ended_labels.hpp"
#include "highest.hpp"

namespace sonorant::decoding {

// One that seeks a frame. log_prob: that of the decoder alone.
struct Seeking {
    double score, log_prob;
    uint32_t labels;
};

// Rows of those that a frame is offered to, [hypotheses, symbols]: the decoder's, and what is added to its.
struct SeekingRows {
    const double *log_probs, *gains;
};

// What a frame makes of them. waits: those that wait for the next one, as rows of those that have waited so far and then
// of those that it was offered to. parents, labels: extensions, which are offered it next, as rows of those that it was
// offered to, and their last labels.
struct FrameChoice {
    std::vector<int64_t> waits, parents;
    std::vector<int32_t> labels;
};

class MonotonicHypotheses {
public:
    // symbols, beam: at least 1.
    MonotonicHypotheses(size_t symbols, size_t beam, std::optional<double> end_threshold)
        : symbols_(symbols), beam_(beam), end_threshold_(end_threshold), waiting_{{0.0, 0.0, NONE}}, ended_(beam) {}

    size_t symbols() const { return symbols_; }
    size_t offered() const { return offered_.size(); }
    size_t labels() const { return labels_.size(); }  // in memory
    const std::vector<Seeking>& waiting() const { return waiting_; }
    const std::vector<Ended>& ended() const { return ended_.best(); }
    std::vector<HeardLabel> spelt(uint32_t labels) const { return labels_.chain(labels); }

    // Offers the next frame to all that wait.
    void offer() {
        offered_ = std::exchange(waiting_, {});
        if (labels_.size() > kept_limit_) forget();
    }

    // Ends and extends those that attend to the frame that they are offered. Throws std::invalid_argument for NaN in a row
    // of theirs, and has changed nothing.
    FrameChoice attend(const bool* attends, const SeekingRows& rows, int32_t frame) {
        for (size_t i = 0; i < offered_.size(); ++i)
            if (attends[i]) refuse_nan(i, rows, frame);
        std::vector<int64_t> row_of;  // of each that waits
        const size_t waited = waiting_.size();
        for (size_t row = 0; row < waited; ++row) row_of.push_back(static_cast<int64_t>(row));
        Highest longer(beam_);
        for (size_t i = 0; i < offered_.size(); ++i) {
            if (attends[i]) {
                end(i, rows);
                for (size_t label = 0; label + 1 < symbols_; ++label) gains_[label] += offered_[i].score;
                longer.offer(gains_.data(), symbols_ - 1, i * (symbols_ - 1));
            } else {
                row_of.push_back(static_cast<int64_t>(waited + i));
                waiting_.push_back(offered_[i]);
            }
        }
        return prune(row_of, std::move(longer).ranked(), rows, frame);
    }

    // Ends all that are offered the frame. Throws std::invalid_argument for NaN, and has changed nothing.
    void end(const SeekingRows& rows, int32_t frame) {
        for (size_t i = 0; i < offered_.size(); ++i) refuse_nan(i, rows, frame);
        for (size_t i = 0; i < offered_.size(); ++i) end(i, rows);
    }

    // Lets those that are still offered the frame wait for the next one.
    void rest() {
        waiting_.insert(waiting_.end(), offered_.begin(), offered_.end());
        offered_.clear();
    }

    // The utterance is over: what waits is none, unless nothing has ended.
    void finish() {
        ended_.finish();
        if (!ended().empty()) waiting_.clear();
    }

    // See `EndedLabels`.
    void rescore(const std::vector<double>& added) { ended_.rescore(added); }

private:
    static constexpr size_t KEPT_AT_LEAST = 1024;

    void refuse_nan(size_t hypothesis, const SeekingRows& rows, int32_t frame) const {
        if (has_nan(rows.log_probs + hypothesis * symbols_, symbols_))
            throw std::invalid_argument("log_probs of a label at encoded frame " + std::to_string(frame) + " have NaN values");
    }

    void end(size_t hypothesis, const SeekingRows& rows) {
        const double *log_probs = rows.log_probs + hypothesis * symbols_, *added = rows.gains + hypothesis * symbols_;
        gains_.resize(symbols_);
        for (size_t y = 0; y < symbols_; ++y) gains_[y] = log_probs[y] + added[y];
        const Seeking& of = offered_[hypothesis];
        const double score = of.score + gains_.back(), log_prob = of.log_prob + log_probs[symbols_ - 1];
        ended_.add(end_margin(log_probs, gains_.data(), symbols_, end_threshold_), {of.labels, score, log_prob});
    }

    // Keeps the best of those that wait and of extensions, `longer`, numbered hypothesis by hypothesis.
    FrameChoice prune(const std::vector<int64_t>& row_of, const std::vector<Ranked>& longer, const SeekingRows& rows,
                      int32_t frame) {
        std::vector<double> scores;
        for (const Seeking& one : waiting_) scores.push_back(one.score);
        for (const Ranked& one : longer) scores.push_back(one.score);
        Highest highest(beam_);
        highest.offer(scores.data(), scores.size(), 0);
        FrameChoice choice;
        std::vector<Seeking> waiting, offered;
        for (const auto& [score, index] : std::move(highest).ranked()) {
            if (index < waiting_.size()) {
                waiting.push_back(waiting_[index]);
                choice.waits.push_back(row_of[index]);
                continue;
            }
            const size_t at = longer[index - waiting_.size()].index, parent = at / (symbols_ - 1);
            const auto label = static_cast<int32_t>(at % (symbols_ - 1));
            const Seeking& of = offered_[parent];
            const double log_prob = of.log_prob + rows.log_probs[parent * symbols_ + label];
            offered.push_back({score, log_prob, labels_.add(of.labels, {label, frame})});
            choice.parents.push_back(static_cast<int64_t>(parent));
            choice.labels.push_back(label);
        }
        waiting_ = std::move(waiting);
        offered_ = std::move(offered);
        return choice;
    }

    void forget() {
        std::vector<uint32_t*> used;
        for (Seeking& one : offered_) used.push_back(&one.labels);
        ended_.add_chains_to(used);
        labels_.keep(used);
        kept_limit_ = std::max(KEPT_AT_LEAST, 2 * labels_.size());
    }

    size_t symbols_, beam_;
    std::optional<double> end_threshold_;
    Chains<HeardLabel> labels_;
    std::vector<Seeking> waiting_, offered_;
    EndedLabels ended_;
    std::vector<double> gains_;  // of each symbol, of the hypothesis that `end` was called for last
    size_t kept_limit_ = KEPT_AT_LEAST;
};

}  // namespace sonorant::decoding
