// N-gram language model with back-off, as the inner loop of a search reads it. No dependency beyond C++17.
//
//     const NgramModel& model = …;                          // read or trained by sonorant.lm, immutable: share it freely
//     State state = model.begin();                          // after <s>; null() has no history
//     const Word word = model.index("hello");               // UNKNOWN (0) if the vocabulary lacks it
//     const Scored scored = model.score(state, word);       // scored.log10 = log10 p(word | state), scored.next: state after
//     const float end = model.score(state, model.end_word()).log10;
//
// p(w | h) is the probability of the longest n-gram h' w in the model, times the back-off weights of the longer contexts:
// log10 p(w | h) = log10 p(h w) if h w is listed, else back_off(h) + log10 p(w | h without its first word) (Katz 1987).
//
// The store is one array of unigrams and one hash table an order, keyed by a 64-bit hash of the n-gram's words, last word
// first: a query starts at the unigram and extends it leftwards until no longer n-gram is listed (the "probing" model of
// Heafield 2011, "KenLM: Faster and Smaller Language Model Queries", sec. 3.1). Two n-grams with the same hash would be
// confused: for 10^9 n-grams of an order the chance of any such pair is 3 %.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ngram_table.hpp"
#include "vocabulary.hpp"

namespace sonorant::lm {

constexpr unsigned MAX_ORDER = 6;

// History of a query: only as many words as can still change a later probability, so that more histories are equal.
struct State {
    std::array<Word, MAX_ORDER - 1> words{};      // the last word first; `length` of them count
    std::array<float, MAX_ORDER - 1> back_off{};  // log10 weight of the last i + 1 words; follows from `words`
    uint32_t length = 0;

    friend bool operator==(const State& a, const State& b) {
        return a.length == b.length && std::equal(a.words.begin(), a.words.begin() + a.length, b.words.begin());
    }
    friend bool operator!=(const State& a, const State& b) { return !(a == b); }
    uint64_t hash() const {
        uint64_t key = length;
        for (uint32_t i = 0; i < length; ++i) key = extend(key, words[i]);
        return key ^ (key >> 32);
    }
};

struct Scored {
    float log10;  // probability of the word
    State next;   // history after the word
};

class NgramModel {
public:
    unsigned order() const { return order_; }
    size_t words() const { return vocabulary_.size(); }  // valid indices are below it
    const Vocabulary& vocabulary() const { return vocabulary_; }
    Word index(std::string_view word) const { return vocabulary_.index(word); }
    Word begin_word() const { return begin_word_; }  // <s>; UNKNOWN if the model has none
    Word end_word() const { return end_word_; }      // </s>; UNKNOWN if the model has none

    // History of no word.
    State null() const { return {}; }

    // History at the start of a sentence: `<s>`, or none if the model has no `<s>`.
    State begin() const { return begin_word_ == UNKNOWN ? State{} : score(State{}, begin_word_).next; }

    // word < words(); state: of this model.
    Scored score(const State& state, Word word) const {
        const Weights& unigram = unigrams_[word];
        Scored scored{unigram.log10(), {}};
        State& next = scored.next;
        next.words[0] = word;
        next.back_off[0] = unigram.back_off;
        next.length = unigram.extends_right() && order_ > 1;
        bool more = unigram.extends_left();
        uint64_t key = word;
        uint32_t matched = 0;  // words of the history that the longest n-gram found has
        while (more && matched < state.length) {
            key = extend(key, state.words[matched]);
            if (matched + 2 == order_) {
                if (const auto* found = longest_.find(key)) {
                    scored.log10 = found->log10;
                    ++matched;
                }
                break;
            }
            const auto* found = middles_[matched].find(key);
            if (!found) break;
            ++matched;
            scored.log10 = found->weights.log10();
            next.back_off[matched] = found->weights.back_off;
            if (found->weights.extends_right()) next.length = matched + 1;
            more = found->weights.extends_left();
        }
        for (uint32_t i = matched; i < state.length; ++i) scored.log10 += state.back_off[i];
        for (uint32_t i = 1; i < next.length; ++i) next.words[i] = state.words[i - 1];
        return scored;
    }

    // N-grams of an order (1 …), those that only back-off implies included.
    size_t ngrams(unsigned order) const {
        if (order == 1) return unigrams_.size();
        return order == order_ ? longest_.size() : middles_[order - 2].size();
    }

private:
    friend class ModelBuilder;

    unsigned order_ = 1;
    Word begin_word_ = UNKNOWN, end_word_ = UNKNOWN;
    Vocabulary vocabulary_;
    std::vector<Weights> unigrams_ = std::vector<Weights>(1);       // by word
    std::array<Table<MiddleEntry>, MAX_ORDER - 2> middles_;         // orders 2 … order - 1
    Table<LongestEntry> longest_;                                   // order `order`, if that is above 1
};

}  // namespace sonorant::lm

template <>
struct std::hash<sonorant::lm::State> {
    size_t operator()(const sonorant::lm::State& state) const { return state.hash(); }
};
