// Interpolated modified Kneser-Ney (Chen and Goodman 1998, "An Empirical Study of Smoothing Techniques for Language
// Modeling", TR-10-98, sec. 4.1), as kenlm's lmplz computes it (Heafield et al. 2013, "Scalable Modified Kneser-Ney
// Language Model Estimation"):
//
//     p(w | h) = (c(h w) − D(c(h w))) / Σ_v c(h v) + γ(h) p(w | h'),   h' is h without its first word          (eq. 4.1)
//     γ(h) = (D1 N1(h) + D2 N2(h) + D3+ N3+(h)) / Σ_v c(h v)
//     Y = n1 / (n1 + 2 n2),  D1 = 1 − 2Y n2/n1,  D2 = 2 − 3Y n3/n2,  D3+ = 3 − 4Y n4/n3                         (eq. 26)
//
// c: occurrences at the highest order and after <s>, else the number of different words to the left. Below the unigrams is
// the uniform distribution over all words, `<unk>` and `</s>` among them. An n-gram that occurs at most `threshold` times
// is left out, and its count goes to γ(h).
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "ngram_counts.hpp"

namespace sonorant::lm {

struct Discounts {
    std::array<double, 4> amount{0, .5, 1, 1.5};  // of counts 0, 1, 2, 3 and more
    bool fallen_back = false;                     // the counts of counts gave none in range, so these are kenlm's fall-backs

    double of(uint32_t count) const { return amount[std::min<uint32_t>(count, 3)]; }
};

inline Discounts discounts_of(const std::vector<uint32_t>& adjusted) {
    std::array<double, 5> n{};
    for (const uint32_t count : adjusted)
        if (count < n.size()) ++n[count];
    Discounts fallback;
    fallback.fallen_back = true;
    if (n[1] == 0 || n[2] == 0 || n[3] == 0) return fallback;
    const double y = n[1] / (n[1] + 2 * n[2]);
    Discounts discounts;
    for (unsigned i = 1; i < 4; ++i) {
        discounts.amount[i] = i - (i + 1) * y * n[i + 1] / n[i];
        if (discounts.amount[i] < 0 || discounts.amount[i] > i) return fallback;
    }
    return discounts;
}

class KneserNey {
public:
    // text: must outlive this. thresholds: of each order from 1; that of order 1 is 0.
    KneserNey(const Text& text, std::vector<uint64_t> thresholds)
        : text_(text), thresholds_(std::move(thresholds)), counter_(NgramCounter(text.tokens())), orders_(thresholds_.size()) {}

    unsigned order() const { return static_cast<unsigned>(orders_.size()); }

    // Count the n-grams of one order; call it with 1, 2, … order().
    void count(unsigned order) {
        NgramCounts& counts = orders_[order - 1].counts;
        counts = order == 1 ? counter_->unigrams(text_.vocabulary().size()) : counter_->extend_left(orders_[order - 2].counts);
        if (order == orders_.size()) counter_.reset();  // for its memory
    }

    // Compute the probabilities of an order, and the back-off weights of that below; call it with 1, 2, … order().
    Discounts estimate(unsigned order) {
        Order& own = orders_[order - 1];
        const NgramCounts& counts = own.counts;
        const Discounts discounts = discounts_of(counts.adjusted);
        const size_t contexts = order == 1 ? 1 : orders_[order - 2].counts.size();
        std::vector<double> total(contexts), freed(contexts);
        for (size_t i = 0; i < counts.size(); ++i) {
            const uint32_t count = counts.adjusted[i];
            total[counts.context[i]] += count;
            freed[counts.context[i]] += keeps(order, i) ? discounts.of(count) : count;
        }
        own.probability.resize(counts.size());
        const double uniform = 1. / (static_cast<double>(text_.vocabulary().size()) - 1);  // <s> is never predicted
        for (size_t i = 0; i < counts.size(); ++i) {
            const uint32_t count = counts.adjusted[i], context = counts.context[i];
            const double lower = order == 1 ? uniform : orders_[order - 2].probability[counts.suffix[i]];
            own.probability[i] = static_cast<float>((count - discounts.of(count) + freed[context] * lower) / total[context]);
        }
        if (order == 1) {
            own.probability[Text::BEGIN] = 1;
        } else {
            auto& back_off = orders_[order - 2].back_off;
            back_off.assign(contexts, 1);
            for (size_t i = 0; i < contexts; ++i)
                if (total[i] > 0) back_off[i] = static_cast<float>(freed[i] / total[i]);
        }
        return discounts;
    }

    // N-grams of an order that are left after pruning.
    uint64_t kept(unsigned order) const {
        uint64_t kept = 0;
        for (size_t i = 0; i < orders_[order - 1].counts.size(); ++i) kept += keeps(order, i);
        return kept;
    }

    // Lines of the ARPA format for n-grams of an order from `first` on, some `bytes` of them; `first` moves past them.
    std::string lines(unsigned order, uint64_t& first, size_t bytes) const {
        std::string lines;
        const NgramCounts& counts = orders_[order - 1].counts;
        for (; first < counts.size() && lines.size() < bytes; ++first) {
            if (!keeps(order, first)) continue;
            append(lines, orders_[order - 1].probability[first]);
            for (unsigned i = 0; i < order; ++i) {
                lines += i == 0 ? '\t' : ' ';
                const Word word = order == 1 ? static_cast<Word>(first) : text_.tokens()[counts.position[first] + 1 - order + i];
                lines += text_.vocabulary().word(word);
            }
            if (order < orders_.size()) {
                lines += '\t';
                append(lines, orders_[order - 1].back_off[first]);
            }
            lines += '\n';
        }
        return lines;
    }

private:
    struct Order {
        NgramCounts counts;
        std::vector<float> probability, back_off;
    };

    bool keeps(unsigned order, size_t ngram) const {
        return order == 1 || orders_[order - 1].counts.count[ngram] > thresholds_[order - 1];
    }

    // The logarithm of a weight; zero becomes -99, as the format has it.
    static void append(std::string& text, float weight) {
        char digits[32];
        const float value = weight == 1 ? 0 : weight > 0 ? std::log10(weight) : -99;
        text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }

    const Text& text_;
    std::vector<uint64_t> thresholds_;
    std::optional<NgramCounter> counter_;
    std::vector<Order> orders_;
};

}  // namespace sonorant::lm
