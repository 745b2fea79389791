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
// frames' probabilities; gamma is only computed of hypotheses that the beam has kept. Nothing is pruned, but for terms that
// are less than e^-700 of the largest.
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

// Log-probabilities of one utterance, [frames, units + 1], blank last, and their exponentials.
struct CtcFrames {
    size_t frames, symbols;
    std::vector<double> log_probs, probs;

    CtcFrames(const float* rows, size_t frames, size_t symbols) : frames(frames), symbols(symbols) {
        log_probs.assign(rows, rows + frames * symbols);
        for (const double value : log_probs) {
            if (std::isnan(value)) throw std::invalid_argument("log_probs by frame have NaN values");
            probs.push_back(std::exp(value));
        }
    }
    double log_prob(size_t frame, int32_t symbol) const { return log_probs[frame * symbols + symbol]; }
};

// An open hypothesis: its last label (-1: none), log psi, and log gamma of 0 to all frames.
struct CtcPrefix {
    int32_t last;
    double log_psi;
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

    static CtcPrefixState begin(std::vector<CtcFrames> utterances) {
        CtcPrefixState state{std::make_shared<const std::vector<CtcFrames>>(std::move(utterances)), 1, {}};
        for (const CtcFrames& utterance : *state.utterances) {
            CtcPrefix empty{-1, 0.0, std::vector<double>(utterance.frames + 1, kNever), {0.0}};
            const auto blank = static_cast<int32_t>(utterance.symbols - 1);
            for (size_t t = 0; t < utterance.frames; ++t)
                empty.blank.push_back(empty.blank[t] + utterance.log_prob(t, blank));
            state.open.push_back(std::move(empty));
        }
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
            after.open.push_back(extended(utterance, parent, before[i]));
            write(utterance, after.open.back(), gains);
            gains += utterance.symbols;
        }
        return after;
    }

private:
    static double add(double a, double b) {
        const double most = std::max(a, b);
        return most == kNever ? kNever : most + std::log1p(std::exp(std::min(a, b) - most));
    }

    // The end stands before the first label, and changes nothing.
    static CtcPrefix extended(const CtcFrames& utterance, const CtcPrefix& g, int32_t label) {
        const auto blank = static_cast<int32_t>(utterance.symbols - 1);
        if (label == blank) return g;
        CtcPrefix h{label, kNever, {kNever}, {kNever}};
        for (size_t t = 0; t < utterance.frames; ++t) {
            const double phi = label == g.last ? g.blank[t] : add(g.blank[t], g.unit[t]);
            h.log_psi = add(h.log_psi, phi + utterance.log_prob(t, label));
            h.unit.push_back(add(h.unit[t], phi) + utterance.log_prob(t, label));
            h.blank.push_back(add(h.blank[t], h.unit[t]) + utterance.log_prob(t, blank));
        }
        return h;
    }

    static void write(const CtcFrames& utterance, const CtcPrefix& g, double* gains) {
        const size_t units = utterance.symbols - 1;
        if (g.log_psi == kNever) return std::fill(gains, gains + utterance.symbols, kNever);
        std::fill(gains, gains + units, 0.0);
        double most = kNever;
        std::vector<double> phi;
        for (size_t t = 0; t < utterance.frames; ++t) {
            phi.push_back(add(g.blank[t], g.unit[t]));
            most = std::max(most, phi.back());
        }
        for (size_t t = 0; t < utterance.frames; ++t) {
            const double share = std::exp(phi[t] - most);
            if (most == kNever || share == 0.0) continue;
            const double* probs = utterance.probs.data() + t * utterance.symbols;
            for (size_t unit = 0; unit < units; ++unit) gains[unit] += share * probs[unit];
        }
        for (size_t unit = 0; unit < units; ++unit) gains[unit] = std::log(gains[unit]) + most - g.log_psi;
        if (g.last >= 0) {
            double psi = kNever;
            for (size_t t = 0; t < utterance.frames; ++t) psi = add(psi, g.blank[t] + utterance.log_prob(t, g.last));
            gains[g.last] = psi - g.log_psi;
        }
        gains[units] = add(g.unit.back(), g.blank.back()) - g.log_psi;
    }
};

}  // namespace sonorant::decoding
