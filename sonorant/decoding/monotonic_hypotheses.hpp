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

#include "arriving_ctc.hpp"
#include "candidates.hpp"
#include "chains.hpp"
#include "ended_labels.hpp"
#include "highest.hpp"

namespace sonorant::decoding {

// One that seeks a frame. own: its score without CTC, which does not change while it waits.
struct Seeking {
    double score, own;
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
    // symbols, beam: at least 1. ctc_weight: in [0, 1); with 0 nothing is heard.
    MonotonicHypotheses(size_t symbols, size_t beam, std::optional<double> end_threshold, double ctc_weight)
        : symbols_(symbols),
          beam_(beam),
          end_threshold_(end_threshold),
          ctc_weight_(ctc_weight),
          waiting_{{0.0, 0.0, NONE}},
          ended_(beam),
          of_ctc_(symbols),
          scores_(symbols) {
        if (ctc_weight) ctc_.emplace(symbols);
    }

    size_t symbols() const { return symbols_; }
    size_t offered() const { return offered_.size(); }
    size_t labels() const { return labels_.size(); }  // in memory
    size_t frames() const { return ctc_ ? ctc_->frames() : 0; }
    const std::vector<Seeking>& waiting() const { return waiting_; }
    const std::vector<Ended>& ended() const { return ended_.best(); }
    std::vector<HeardLabel> spelt(uint32_t labels) const { return labels_.chain(labels); }

    // Lets CTC hear the next frame, before it is offered. Throws std::invalid_argument for NaN, and has changed nothing.
    void hear(const float* log_probs) {
        if (!ctc_) return;
        ctc_->push(log_probs);
        for (Seeking& one : waiting_) one.score = one.own + weighted_ctc(ctc_->log_psi(one.labels));
        ended_.rescore([this](const Ended& one) { return one.own + weighted_ctc(ctc_->log_spelt(one.labels)); });
    }

    // Offers the next frame to all that wait.
    void offer() {
        offered_ = std::exchange(waiting_, {});
        if (ctc_ || labels_.size() > kept_limit_) forget();  // each prefix of CTC costs something a frame
    }

    // Ends and extends those that attend to the frame that they are offered. Throws std::invalid_argument for NaN in a row
    // of theirs, and has changed nothing.
    FrameChoice attend(const bool* attends, const SeekingRows& rows, int32_t frame) {
        for (size_t i = 0; i < offered_.size(); ++i)
            if (attends[i]) refuse_nan(i, rows, frame);
        std::vector<int64_t> row_of;  // of each that waits
        const size_t waited = waiting_.size();
        for (size_t row = 0; row < waited; ++row) row_of.push_back(static_cast<int64_t>(row));
        std::vector<uint32_t> extended;
        Highest longer(beam_);
        for (size_t i = 0; i < offered_.size(); ++i) {
            if (attends[i]) {
                extended.push_back(offered_[i].labels);
                end(i, rows);
                longer.offer(scores_.data(), symbols_ - 1, i * (symbols_ - 1));
            } else {
                row_of.push_back(static_cast<int64_t>(waited + i));
                waiting_.push_back(offered_[i]);
            }
        }
        FrameChoice choice = prune(row_of, std::move(longer).ranked(), rows, frame);
        if (ctc_)
            for (const uint32_t labels : extended) ctc_->close(labels);
        return choice;
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

    // The utterance is over: what waits is none, unless nothing has ended, nor is what CTC cannot spell, unless all is.
    void finish() {
        ended_.finish();
        if (ctc_) ended_.remove([this](const Ended& one) { return ctc_->log_spelt(one.labels) == NEVER; });
        if (!ended().empty()) waiting_.clear();
    }

private:
    static constexpr size_t KEPT_AT_LEAST = 1024;
    static constexpr double LEAST = -1e9;  // log-probability of what the frames so far cannot spell, but more of them may

    void refuse_nan(size_t hypothesis, const SeekingRows& rows, int32_t frame) const {
        if (has_nan(rows.log_probs + hypothesis * symbols_, symbols_))
            throw std::invalid_argument("log_probs of a label at encoded frame " + std::to_string(frame) + " have NaN values");
    }

    double weighted_ctc(double log_prob) const { return ctc_weight_ * std::max(log_prob, LEAST); }

    // The score without CTC of a hypothesis with one symbol more.
    double own_with(size_t symbol, size_t hypothesis, const SeekingRows& rows) const {
        const size_t at = hypothesis * symbols_ + symbol;
        return offered_[hypothesis].own + (1 - ctc_weight_) * rows.log_probs[at] + rows.gains[at];
    }

    // Ends a hypothesis, and leaves the scores of its extensions in `scores_`.
    void end(size_t hypothesis, const SeekingRows& rows) {
        const double *log_probs = rows.log_probs + hypothesis * symbols_, *gains = rows.gains + hypothesis * symbols_;
        const uint32_t labels = offered_[hypothesis].labels;
        for (size_t y = 0; y < symbols_; ++y) scores_[y] = own_with(y, hypothesis, rows);
        const double own = scores_.back();
        if (ctc_) {
            ctc_->write(labels, of_ctc_.data());
            for (size_t y = 0; y < symbols_; ++y) scores_[y] += weighted_ctc(ctc_->log_psi(labels) + of_ctc_[y]);
        }
        // Not by CTC: before the frames of the next label have come, nothing but the end is probable by them.
        ended_.add(end_margin(log_probs, gains, symbols_, end_threshold_), {labels, scores_.back(), own});
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
            if (ctc_) ctc_->add(of.labels, label);
            offered.push_back({score, own_with(label, parent, rows), labels_.add(of.labels, {label, frame})});
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
        const std::vector<uint32_t> moved = labels_.keep(used);
        if (ctc_) ctc_->keep(moved);
        kept_limit_ = std::max(KEPT_AT_LEAST, 2 * labels_.size());
    }

    size_t symbols_, beam_;
    std::optional<double> end_threshold_;
    double ctc_weight_;
    std::optional<ArrivingCtc> ctc_;
    Chains<HeardLabel> labels_;
    std::vector<Seeking> waiting_, offered_;
    EndedLabels ended_;
    std::vector<double> of_ctc_, scores_;  // of each symbol, of the hypothesis that `end` was called for last
    size_t kept_limit_ = KEPT_AT_LEAST;
};

}  // namespace sonorant::decoding
