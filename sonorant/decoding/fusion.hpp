// What a prefix gains beside its acoustic probability: a language model's score, and boosts of phrases.
//
// The score is that of Hannun et al. 2014, "Deep Speech", section 2.2: Q(c) = log P(c|x) + α log P_lm(c) + β word_count(c).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "../lm/ngram.hpp"
#include "lookahead.hpp"
#include "phrases.hpp"
#include "spelling.hpp"

namespace sonorant::decoding {

// A word that has begun and not ended.
struct OpenWord {
    uint64_t letters = NO_LETTERS;  // hash of its spelling
    double ahead = 0;               // anticipated gain
    lm::Word word = lm::UNKNOWN;    // of the model, that it would end as
    bool possible = true;           // some word of the model begins like it
};

// Shallow fusion with an n-gram model, of words or of units.
class Ngram {
public:
    // unknown: natural logarithm added for a token outside the vocabulary, before α. of_unit: the model's word for each
    // unit; empty: its words are spelt by several units.
    Ngram(const lm::NgramModel& model, double alpha, double beta, double unknown, std::vector<lm::Word> of_unit)
        : model_(&model), alpha_(alpha), beta_(beta), unknown_(unknown), of_unit_(std::move(of_unit)) {
        if (of_words()) lookahead_.emplace(model, unknown / M_LN10);
    }

    bool of_words() const { return of_unit_.empty(); }
    double beta() const { return beta_; }
    lm::State begin() const { return model_->begin(); }
    lm::Word word(int32_t unit) const { return of_unit_[unit]; }

    // α log P(word | state), and the state after it.
    double score(const lm::State& state, lm::Word word, lm::State& next) const {
        const lm::Scored scored = model_->score(state, word);
        next = scored.next;
        return alpha_ * (scored.log10 * M_LN10 + (word == lm::UNKNOWN ? unknown_ : 0));
    }

    // The same of the end of the sentence, if the model has it.
    double end(const lm::State& state) const {
        lm::State next;
        return model_->end_word() == lm::UNKNOWN ? 0 : score(state, model_->end_word(), next);
    }

    // The open word with the letters.
    OpenWord open_word(uint64_t letters) const {
        const Beginning* found = lookahead_->find(letters);
        if (!found) return {letters, least_ahead(), lm::UNKNOWN, false};
        return {letters, scored(found->log10), found->word, true};
    }

    // The largest and the least that any open word is anticipated to gain.
    double most_ahead() const { return scored(lookahead_->best()); }
    double least_ahead() const { return scored(lookahead_->unknown()); }

private:
    double scored(float log10) const { return alpha_ * log10 * M_LN10 + beta_; }

    const lm::NgramModel* model_;
    double alpha_, beta_, unknown_;
    std::vector<lm::Word> of_unit_;
    std::optional<Lookahead> lookahead_;
};

// Weights of a neural model of units, as those of `Ngram`. Its log-probabilities come from outside: `Context::next`.
struct Neural {
    double alpha, beta;
};

// What determines the gains of a prefix's extensions: a function of the prefix.
struct Context {
    const float* next;      // log P of each unit and of the end by a neural model; nullptr: not known, and not added
    uint32_t slot;          // of these, if known
    double factor;          // of the prefix's last unit
    lm::State state;        // after the last word that was scored
    lm::State closed;       // after the open word; valid once `closing` is
    double closing;         // gain of the open word's end, less what was anticipated; NaN: not computed yet
    double closing_factor;  // its exponential; likewise
    OpenWord word;          // if one is open
    uint32_t phrases;       // state of the automaton
    bool open;              // a word has begun and not ended
};

// Scores extensions of prefixes. Immutable, so searches share it.
class Fusion {
public:
    // ngram, neural, phrases: nullptr: none; not both of the first.
    Fusion(const Spelling& spelling, const Ngram* ngram, const Neural* neural, const Phrases* phrases)
        : spelling_(&spelling), ngram_(ngram), neural_(neural), phrases_(phrases),
          of_words_(ngram && ngram->of_words()), beta_(ngram ? ngram->beta() : neural ? neural->beta : 0) {
        if (phrases_) most_new_ = most_phrases_ = factor_of(phrases_->most_gain());
        most_new_ *= factor_of(std::max(0.0, of_words_ ? ngram_->most_ahead() : beta_));
        if (!of_words_) return;
        for (const Unit& unit : spelling) begins_.push_back(factor_of(open_word({}, unit).ahead));
    }

    // The most that a hypothesis gains for each further unit, and once beside: its open word may turn out likelier than
    // anticipated. Probabilities of the model are at most 1.
    double most_gain() const { return std::max(0.0, beta_) + (phrases_ ? phrases_->most_gain() : 0); }
    double most_ahead() const { return of_words_ ? std::max(0.0, beta_ - ngram_->least_ahead()) : 0; }

