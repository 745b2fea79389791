// What a word can still gain while it is open: the probability of the likeliest word that begins like it.
//
// Scoring words at their ends alone leads to words without end. With look-ahead (Ortmanns et al. 1996,
// "Language-Model Look-Ahead for Large Vocabulary Speech Recognition", here with unigrams) the score of an open word is
// anticipated, and replaced by the true one at its end: it guides the beam, and changes no final score.
//
// Letters are known by a hash of 63 bits, as n-grams are (../lm/ngram.hpp), so no spelling is written out or compared.
// Two words alike would both be the later one: with 10^7 beginnings the chance of any two alike is 5 in a million.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "../lm/ngram.hpp"

namespace sonorant::decoding {

constexpr uint64_t NO_LETTERS = 14695981039346656037u;  // FNV-1a

inline uint64_t spell_on(uint64_t letters, std::string_view text) {
    for (const unsigned char byte : text) letters = (letters ^ byte) * 1099511628211u;
    return letters;
}

// What words begin with some letters: the likeliest one's log10, and the word that ends with them, or UNKNOWN.
struct Beginning {
    uint64_t key = 0;
    float log10 = 0;
    lm::Word word = lm::UNKNOWN;
};

class Lookahead {
public:
    // unknown: log10 added for a word outside the vocabulary.
    Lookahead(const lm::NgramModel& model, double unknown)
        : unknown_(model.score(model.null(), lm::UNKNOWN).log10 + static_cast<float>(unknown)), best_(unknown_) {
        size_t bytes = 0;  // at least as many as words have beginnings
        for (lm::Word word = 1; word < model.words(); ++word) bytes += model.vocabulary().word(word).size();
        while (8 * filter_.size() < bytes) filter_.resize(2 * filter_.size());
        for (lm::Word word = 1; word < model.words(); ++word)
            if (word != model.begin_word() && word != model.end_word())
                add(word, model.vocabulary().word(word), model.score(model.null(), word).log10);
    }

    // The beginning; nullptr if it is that of no word. None is less likely than `unknown`.
    const Beginning* find(uint64_t letters) const {
        const uint64_t hashed = key(letters);
        return maybe(hashed) ? begins_.find(hashed) : nullptr;
    }
    float unknown() const { return unknown_; }

    // log10 of the likeliest word of all.
    float best() const { return best_; }

private:
    // An open word ends between characters, so a beginning that ends within a UTF-8 sequence is none.
    void add(lm::Word word, std::string_view spelling, float log10) {
        log10 = std::max(log10, unknown_);
        best_ = std::max(best_, log10);
        uint64_t letters = NO_LETTERS;
        for (size_t at = 0; at < spelling.size(); ++at) {
            letters = spell_on(letters, spelling.substr(at, 1));
            const bool ends = at + 1 == spelling.size();
            if (!ends && (static_cast<unsigned char>(spelling[at + 1]) & 0xC0) == 0x80) continue;
            const size_t known = begins_.size();
            const uint64_t hashed = key(letters);
            filter_[hashed >> 7 & (filter_.size() - 1)] |= uint64_t{1} << (hashed >> 1 & 63);
            Beginning& entry = begins_.add(hashed);
            entry.log10 = begins_.size() > known ? log10 : std::max(entry.log10, log10);
            if (ends) entry.word = word;
        }
    }

    // Spread over the high bits, by which the table finds its slots, and never 0, which marks a free one.
    static uint64_t key(uint64_t letters) {
        const uint64_t mixed = (letters ^ (letters >> 32)) * 0x9e3779b97f4a7c15u;
        return (mixed ^ (mixed >> 29)) | 1;
    }

    // False: certainly no beginning. Most letters are none, and the table is too large for the nearest cache.
    bool maybe(uint64_t hashed) const { return filter_[hashed >> 7 & (filter_.size() - 1)] >> (hashed >> 1 & 63) & 1; }

    float unknown_, best_;
    std::vector<uint64_t> filter_ = std::vector<uint64_t>(64);  // Bloom's, with one hash
    lm::Table<Beginning> begins_;
};

}  // namespace sonorant::decoding
