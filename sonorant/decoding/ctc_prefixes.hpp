// CTC prefix probabilities for the search by label: what the frames say of each open hypothesis and each next label.
//
// Watanabe et al. 2017, "Hybrid CTC/Attention Architecture for End-to-End Speech Recognition", algorithm 2 and Eq. 44 to
// 52: gamma_t(g) is the probability of all alignments of the first t frames that spell g, by their last symbol, which is
// a unit (n) or the blank (b); psi(h) is that of all alignments of all frames whose spelling begins with h:
//
//     phi_t = gamma_{t-1}^b(g) + (0 if c is the last label of g, else gamma_{t-1}^n(g))
//     gamma_t^n(gc) = (gamma_{t-1}^n(gc) + phi_t) p_t(c)
//     gamma_t^b(gc) = (gamma_{t-1}^b(gc) + gamma_{t-1}^n(gc)) p_t(blank)
//     psi(gc) = sum over t of phi_t p_t(c),    psi(g, end) = gamma_T^n(g) + gamma_T^b(g).
//
// phi does not depend on c, but for the last label, so psi of all next labels is a product of one vector with the
// frames' probabilities; gamma is only computed of hypotheses that the beam has kept. Nothing is pruned, but for gamma
// that are less than e^-100 of later ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sonorant::decoding {

// Log-probabilities of one utterance's frames so far, [frames, units + 1], blank last, and their exponentials; of those
// from `first` on, the others are forgotten.
struct CtcFrames {
    size_t symbols, first = 0, frames = 0;
    std::vector<float> log_probs;
    std::vector<double> probs;

    explicit CtcFrames(size_t symbols) : symbols(symbols) {}

    // Adds a frame. Throws std::invalid_argument for NaN, and has changed nothing.
    void push(const float* row) {
        if (std::any_of(row, row + symbols, [](float value) { return std::isnan(value); }))
            throw std::invalid_argument("log_probs by frame have NaN values");
        log_probs.insert(log_probs.end(), row, row + symbols);
        for (size_t symbol = 0; symbol < symbols; ++symbol) probs.push_back(std::exp(static_cast<double>(row[symbol])));
        ++frames;
    }

    // Forgets the frames before this one, once they are the most: at a cost that does not grow with the utterance.
    void forget(size_t before) {
        if (2 * before < first + frames) return;
        log_probs.erase(log_probs.begin(), log_probs.begin() + (before - first) * symbols);
        probs.erase(probs.begin(), probs.begin() + (before - first) * symbols);
        first = before;
    }

    const double* probs_of(size_t frame) const { return probs.data() + (frame - first) * symbols; }
    double log_prob(size_t frame, int32_t symbol) const { return log_probs[(frame - first) * symbols + symbol]; }
    int32_t blank() const { return static_cast<int32_t>(symbols - 1); }
};

// A hypothesis: its last label (-1: none), log psi, and log gamma of `first` to all frames, the others negligible or due
// to no extension.
struct CtcPrefix {
    int32_t last;
    double log_psi;
    size_t first;
    std::vector<double> unit, blank;
};

// The open hypotheses of a batch, [utterances, hypotheses].
struct CtcPrefixState {
    std::shared_ptr<const std::vector<CtcFrames>> utterances;
    size_t hypotheses;
    std::vector<CtcPrefix> open;
};

class CtcPrefixes {
public:
    static constexpr double kNever = -std::numeric_limits<double>::infinity();
    static constexpr double kNegligible = 100;  // e to the power of minus it; a double has 16 digits, e to that of -37

    static CtcPrefixState begin(std::vector<CtcFrames> utterances) {
        CtcPrefixState state{std::make_shared<const std::vector<CtcFrames>>(std::move(utterances)), 1, {}};
        for (const CtcFrames& utterance : *state.utterances) state.open.push_back(empty(utterance));
        return state;
    }

    // Writes log psi(g, y) - log psi(g) of each symbol y, [utterances, hypotheses, symbols], to `gains`, the end where the
    // blank stands; returns the state after `before` [utterances, hypotheses], which extend `parents` of the old state.
    static CtcPrefixState next(const CtcPrefixState& state, const int32_t* before, const int32_t* parents,
                               size_t hypotheses, double* gains) {
        CtcPrefixState after{state.utterances, hypotheses, {}};
        for (size_t i = 0; i < state.utterances->size() * hypotheses; ++i) {
            const CtcFrames& utterance = (*state.utterances)[i / hypotheses];
            if (parents[i] < 0 || static_cast<size_t>(parents[i]) >= state.hypotheses || before[i] < 0 ||
                static_cast<size_t>(before[i]) >= utterance.symbols)
                throw std::out_of_range("a label or a parent is none of the state's");
            const CtcPrefix& parent = state.open[i / hypotheses * state.hypotheses + parents[i]];
            // The end stands before the first label, and changes nothing.
            after.open.push_back(before[i] == utterance.blank() ? parent : extended(utterance, parent, before[i]));
            write(utterance, after.open.back(), gains);
            gains += utterance.symbols;
        }
        return after;
    }