    // Whether gains take a neural model's log-probabilities.
    bool is_neural() const { return neural_; }

    Context start() const {
        Context context{};
        if (ngram_) context.state = ngram_->begin();
        context.closing = context.closing_factor = NAN;
        context.factor = 1;
        context.phrases = phrases_ ? phrases_->start() : 0;
        return context;
    }

    // No unit that starts a word has a larger factor than the first, and no other one than the second.
    std::pair<double, double> largest_factors(Context& context) const {
        if (!of_words_) return {most_new_, most_new_};
        // By more units of an open word nothing is gained: the words that begin like it become fewer.
        return {most_new_ * closing_factor(context), context.open ? most_phrases_ : most_new_};
    }

    // Factor of a prefix's probability by one more unit.
    double factor(Context& context, int32_t unit) const {
        const bool starts_word = (*spelling_)[unit].starts_word;
        if (!phrases_ && !begins_.empty() && starts_word) return closing_factor(context) * begins_[unit];
        return factor_of(gain(context, unit));
    }

    // What a prefix gains by one more unit, a natural logarithm. A word is scored when it is complete: with the unit, if
    // each is a word of the model, else when the next word begins.
    double gain(Context& context, int32_t unit) const {
        double total = 0;
        if (of_words_) {
            const Unit& spelt = (*spelling_)[unit];
            total += (spelt.starts_word ? close(context) : -context.word.ahead) + open_word(context, spelt).ahead;
        } else if (ngram_) {
            lm::State next;
            total += ngram_->score(context.state, ngram_->word(unit), next) + word_begins(context, unit);
        } else if (neural_) {
            total += follows(context, static_cast<size_t>(unit)) + word_begins(context, unit);
        }
        if (phrases_) total += phrases_->step(context.phrases, context.open, unit).gain;
        return total;
    }

    // The context of a prefix with one more unit; `factor` or `gain` of that unit was called before.
    Context after(const Context& context, int32_t unit) const {
        const Unit& spelt = (*spelling_)[unit];
        Context next{};
        next.closing = next.closing_factor = NAN;
        next.open = word_open_after(context.open, spelt);
        if (of_words_) {
            next.state = spelt.starts_word && context.open ? context.closed : context.state;
            next.word = open_word(context, spelt);
        } else if (ngram_) {
            ngram_->score(context.state, ngram_->word(unit), next.state);
        }
        if (phrases_) next.phrases = phrases_->step(context.phrases, context.open, unit).state;
        return next;
    }

    // What a prefix gains by the end of the utterance.
    double finish(Context& context) const {
        double total = 0;
        if (of_words_) total += close(context);
        if (ngram_) total += ngram_->end(of_words_ && context.open ? context.closed : context.state);
        if (neural_) total += follows(context, spelling_->size());
        if (phrases_) total += phrases_->finish(context.phrases, context.open);
        return total;
    }

private:
    double close(Context& context) const {
        if (!context.open) return 0;
        if (std::isnan(context.closing)) {
            const double scored = ngram_->score(context.state, context.word.word, context.closed);
            context.closing = scored + ngram_->beta() - context.word.ahead;
        }
        return context.closing;
    }

    double closing_factor(Context& context) const {
        if (std::isnan(context.closing_factor)) context.closing_factor = factor_of(close(context));
        return context.closing_factor;
    }

    // Limited, so that no probability vanishes or overflows.
    static double factor_of(double gain) { return gain == 0 ? 1 : std::exp(std::clamp(gain, -MOST_GAIN, MOST_GAIN)); }

    // The open word after one more unit.
    OpenWord open_word(const Context& context, const Unit& unit) const {
        if (!word_open_after(context.open, unit)) return {};
        const bool goes_on = context.open && !unit.starts_word;
        if (goes_on && !context.word.possible) return context.word;
        return ngram_->open_word(spell_on(goes_on ? context.word.letters : NO_LETTERS, unit.text));
    }

    // α log P(symbol | prefix), if it is known.
    double follows(const Context& context, size_t symbol) const {
        return context.next ? neural_->alpha * static_cast<double>(context.next[symbol]) : 0;
    }

    // β, at the first unit of a word that writes anything.
    double word_begins(const Context& context, int32_t unit) const {
        const Unit& spelt = (*spelling_)[unit];
        const bool begins = !spelt.text.empty() && (spelt.starts_word || !context.open);
        return begins ? beta_ : 0;
    }

    static constexpr double MOST_GAIN = 300;

    const Spelling* spelling_;
    const Ngram* ngram_;
    const Neural* neural_;
    const Phrases* phrases_;
    bool of_words_;  // an n-gram model's words are spelt by several units
    double beta_;
    double most_phrases_ = 1, most_new_ = 1;  // the largest factors: by phrases, and with a new word as well
    std::vector<double> begins_;  // factor of each unit as the first of a word, as far as it is anticipated
};

}  // namespace sonorant::decoding
