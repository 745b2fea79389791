// The highest of many scores, in one pass over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "candidates.hpp"

namespace sonorant::decoding {

constexpr double NEVER = -std::numeric_limits<double>::infinity();  // log 0

struct Ranked {
    double score;
    size_t index;
};

// At most `most` of the scores that it is offered; none of them -inf or NaN.
class Highest {
public:
    explicit Highest(size_t most) : most_(most) {}

    // Offers scores whose indices begin with `first`, and are higher than all before.
    void offer(const double* scores, size_t size, size_t first) {
        floor_ = std::max(floor_, std::nextafter(reached_by(scores, size, most_), NEVER));
        for (size_t at = 0; (at = next_block(scores, at, size, floor_)) < size; at += SCANNED)
            for (size_t i = at; i < std::min(size, at + SCANNED); ++i)
                if (scores[i] > floor_) add({scores[i], first + i});
    }

    // Returns them, highest first, of equals the lower index.
    std::vector<Ranked> ranked() && {
        std::sort_heap(found_.begin(), found_.end(), comes_before);
        return std::move(found_);
    }

private:
    static bool comes_before(const Ranked& one, const Ranked& other) {
        return one.score > other.score || (one.score == other.score && one.index < other.index);
    }

    // A heap whose first is the one that comes last.
    void add(const Ranked& one) {
        if (found_.size() == most_) {
            std::pop_heap(found_.begin(), found_.end(), comes_before);
            found_.pop_back();
        }
        found_.push_back(one);
        std::push_heap(found_.begin(), found_.end(), comes_before);
        if (found_.size() == most_) floor_ = std::max(floor_, found_.front().score);
    }

    size_t most_;
    double floor_ = NEVER;
    std::vector<Ranked> found_;
};

}  // namespace sonorant::decoding
