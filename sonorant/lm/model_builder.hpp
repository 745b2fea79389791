// Fills an NgramModel, order by order, such that a query finds each n-gram that is listed.
//
// A query walks from the last word to the left, along the n-grams of a history that the state before it kept. So each
// suffix and each prefix of a listed n-gram must be there too. Those that a pruned model lacks are added with the
// probability that back-off gives them anyway; no query's result changes.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "ngram.hpp"

namespace sonorant::lm {

class ModelBuilder {
public:
    explicit ModelBuilder(unsigned order) {
        if (order < 1 || order > MAX_ORDER)
            throw std::invalid_argument("order " + std::to_string(order) + ": must be 1 to " + std::to_string(MAX_ORDER));
        model_.order_ = order;
    }

    const Vocabulary& vocabulary() const { return model_.vocabulary_; }

    void reserve(unsigned order, size_t ngrams) {
        if (order == 1) return model_.unigrams_.reserve(ngrams + 1);
        if (order == model_.order_) return model_.longest_.reserve(ngrams);
        model_.middles_[order - 2].reserve(ngrams);
    }

    // Add a word. False if it was there already.
    bool add_word(std::string_view text, float log10, float back_off) {
        const Word word = model_.vocabulary_.add(text);
        if (word == UNKNOWN ? std::exchange(unknown_seen_, true) : word < model_.unigrams_.size()) return false;
        if (word != UNKNOWN) model_.unigrams_.emplace_back();
        Weights& unigram = model_.unigrams_[word];
        unigram.probability = -std::fabs(log10);
        unigram.back_off = listed(back_off);
        return true;
    }

    // Add an n-gram of order 2 or more, its first word first; each shorter one was added before. back_off of the highest
    // order has no meaning. False if it was there already.
    bool add(const Word* words, unsigned order, float log10, float back_off) {
        complete(words + 1, order - 1).set_extends_left();
        complete(words, order - 1).set_extends_right();
        const uint64_t key = key_of(words, order);
        if (order == model_.order_) {
            const size_t before = model_.longest_.size();
            model_.longest_.add(key).log10 = -std::fabs(log10);
            return model_.longest_.size() > before;
        }
        auto& table = model_.middles_[order - 2];
        const size_t before = table.size();
        table.add(key).weights = {-std::fabs(log10), listed(back_off)};
        return table.size() > before;
    }

    // The model; nothing may be added after.
    NgramModel finish() {
        model_.begin_word_ = model_.index(Vocabulary::begin);
        model_.end_word_ = model_.index(Vocabulary::end);
        return std::move(model_);
    }

    // For readers of a store that has the same layout: flags included, keys and indices the same.
    Word append_word(std::string_view text, Weights weights) {
        const Word word = model_.vocabulary_.add(text);
        if (word == model_.unigrams_.size()) model_.unigrams_.emplace_back();
        model_.unigrams_[word] = weights;
        return word;
    }
    void append(unsigned order, uint64_t key, Weights weights) {
        if (order == model_.order_)
            model_.longest_.add(key).log10 = weights.log10();
        else
            model_.middles_[order - 2].add(key).weights = weights;
    }

private:
    // Zero, until something extends it, says that nothing does.
    static float listed(float back_off) { return back_off == 0 ? -0.f : back_off; }

    static uint64_t key_of(const Word* words, unsigned order) {
        uint64_t key = words[order - 1];
        for (unsigned i = order - 1; i-- > 0;) key = extend(key, words[i]);
        return key;
    }

    Weights* find(const Word* words, unsigned order) {
        if (order == 1) return &model_.unigrams_[words[0]];
        MiddleEntry* entry = model_.middles_[order - 2].find(key_of(words, order));
        return entry ? &entry->weights : nullptr;
    }

    // The n-gram, below the highest order, added as back-off implies it if it is not there.
    Weights& complete(const Word* words, unsigned order) {
        if (Weights* found = find(words, order)) return *found;
        Weights& shorter = complete(words + 1, order - 1);
        shorter.set_extends_left();
        float log10 = shorter.log10();
        Weights& context = complete(words, order - 1);
        context.set_extends_right();
        log10 += context.back_off;
        Weights& implied = model_.middles_[order - 2].add(key_of(words, order)).weights;
        implied = {std::min(log10, -0.f), -0.f};
        return implied;
    }

    NgramModel model_;
    bool unknown_seen_ = false;
};

}  // namespace sonorant::lm
