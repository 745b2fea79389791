// The hypotheses of the search by label, open and ended, of a batch of utterances; `label_beam.py` has their score.
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

// What adds to a decoder's log-probabilities. gains: of each symbol wherever it stands, the end last. model_weight: of the
// scores of a model beside the decoder; most_gain, most_ahead: upper bounds of these, for each further label, and once.
struct LabelScoring {
    std::vector<double> gains;
    double model_weight, most_gain, most_ahead;
    double coverage_weight, coverage_threshold;
    std::optional<double> end_threshold;

    size_t symbols() const { return gains.size(); }
    size_t labels() const { return gains.size() - 1; }  // all but the end

    // Upper bound of what `labels` more and an end may add. Log-probabilities add nothing.
    double most(size_t labels, size_t frames) const {
        const double of_label = *std::max_element(gains.begin(), gains.end() - 1) + model_weight * most_gain;
        const double of_end = gains.back() + model_weight * (most_gain + most_ahead);
        const double of_coverage = coverage_weight * static_cast<double>(frames);
        return std::max(0.0, of_label) * static_cast<double>(labels) + std::max(0.0, of_end) + std::max(0.0, of_coverage);
    }
};

// Rows of one utterance [hypotheses, symbols], and attention [hypotheses, frames]; beside: those of the model, or nullptr.
struct LabelRows {
    const double *log_probs, *beside;
    const float* attention;
    size_t frames;
};

class UtteranceLabels {
public:
    UtteranceLabels(size_t frames, size_t beam, const LabelScoring& scoring)
        : frames_(frames), beam_(beam), scoring_(&scoring), ended_(beam) {
        open_.push_back({0.0, NONE, std::vector<double>(scoring.coverage_weight ? frames : 0)});
    }

    bool open() const { return !open_.empty(); }
    const EndedLabels& ended() const { return ended_; }
    std::vector<HeardLabel> spelt(const Ended& ended) const { return labels_.chain(ended.labels); }

    // Throws std::invalid_argument for NaN in a row of an open hypothesis.
    void refuse_nan(const LabelRows& rows) const {
        const size_t values = open_.size() * scoring_->symbols();
        const std::string label = std::to_string(length_);
        if (has_nan(rows.log_probs, values))
            throw std::invalid_argument("log_probs of label " + label + " have NaN values");
        if (rows.beside && has_nan(rows.beside, values))
            throw std::invalid_argument("scores beside the decoder's have NaN values at label " + label);
    }

    // Ends the open hypotheses that may, and extends them by a label: writes the last label of each, and the hypothesis
    // that it extends. None is open any more where none can come before the `beam` that have ended.
    void advance(const LabelRows& rows, int32_t* before, int32_t* parents) {
        Highest highest(beam_);
        const size_t labels = scoring_->labels();
        for (size_t i = 0; i < open_.size(); ++i) {
            gain(rows, i);
            end(rows, i);
            if (length_ == frames_) continue;
            for (size_t label = 0; label < labels; ++label) gains_[label] += open_[i].score;
            highest.offer(gains_.data(), labels, i * labels);
        }
        extend(rows, std::move(highest).ranked(), before, parents);
        ++length_;
        if (open() && open_.front().score + scoring_->most(frames_ - length_, frames_) <= ended_.floor()) open_.clear();
    }

    void finish() { ended_.finish(); }

private:
    // attended: attention of each frame, summed over labels, where coverage counts.
    struct Open {
        double score;
        uint32_t labels;
        std::vector<double> attended;
    };

    // Sets gains_ to what each symbol adds to the hypothesis.
    void gain(const LabelRows& rows, size_t hypothesis) {
        const size_t symbols = scoring_->symbols();
        const double* log_probs = rows.log_probs + hypothesis * symbols;
        gains_.resize(symbols);
        for (size_t y = 0; y < symbols; ++y) gains_[y] = log_probs[y] + scoring_->gains[y];
        if (!rows.beside) return;
        const double* beside = rows.beside + hypothesis * symbols;
        for (size_t y = 0; y < symbols; ++y) gains_[y] += scoring_->model_weight * beside[y];
    }

