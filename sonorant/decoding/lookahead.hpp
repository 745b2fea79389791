// What a word can still gain while it is open: the probability of the likeliest word that begins like it.
//
// Scoring words at their ends alone leads to words without end. With look-ahead (Ortmanns et al. 1996,
// "Language-Model Look-Ahead for Large Vocabulary Speech Recognition", here with unigrams) the score of an open word is
// anticipated, and replaced by the true one at its end: it guides the beam, and changes no final score.
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
                add(model.vocabulary().word(word), model.score(model.null(), word).log10);
    }

    // log10 of the likeliest word that begins with the letters; `unknown` if none does, and no less in any case.
    float best(uint64_t letters) const {
        const uint64_t hashed = key(letters);
        const lm::LongestEntry* found = maybe(hashed) ? begins_.find(hashed) : nullptr;
        return found ? found->log10 : unknown_;
    }
    float unknown() const { return unknown_; }

    // And of all words.
    float best() const { return best_; }

private:
    // An open word ends between characters, so a beginning that ends within a UTF-8 sequence is none.
    void add(std::string_view word, float log10) {
        log10 = std::max(log10, unknown_);
        best_ = std::max(best_, log10);
        uint64_t letters = NO_LETTERS;
        for (size_t at = 0; at < word.size(); ++at) {
            letters = spell_on(letters, word.substr(at, 1));
            if (at + 1 < word.size() && (static_cast<unsigned char>(word[at + 1]) & 0xC0) == 0x80) continue;
            const size_t known = begins_.size();
            const uint64_t hashed = key(letters);
            filter_[hashed >> 7 & (filter_.size() - 1)] |= uint64_t{1} << (hashed >> 1 & 63);
            lm::LongestEntry& entry = begins_.add(hashed);
            entry.log10 = begins_.size() > known ? log10 : std::max(entry.log10, log10);
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
    lm::Table<lm::LongestEntry> begins_;
};

}  // namespace sonorant::decoding
