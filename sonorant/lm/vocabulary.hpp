// Words and their indices: a string's index in one hash probe, an index's string in one array access.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sonorant::lm {

using Word = uint32_t;       // index of a word in the vocabulary of a model
constexpr Word UNKNOWN = 0;  // `<unk>`, which stands for each word that the vocabulary lacks

inline uint64_t hash_bytes(std::string_view text) {  // FNV-1a; the last steps spread it over the high bits
    uint64_t hash = 14695981039346656037u;
    for (const unsigned char byte : text) hash = (hash ^ byte) * 1099511628211u;
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

class Vocabulary {
public:
    static constexpr std::string_view unknown = "<unk>", begin = "<s>", end = "</s>";

    Vocabulary() : starts_{0}, slots_(64, EMPTY) { add(unknown); }

    size_t size() const { return starts_.size() - 1; }

    // Index of the word; UNKNOWN if it is not in the vocabulary.
    Word index(std::string_view word) const {
        const Word found = slots_[slot(word)];
        return found == EMPTY ? UNKNOWN : found;
    }

    std::string_view word(Word index) const {
        return std::string_view(letters_).substr(starts_[index], starts_[index + 1] - starts_[index]);
    }

    // Index of the word, which is added if it was not there; `<UNK>` is another name of `<unk>`.
    Word add(std::string_view word) {
        if (word == "<UNK>") return UNKNOWN;
        size_t at = slot(word);
        if (slots_[at] != EMPTY) return slots_[at];
        const size_t index = size();
        if (index >= EMPTY - 1) throw std::length_error("more than 2^32 - 2 words");
        letters_.append(word);
        starts_.push_back(letters_.size());
        if (2 * (index + 1) > slots_.size()) {
            slots_.assign(2 * slots_.size(), EMPTY);
            for (Word old = 0; old < index; ++old) slots_[slot(this->word(old))] = old;
            at = slot(word);
        }
        return slots_[at] = static_cast<Word>(index);
    }

private:
    static constexpr Word EMPTY = ~Word{0};

    size_t slot(std::string_view word) const {
        const size_t mask = slots_.size() - 1;
        size_t at = hash_bytes(word) & mask;
        while (slots_[at] != EMPTY && this->word(slots_[at]) != word) at = (at + 1) & mask;
        return at;
    }

    std::string letters_;         // of all words, one after the other
    std::vector<size_t> starts_;  // of each word in `letters_`, and the end
    std::vector<Word> slots_;     // open addressing, a power of two, at most half full
};

}  // namespace sonorant::lm
