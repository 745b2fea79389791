// The probability that the frames of a CTC model spell given labels, over all paths (Graves 2006, Eq. 5 to 8).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sonorant::decoding {

// With y the labels and blanks before, between and after them, paths are in state s after frame t with probability
//
//     a_t(s) = p_t(y_s) [a_{t-1}(s) + a_{t-1}(s - 1) + a_{t-1}(s - 2) if y_s is neither blank nor y_{s-2}],
//
// in logarithms here, and the last two states are those in which the labels are spelt. log_probs: [frames, symbols],
// frames >= 1. NaN on the way is NaN. States that no path reaches so early, or that reach no end any more, are left out.
template <typename Real>
double ctc_log_prob(const Real* log_probs, size_t frames, size_t symbols, const std::vector<int64_t>& labels,
                    int64_t blank) {
    constexpr double kNothing = 40;  // logarithm of a ratio whose smaller part is below a double's precision
    const double impossible = -std::numeric_limits<double>::infinity();
    const auto sum = [&](double a, double b) {
        const double most = std::max(a, b), least = std::min(a, b);
        if (most - least > kNothing) return most;  // one of them is impossible, or as good as that
        return std::isinf(most) || std::isnan(a + b) ? a + b : most + std::log1p(std::exp(least - most));
    };
    const size_t count = 2 * labels.size() + 1;
    const auto symbol = [&](size_t s) { return s % 2 ? labels[s / 2] : blank; };
    std::vector<double> before(count, impossible), after(count, impossible);
    for (size_t s = 0; s < count && s < 2; ++s) before[s] = log_probs[symbol(s)];
    for (size_t t = 1; t < frames; ++t) {
        const size_t left = 2 * (frames - t);
        for (size_t s = count > left ? count - left : 0; s < std::min(count, 2 * t + 2); ++s) {
            double reached = s > 0 ? sum(before[s], before[s - 1]) : before[s];
            if (s > 2 && s % 2 && symbol(s) != symbol(s - 2)) reached = sum(reached, before[s - 2]);
            after[s] = reached + log_probs[t * symbols + symbol(s)];
        }
        std::swap(before, after);
    }
    return count > 1 ? sum(before[count - 1], before[count - 2]) : before[0];
}

}  // namespace sonorant::decoding
