// The text that a model is trained on, as numbers: `<s>`, words, `</s>`, sentence after sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arpa_reader.hpp"
#include "vocabulary.hpp"

namespace sonorant::lm {

class Text {
public:
    static constexpr Word BEGIN = 1, END = 2;
    static constexpr size_t MOST_TOKENS = 0xffffffff;  // positions are 32-bit numbers

    Text() {
        vocabulary_.add(Vocabulary::begin);
        vocabulary_.add(Vocabulary::end);
    }

    const Vocabulary& vocabulary() const { return vocabulary_; }
    const std::vector<Word>& tokens() const { return tokens_; }
    uint64_t sentences() const { return sentences_; }

    // A piece of a file, of any size: a sentence a line, white space between words; lines without a word are passed over.
    void feed(std::string_view piece) {
        size_t start = 0;
        for (size_t end; (end = piece.find('\n', start)) != piece.npos; start = end + 1) {
            rest_.append(piece, start, end - start);
            sentence();
        }
        rest_.append(piece, start);
    }

    // The file ends, with or without a line's end.
    void end_file() {
        if (!rest_.empty()) sentence();
        line_ = 0;
    }

    // Keep the `most` commonest words, of equally common ones those that come first; the others become `<unk>`.
    // Returns how many tokens did.
    uint64_t limit_words(size_t most) {
        const size_t words = vocabulary_.size() - 3;
        if (words <= most) return 0;
        std::vector<uint32_t> counts(vocabulary_.size());
        for (const Word token : tokens_) ++counts[token];
        std::vector<Word> ranked(words);
        std::iota(ranked.begin(), ranked.end(), 3);
        std::stable_sort(ranked.begin(), ranked.end(), [&](Word a, Word b) { return counts[a] > counts[b]; });
        ranked.resize(most);
        std::sort(ranked.begin(), ranked.end());
        std::vector<Word> renumbered(vocabulary_.size(), UNKNOWN);
        renumbered[BEGIN] = BEGIN, renumbered[END] = END;
        Vocabulary kept;
        kept.add(Vocabulary::begin), kept.add(Vocabulary::end);
        for (const Word word : ranked) renumbered[word] = kept.add(vocabulary_.word(word));
        uint64_t changed = 0;
        for (Word& token : tokens_) {
            changed += token != UNKNOWN && renumbered[token] == UNKNOWN;
            token = renumbered[token];
        }
        vocabulary_ = std::move(kept);
        return changed;
    }

private:
    void sentence() {
        ++line_;
        constexpr std::string_view space = " \t\r\v\f";
        const std::string_view text = rest_;
        bool any = false;
        for (size_t end, start = 0; (start = text.find_first_not_of(space, start)) != text.npos; start = end) {
            end = std::min(text.find_first_of(space, start), text.size());
            if (!std::exchange(any, true)) add(BEGIN);
            const Word word = vocabulary_.add(text.substr(start, end - start));
            if (word == BEGIN || word == END)
                throw BadLine("line " + std::to_string(line_) + ": found " + std::string(vocabulary_.word(word)) +
                              ", which marks the bounds of each line; remove it");
            add(word);
        }
        if (any) add(END), ++sentences_;
        rest_.clear();
    }

    void add(Word token) {
        if (tokens_.size() == MOST_TOKENS) throw std::length_error("more than 2^32 - 1 words and sentence bounds");
        tokens_.push_back(token);
    }

    Vocabulary vocabulary_;
    std::vector<Word> tokens_;
    std::string rest_;  // of a line whose end was not fed yet
    uint64_t line_ = 0, sentences_ = 0;
};

}  // namespace sonorant::lm