    static CtcPrefix empty(const CtcFrames& heard) {
        CtcPrefix g{-1, 0.0, 0, {kNever}, {0.0}};
        for (size_t t = 0; t < heard.frames; ++t) hear(g, kNever, heard, t);
        return g;
    }

    static CtcPrefix extended(const CtcFrames& heard, const CtcPrefix& g, int32_t label) {
        const size_t first = first_of(g);
        CtcPrefix h{label, kNever, first, {kNever}, {kNever}};
        for (size_t t = first; t < heard.frames; ++t) hear(h, phi(g, t - g.first, label), heard, t);
        return h;
    }

    // The frame before which gamma is negligible beside what it is later.
    static size_t first_of(const CtcPrefix& g) {
        const auto gamma = [&](size_t back) { return std::max(g.unit[back], g.blank[back]); };
        double most = kNever;
        for (size_t back = 0; back < g.unit.size(); ++back) most = std::max(most, gamma(back));
        size_t back = 0;
        while (gamma(back) < most - kNegligible) ++back;
        return g.first + back;
    }

    // Forgets gamma before this frame.
    static void forget(CtcPrefix& g, size_t before) {
        g.unit.erase(g.unit.begin(), g.unit.begin() + (before - g.first));
        g.blank.erase(g.blank.begin(), g.blank.begin() + (before - g.first));
        g.first = before;
    }

    // Adds frame t, the one after those of h. phi_t: that of h without its last label.
    static void hear(CtcPrefix& h, double phi_t, const CtcFrames& heard, size_t t) {
        const double unit = h.unit.back(), label = h.last < 0 ? 0.0 : heard.log_prob(t, h.last);
        h.log_psi = add(h.log_psi, phi_t + label);
        h.unit.push_back(add(unit, phi_t) + label);
        h.blank.push_back(add(h.blank.back(), unit) + heard.log_prob(t, heard.blank()));
    }

    // What a next label has before it, `back` frames after the first of g.
    static double phi(const CtcPrefix& g, size_t back, int32_t label) {
        return label == g.last ? g.blank[back] : add(g.blank[back], g.unit[back]);
    }

    // The log-probability that the frames spell g, and nothing more.
    static double log_spelt(const CtcPrefix& g) { return add(g.unit.back(), g.blank.back()); }

    // Writes log psi(g, y) - log psi(g) of each symbol y to `gains`, the end where the blank stands.
    static void write(const CtcFrames& heard, const CtcPrefix& g, double* gains) {
        const size_t units = heard.symbols - 1;
        if (g.log_psi == kNever) return std::fill(gains, gains + heard.symbols, kNever);
        std::fill(gains, gains + units, 0.0);
        double most = kNever;
        std::vector<double> before;
        for (size_t t = g.first; t < heard.frames; ++t) {
            before.push_back(add(g.blank[t - g.first], g.unit[t - g.first]));
            most = std::max(most, before.back());
        }
        for (size_t t = g.first; t < heard.frames; ++t) {
            const double share = std::exp(before[t - g.first] - most);
            if (most == kNever || share == 0.0) continue;
            const double* probs = heard.probs_of(t);
            for (size_t unit = 0; unit < units; ++unit) gains[unit] += share * probs[unit];
        }
        for (size_t unit = 0; unit < units; ++unit) gains[unit] = std::log(gains[unit]) + most - g.log_psi;
        if (g.last >= 0) {
            double psi = kNever;
            for (size_t t = g.first; t < heard.frames; ++t)
                psi = add(psi, g.blank[t - g.first] + heard.log_prob(t, g.last));
            gains[g.last] = psi - g.log_psi;
        }
        gains[units] = log_spelt(g) - g.log_psi;
    }

private:
    static double add(double a, double b) {
        const double most = std::max(a, b);
        return most == kNever ? kNever : most + std::log1p(std::exp(std::min(a, b) - most));
    }
};

}  // namespace sonorant::decoding
