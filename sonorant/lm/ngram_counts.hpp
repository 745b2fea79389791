// Counts of all n-grams of a text, by sorting positions: no table of n-grams is held while they are counted.
//
// `positions_` has the end of each occurrence, sorted by the n-gram read backwards, so that equal n-grams, and all
// n-grams with one suffix, are neighbours. One order follows from that below it: within each n-gram's range, sort by the
// word to the left. Peak memory: 16 bytes a token, and 20 bytes an n-gram.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "text.hpp"

namespace sonorant::lm {

// The n-grams of an order, sorted by their last word, then the one before it, and so on.
struct NgramCounts {
    std::vector<uint32_t> position;  // where one occurrence ends in the text
    std::vector<uint32_t> count;     // occurrences
    std::vector<uint32_t> adjusted;  // different words to the left of it; occurrences if it starts with <s>, or is longest
    std::vector<uint32_t> suffix;    // index, an order below, of it without its first word
    std::vector<uint32_t> context;   // index, an order below, of it without its last word

    size_t size() const { return position.size(); }
};

class NgramCounter {
public:
    explicit NgramCounter(const std::vector<Word>& tokens) : tokens_(tokens), id_(tokens) {}

    // The n-grams of order 1, one per word of the vocabulary, in its order; those without occurrence have position 0.
    NgramCounts unigrams(size_t words) {
        NgramCounts counts;
        starts_.assign(words + 1, 0);
        for (const Word token : tokens_) ++starts_[token + 1];
        counts.count.assign(starts_.begin() + 1, starts_.end());
        for (size_t word = 0; word < words; ++word) starts_[word + 1] += starts_[word];
        positions_.resize(tokens_.size());
        counts.position.resize(words);
        std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
        for (size_t i = 0; i < tokens_.size(); ++i) positions_[next[tokens_[i]]++] = static_cast<uint32_t>(i);
        for (size_t word = 0; word < words; ++word)
            if (counts.count[word] > 0) counts.position[word] = positions_[starts_[word]];
        counts.suffix.assign(words, 0);
        counts.context.assign(words, 0);
        counts.adjusted = counts.count;
        counts.count[Text::BEGIN] = counts.adjusted[Text::BEGIN] = 0;  // it is never predicted
        order_ = 1;
        return counts;
    }

    // The n-grams of the next order; counts.adjusted of the order before is set.
    NgramCounts extend_left(NgramCounts& shorter) {
        NgramCounts counts;
        std::vector<uint32_t> starts, id(tokens_.size());
        size_t written = 0;
        for (size_t ngram = 0; ngram < shorter.size(); ++ngram) {
            const size_t begin = starts_[ngram], end = starts_[ngram + 1];
            if (begin == end || tokens_[positions_[begin] - (order_ - 1)] == Text::BEGIN) continue;
            sort_by_left_word(begin, end);
            const size_t before = counts.size();
            for (size_t i = 0; i < end - begin; ++i) {
                const uint32_t position = static_cast<uint32_t>(sorted_[i]);
                if (i == 0 || sorted_[i] >> 32 != sorted_[i - 1] >> 32) {
                    counts.position.push_back(position);
                    counts.count.push_back(0);
                    counts.suffix.push_back(static_cast<uint32_t>(ngram));
                    counts.context.push_back(id_[position - 1]);
                    starts.push_back(static_cast<uint32_t>(written));
                }
                ++counts.count.back();
                id[position] = static_cast<uint32_t>(counts.size() - 1);
                positions_[written++] = position;
            }
            shorter.adjusted[ngram] = static_cast<uint32_t>(counts.size() - before);
        }
        starts.push_back(static_cast<uint32_t>(written));
        counts.adjusted = counts.count;
        starts_.swap(starts);
        id_.swap(id);
        ++order_;
        return counts;
    }

private:
    static constexpr size_t LARGE = 2048;  // from here on, sorting by digits is quicker

    // Fills `sorted_` with (word to the left, position) of a range.
    void sort_by_left_word(size_t begin, size_t end) {
        constexpr size_t AHEAD = 16;
        sorted_.resize(end - begin);
        uint64_t largest = 0;
        for (size_t i = begin; i < end; ++i) {
            if (i + AHEAD < positions_.size()) {
                const uint32_t ahead = positions_[i + AHEAD];
                __builtin_prefetch(&tokens_[ahead - std::min(order_, ahead)]);
            }
            const uint64_t left = tokens_[positions_[i] - order_];
            largest = std::max(largest, left);
            sorted_[i - begin] = left << 32 | positions_[i];
        }
        if (sorted_.size() >= LARGE)
            sort_by_digits(largest);
        else if (sorted_.size() > 1)
            std::sort(sorted_.begin(), sorted_.end());
    }

    // Least significant digit first, the words only: positions stay in the order they had.
    void sort_by_digits(uint64_t largest) {
        constexpr unsigned DIGIT = 11;
        spare_.resize(sorted_.size());
        for (unsigned shift = 32; largest > 0; shift += DIGIT, largest >>= DIGIT) {
            uint32_t starts[(1 << DIGIT) + 1] = {};
            for (const uint64_t entry : sorted_) ++starts[(entry >> shift & ((1 << DIGIT) - 1)) + 1];
            for (unsigned digit = 0; digit < 1 << DIGIT; ++digit) starts[digit + 1] += starts[digit];
            for (const uint64_t entry : sorted_) spare_[starts[entry >> shift & ((1 << DIGIT) - 1)]++] = entry;
            sorted_.swap(spare_);
        }
    }

    const std::vector<Word>& tokens_;
    uint32_t order_ = 0;
    std::vector<uint32_t> positions_, starts_;  // starts_: of each n-gram's range in positions_, and the end
    std::vector<uint32_t> id_;                  // the n-gram that ends at each position of the text
    std::vector<uint64_t> sorted_, spare_;
};

}  // namespace sonorant::lm
