// From the beam to transcripts with words, their places in time and confidences.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "prefix_search.hpp"

namespace sonorant::decoding {

// Two hypotheses that differ elsewhere may align the same word a few frames apart; spoken words are not this close.
constexpr double SAME_TIME_S = 0.1;

// What all texts have in common has the sum of their probabilities, which is 1 but for rounding.
constexpr double CERTAIN = 1 - 1e-9;

struct Word {
    std::string text;
    uint32_t begin, end;  // its units
    double start_s, end_s, confidence;
};

struct Hypothesis {
    std::vector<int32_t> units;
    std::vector<Word> words;
    double probability;  // of all paths of the beam that spell the text
};

// The texts of the beam, the most probable first; of equals the older. `path` is the text's most probable entry.
struct Text {
    uint64_t hash;
    size_t path;
    double probability;
};

inline std::vector<Text> texts_of(const PrefixSearch& search) {
    const std::vector<Entry>& entries = search.entries();
    std::vector<Text> texts;
    std::unordered_map<uint64_t, size_t> known;
    for (size_t i = 0; i < entries.size(); ++i) {
        const uint64_t hash = search.tree()[entries[i].node].spelt.hash;
        const auto [found, is_new] = known.emplace(hash, texts.size());
        if (is_new) {
            texts.push_back({hash, i, entries[i].total()});
            continue;
        }
        Text& same = texts[found->second];
        if (entries[i].total() >= entries[same.path].total()) same.path = i;
        same.probability += entries[i].total();
    }
    std::stable_sort(texts.begin(), texts.end(),
                     [](const Text& a, const Text& b) { return a.probability > b.probability; });
    return texts;
}

// Groups units to words; a unit that writes only a space belongs to no word, so it moves no word's edges.
inline Hypothesis hypothesis_of(const Text& text, const PrefixSearch& search, const Spelling& spelling, double frame_s) {
    const Entry& entry = search.entries()[text.path];
    Hypothesis spelt{search.tree().units(entry.node), {}, text.probability};
    const auto spans = search.emissions().spans(entry.best());
    bool open = false;
    for (uint32_t i = 0; i < spelt.units.size(); ++i) {
        const Unit& unit = spelling[spelt.units[i]];
        open = open && !unit.starts_word;
        if (unit.text.empty()) continue;
        if (!open) spelt.words.push_back({"", i, 0, spans[i].first * frame_s, 0, 0});
        open = true;
        Word& word = spelt.words.back();
        word.text += unit.text;
        word.end = i + 1;
        word.end_s = (spans[i].last + 1) * frame_s;
    }
    return spelt;
}

// How far the middles of two words are apart, in seconds.
inline double apart_s(const Word& one, const Word& other) {
    return std::abs(one.start_s + one.end_s - other.start_s - other.end_s) / 2;
}

// Whether one of the other words is rather the next one of the words, which says the same again, at its time.
inline bool is_next(const std::vector<Word>& others, size_t near, const std::vector<Word>& words, size_t index) {
    if (index + 1 == words.size() || words[index + 1].text != words[index].text) return false;
    const bool is_again = near + 1 < others.size() && others[near + 1].text == others[near].text;
    return !is_again && apart_s(others[near], words[index + 1]) < apart_s(others[near], words[index]);
}

// The confidence of a word is the sum of the probabilities of all texts that have the same word at the same time, each
// word of a text for one.
inline void set_confidence(std::vector<Word>& words, const std::vector<Hypothesis>& alternatives) {
    for (const Hypothesis& other : alternatives) {
        size_t at = 0;
        for (size_t index = 0; index < words.size(); ++index) {
            Word& word = words[index];
            while (at < other.words.size() && other.words[at].end_s < word.start_s - SAME_TIME_S) ++at;
            for (size_t near = at; near < other.words.size() && other.words[near].start_s <= word.end_s + SAME_TIME_S; ++near)
                if (other.words[near].text == word.text) {
                    if (!is_next(other.words, near, words, index)) {
                        word.confidence += other.probability;
                        at = near + 1;
                    }
                    break;
                }
        }
    }
    for (Word& word : words)
        if (word.confidence > CERTAIN) word.confidence = 1.0;
}

// At most `n` hypotheses with distinct texts, the most probable first, without their words.
inline std::vector<Hypothesis> best_texts(const PrefixSearch& search, size_t n) {
    std::vector<Hypothesis> best;
    for (const Text& text : texts_of(search)) {
        if (best.size() == n) break;
        const uint32_t node = search.entries()[text.path].node;
        best.push_back({search.tree().units(node), {}, std::min(1.0, text.probability)});
    }
    return best;
}

// The same with their words; frame_s: seconds from frame to frame.
inline std::vector<Hypothesis> best_hypotheses(const PrefixSearch& search, const Spelling& spelling, size_t n, double frame_s) {
    std::vector<Hypothesis> alternatives;
    for (const Text& text : texts_of(search))
        alternatives.push_back(hypothesis_of(text, search, spelling, frame_s));
    std::vector<Hypothesis> best(alternatives.begin(), alternatives.begin() + std::min(n, alternatives.size()));
    for (Hypothesis& hypothesis : best) {
        set_confidence(hypothesis.words, alternatives);
        hypothesis.probability = std::min(1.0, hypothesis.probability);
    }
    return best;
}

}  // namespace sonorant::decoding
