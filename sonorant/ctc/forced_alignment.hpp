// Forced alignment: the most probable path of a CTC model's frames that spells given labels (Viterbi 1967).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sonorant::ctc {

// With y the labels and blanks before, between and after them, a path is in state s at frame t with probability
// (Graves 2006, Eq. 6 and 7, with max in place of the sum)
//
//     v_t(s) = p_t(y_s) max(v_{t-1}(s), v_{t-1}(s - 1), v_{t-1}(s - 2) if y_s is neither blank nor y_{s-2}).
//
// Of equal ones, the way from the later state is taken. NaN on the way is above all, so that it ends in no path.
class ForcedAlignment {
public:
    ForcedAlignment(const std::vector<int64_t>& labels, int64_t blank) {
        for (const int64_t label : labels) {
            add(blank, false);
            add(label, states_.size() >= 2 && label != blank && label != states_[states_.size() - 2]);
        }
        add(blank, false);
    }

    // Writes the symbol of each frame; false: no path spells the labels. log_probs: [frames, symbols], frames >= 1.
    template <typename Real>
    bool operator()(const Real* log_probs, size_t frames, size_t symbols, int64_t* path) const {
        const size_t count = states_.size();
        std::vector<double> best(count, kImpossible), after(count);
        std::vector<uint8_t> back(frames * count);  // how many states back each one was reached from
        for (size_t s = 0; s < count && s < 2; ++s) best[s] = log_probs[states_[s]];
        for (size_t t = 1; t < frames; ++t) {
            for (size_t s = 0; s < count; ++s) {
                const auto [way, value] = reached(best, s);
                back[t * count + s] = way;
                after[s] = value + log_probs[t * symbols + states_[s]];
            }
            std::swap(best, after);
        }
        size_t state = count - 1 - (count > 1 && best[count - 2] > best[count - 1]);
        if (!std::isfinite(best[state])) return false;
        for (size_t t = frames; t-- > 0; state -= back[t * count + state]) path[t] = states_[state];
        return true;
    }

private:
    static constexpr double kImpossible = -std::numeric_limits<double>::infinity();

    void add(int64_t symbol, bool skips) {
        states_.push_back(symbol);
        skips_.push_back(skips);
    }

    std::pair<uint8_t, double> reached(const std::vector<double>& best, size_t s) const {
        std::pair<uint8_t, double> found{0, best[s]};
        const uint8_t ways = skips_[s] ? 2 : s > 0 ? 1 : 0;
        for (uint8_t way = 1; way <= ways; ++way)
            if (const double value = best[s - way]; value > found.second || (std::isnan(value) && !std::isnan(found.second)))
                found = {way, value};
        return found;
    }

    std::vector<int64_t> states_;
    std::vector<uint8_t> skips_;  // whether a state is reached from the one before the last, past a blank
};

}  // namespace sonorant::ctc
