// The most probable units of a frame, in one pass over its log-probabilities.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FAST __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FAST
#endif

namespace sonorant::decoding {

constexpr size_t SCANNED = 32;  // values that are compared before any is looked at by itself

// Start of the next block from `at` (a multiple of SCANNED) on in which a value is above the threshold or NaN, or `size`.
// Comparisons only: every instruction set gives the same.
template <class Real>
inline __attribute__((always_inline)) size_t scan(const Real* row, size_t at, size_t size, Real threshold) {
    for (; at + SCANNED <= size; at += SCANNED) {
        int above = 0;
        for (size_t i = 0; i < SCANNED; ++i) above |= !(row[at + i] <= threshold);
        if (above) return at;
    }
    for (size_t i = at; i < size; ++i)
        if (!(row[i] <= threshold)) return at;
    return size;
}
FAST inline size_t next_block(const float* row, size_t at, size_t size, float threshold) {
    return scan(row, at, size, threshold);
}
FAST inline size_t next_block(const double* row, size_t at, size_t size, double threshold) {
    return scan(row, at, size, threshold);
}

constexpr size_t LANES = 32;

// The largest value of each of LANES interleaved groups of a row.
template <class Real>
inline __attribute__((always_inline)) void group_maxima(const Real* row, size_t size, Real* largest) {
    for (size_t lane = 0; lane < LANES; ++lane) largest[lane] = -std::numeric_limits<Real>::infinity();
    for (size_t at = 0; at + LANES <= size; at += LANES)
        for (size_t lane = 0; lane < LANES; ++lane)
            largest[lane] = row[at + lane] > largest[lane] ? row[at + lane] : largest[lane];
}
FAST inline void maxima(const float* row, size_t size, float* largest) { group_maxima(row, size, largest); }
FAST inline void maxima(const double* row, size_t size, double* largest) { group_maxima(row, size, largest); }

// The `rank`th highest of LANES values: the least of those that fewer than `rank` are above.
template <class Real>
inline __attribute__((always_inline)) Real nth_of_lanes(const Real* values, size_t rank) {
    int above[LANES] = {};
    for (size_t other = 0; other < LANES; ++other)
        for (size_t lane = 0; lane < LANES; ++lane) above[lane] += values[other] > values[lane];
    Real least = std::numeric_limits<Real>::infinity();
    for (size_t lane = 0; lane < LANES; ++lane)
        if (above[lane] < static_cast<int>(rank)) least = std::min(least, values[lane]);
    return least;
}
FAST inline float nth_highest(const float* values, size_t rank) { return nth_of_lanes(values, rank); }
FAST inline double nth_highest(const double* values, size_t rank) { return nth_of_lanes(values, rank); }

// A value that at least `most` of a row's are not below: that many groups have one.
template <class Real>
Real reached_by(const Real* row, size_t size, size_t most) {
    if (most > LANES || size < 4 * LANES) return -std::numeric_limits<Real>::infinity();
    Real largest[LANES];
    maxima(row, size, largest);
    return nth_highest(largest, most);
}

template <class Real>
bool has_nan(const Real* row, size_t size) {
    return next_block(row, 0, size, std::numeric_limits<Real>::infinity()) < size;
}

struct Candidate {
    int32_t unit;
    double log_probability, probability;
};

// The `most` most probable of `units` units, those above `floor` alone: most probable first, of equals the lower number.
// Returns false if a value is NaN.
template <class Real>
bool find_candidates(const Real* row, size_t units, size_t most, double floor, std::vector<Candidate>& found) {
    found.clear();
    constexpr Real none = -std::numeric_limits<Real>::infinity();
    // Just below the floor, as logarithms are rounded; probabilities decide at the end.
    Real threshold = static_cast<Real>(std::log(floor) - 1e-3);
    threshold = std::max(threshold, std::nextafter(reached_by(row, units, most), none));
    for (size_t at = 0; (at = next_block(row, at, units, threshold)) < units; at += SCANNED) {
        for (size_t unit = at; unit < std::min(units, at + SCANNED); ++unit) {
            const Real value = row[unit];
            if (value <= threshold) continue;
            if (std::isnan(value)) return false;
            if (found.size() < most) found.emplace_back();
            size_t rank = found.size() - 1;
            for (; rank > 0 && found[rank - 1].log_probability < value; --rank) found[rank] = found[rank - 1];
            found[rank] = {static_cast<int32_t>(unit), static_cast<double>(value), 0.0};
            if (found.size() == most) threshold = static_cast<Real>(found.back().log_probability);
        }
    }
    for (Candidate& candidate : found) candidate.probability = std::exp(candidate.log_probability);
    while (!found.empty() && !(found.back().probability > floor)) found.pop_back();
    return true;
}

}  // namespace sonorant::decoding