    // Takes in its attention, and ends it if it may.
    void end(const LabelRows& rows, size_t hypothesis) {
        Open& open = open_[hypothesis];
        const float* attention = rows.attention + hypothesis * rows.frames;
        for (size_t frame = 0; frame < open.attended.size(); ++frame) open.attended[frame] += attention[frame];
        const size_t symbols = scoring_->symbols();
        const double margin =
            end_margin(rows.log_probs + hypothesis * symbols, gains_.data(), symbols, scoring_->end_threshold);
        ended_.add(margin, {open.labels, open.score + gains_.back() + coverage(open.attended), NEVER});
    }

    double coverage(const std::vector<double>& attended) const {
        const auto is_covered = [this](double attention) { return attention > scoring_->coverage_threshold; };
        return scoring_->coverage_weight *
               static_cast<double>(std::count_if(attended.begin(), attended.end(), is_covered));
    }

    void extend(const LabelRows& rows, const std::vector<Ranked>& chosen, int32_t* before, int32_t* parents) {
        std::vector<Open> longer;
        for (const auto& [score, index] : chosen) {
            const size_t parent = index / scoring_->labels(), label = index % scoring_->labels();
            const float* attention = rows.attention + parent * rows.frames;
            const auto peak = std::max_element(attention, attention + frames_) - attention;
            const HeardLabel heard{static_cast<int32_t>(label), static_cast<int32_t>(peak)};
            *before++ = heard.label;
            *parents++ = static_cast<int32_t>(parent);
            longer.push_back({score, labels_.add(open_[parent].labels, heard), open_[parent].attended});
        }
        open_ = std::move(longer);
    }

    size_t frames_, beam_, length_ = 0;
    const LabelScoring* scoring_;
    Chains<HeardLabel> labels_;
    std::vector<Open> open_;  // best first
    EndedLabels ended_;
    std::vector<double> gains_;  // of each symbol, of the hypothesis that `gain` was called for last
};

// The hypotheses of a batch, [utterances, width], all of as many labels.
class LabelHypotheses {
public:
    // frames: of each utterance, at least 1.
    LabelHypotheses(const std::vector<size_t>& frames, size_t beam, const LabelScoring& scoring)
        : beam_(beam), scoring_(scoring) {
        for (const size_t count : frames) utterances_.emplace_back(count, beam, scoring_);
        before_.assign(frames.size(), static_cast<int32_t>(scoring_.labels()));
        parents_.assign(frames.size(), 0);
    }
    LabelHypotheses(const LabelHypotheses&) = delete;  // the utterances point to the scoring

    size_t width() const { return width_; }
    size_t symbols() const { return scoring_.symbols(); }
    const std::vector<UtteranceLabels>& utterances() const { return utterances_; }

    // The last label of each, the end before the first one, and the hypothesis before that it extends; what is beyond an
    // utterance's open ones has no meaning.
    const std::vector<int32_t>& before() const { return before_; }
    const std::vector<int32_t>& parents() const { return parents_; }

    // rows: those of the first utterance, which the others' follow. Returns whether any hypothesis is open still. Throws
    // std::invalid_argument for NaN, and has changed nothing.
    bool advance(const LabelRows& rows) {
        for (size_t i = 0; i < utterances_.size(); ++i) utterances_[i].refuse_nan(rows_of(i, rows));
        const size_t width = std::min(beam_, width_ * scoring_.labels());
        before_.assign(utterances_.size() * width, 0);
        parents_.assign(utterances_.size() * width, 0);
        bool open = false;
        for (size_t i = 0; i < utterances_.size(); ++i) {
            utterances_[i].advance(rows_of(i, rows), before_.data() + i * width, parents_.data() + i * width);
            open = open || utterances_[i].open();
        }
        width_ = width;
        return open;
    }

    void finish() {
        for (UtteranceLabels& utterance : utterances_) utterance.finish();
    }

private:
    LabelRows rows_of(size_t utterance, const LabelRows& rows) const {
        const size_t first = utterance * width_, values = first * symbols();
        const double* beside = rows.beside ? rows.beside + values : nullptr;
        return {rows.log_probs + values, beside, rows.attention + first * rows.frames, rows.frames};
    }

    size_t beam_, width_ = 1;
    LabelScoring scoring_;
    std::vector<UtteranceLabels> utterances_;
    std::vector<int32_t> before_, parents_;
};

}  // namespace sonorant::decoding
