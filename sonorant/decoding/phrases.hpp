// Contextual biasing by phrases: an automaton over the text of units (Aho and Corasick 1975).
//
// A transcript gains the boost of a phrase for each time that the phrase's words occur in it. The automaton reads bytes,
// with a space before each word and one at the end, so that a phrase is found however units cut it, and only as whole words.
// A state that is some way into phrases carries an advance on their boosts, in proportion to the bytes read and most where
// phrases differ; it is taken back when none of them goes on, and settled when one is complete.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "spelling.hpp"

namespace sonorant::decoding {

class Phrases {
public:
    struct Step {
        uint32_t state;
        double gain;  // natural logarithm; the advance taken back, if there was any, is subtracted
    };

    // phrases: words with one space between, and the boost of the whole.
    Phrases(const Spelling& spelling, const std::vector<std::pair<std::string, double>>& phrases) {
        classify(phrases);
        for (const auto& [text, boost] : phrases) add(' ' + text + ' ', boost);
        link();
        most_gain_ = *std::max_element(reward_.begin(), reward_.end()) +
                     *std::max_element(advance_.begin(), advance_.end());
        for (const Unit& unit : spelling) {
            bytes_.emplace_back();
            for (const char byte : unit.text) bytes_.back().push_back(class_of(byte));
        }
        spelling_ = &spelling;
    }

    // State at the start of a transcript, where a word may begin.
    uint32_t start() const { return next(0, class_of(' ')); }

    // State after one more unit; open: whether a word has begun and not ended.
    Step step(uint32_t state, bool open, int32_t unit) const {
        Step after{state, -advance_[state]};
        if ((*spelling_)[unit].starts_word && open) read(after, class_of(' '));
        for (const uint8_t byte : bytes_[unit]) read(after, byte);
        after.gain += advance_[after.state];
        return after;
    }

    // Gain of the transcript's end: a phrase may be complete, and the advance is taken back.
    double finish(uint32_t state, bool open) const {
        Step after{state, -advance_[state]};
        if (open) read(after, class_of(' '));
        return after.gain;
    }

    // More than this no step gains.
    double most_gain() const { return most_gain_; }

private:
    static constexpr uint32_t NONE = ~0u;

    // Bytes that no phrase has are one class: the table has a column a class.
    void classify(const std::vector<std::pair<std::string, double>>& phrases) {
        classes_.fill(0);
        columns_ = 1;
        const auto meet = [&](char byte) {
            uint8_t& found = classes_[static_cast<uint8_t>(byte)];
            if (!found) found = columns_++;
        };
        meet(' ');
        for (const auto& [text, boost] : phrases) std::for_each(text.begin(), text.end(), meet);
        grow();
    }

    uint8_t class_of(char byte) const { return classes_[static_cast<uint8_t>(byte)]; }
    uint32_t& next(uint32_t state, uint8_t byte) { return table_[state * columns_ + byte]; }
    uint32_t next(uint32_t state, uint8_t byte) const { return table_[state * columns_ + byte]; }

    uint32_t grow() {
        table_.resize(table_.size() + columns_, NONE);
        reward_.push_back(0);
        advance_.push_back(0);
        return static_cast<uint32_t>(reward_.size() - 1);
    }

    void add(const std::string& text, double boost) {
        uint32_t state = 0;
        for (size_t i = 0; i < text.size(); ++i) {
            // The space before the phrase may be before any word, and is worth nothing.
            advance_[state] = std::max(advance_[state], i ? boost * (i - 1) / (text.size() - 1) : 0.0);
            if (next(state, class_of(text[i])) == NONE) {
                const uint32_t added = grow();  // moves the table
                next(state, class_of(text[i])) = added;
            }
            state = next(state, class_of(text[i]));
        }
        reward_[state] += boost;
    }

    // Completes the table, breadth first: where a phrase does not go on, the longest suffix that begins one does.
    void link() {
        std::vector<uint32_t> suffix(reward_.size(), 0), queue{0};
        for (size_t at = 0; at < queue.size(); ++at) {
            const uint32_t state = queue[at];
            for (uint8_t byte = 0; byte < columns_; ++byte) {
                const uint32_t shorter = state ? next(suffix[state], byte) : 0;
                uint32_t& child = next(state, byte);
                if (child == NONE) {
                    child = shorter;
                    continue;
                }
                suffix[child] = shorter;
                reward_[child] += reward_[shorter];
                advance_[child] = std::max(advance_[child], advance_[shorter]);
                queue.push_back(child);
            }
        }
    }

    void read(Step& step, uint8_t byte) const {
        step.state = next(step.state, byte);
        step.gain += reward_[step.state];
    }

    std::array<uint8_t, 256> classes_;
    uint8_t columns_;
    std::vector<uint32_t> table_;  // [states, columns]
    std::vector<double> reward_;   // of the phrases that end in a state
    std::vector<double> advance_;
    std::vector<std::vector<uint8_t>> bytes_;  // of each unit, as classes
    const Spelling* spelling_;
    double most_gain_;
};

}  // namespace sonorant::decoding
