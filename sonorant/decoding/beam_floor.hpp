// The least total of a full beam, while totals are counted in: no lower one gets into it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace sonorant::decoding {

class BeamFloor {
public:
    explicit BeamFloor(size_t beam) : beam_(beam) {}

    // The floor as it was when it was last raised; 0: the beam was not full.
    double value() const { return value_; }

    void clear() {
        totals_.clear();
        value_ = 0;
    }

    void add(double total) { totals_.push_back(total); }

    // Whether so many totals came that raising the floor is worth its time.
    bool lags() const { return totals_.size() >= 2 * beam_; }

    // Raises the floor to the least of the highest totals, as many as the beam has, and drops the others.
    double raise() {
        if (totals_.size() < beam_) return value_ = 0;
        // Most often nothing has come yet, and the least of all needs no partition.
        if (totals_.size() == beam_) return value_ = *std::min_element(totals_.begin(), totals_.end());
        const auto last = totals_.begin() + static_cast<ptrdiff_t>(beam_) - 1;
        std::nth_element(totals_.begin(), last, totals_.end(), std::greater<>());
        value_ = *last;
        totals_.erase(last + 1, totals_.end());
        return value_;
    }

    // How many totals of the beam are at the floor, which was just raised; 0 if it is not full.
    size_t at_floor() const {
        return value_ > 0 ? static_cast<size_t>(std::count(totals_.begin(), totals_.end(), value_)) : 0;
    }

private:
    size_t beam_;
    double value_ = 0;
    std::vector<double> totals_;
};

}  // namespace sonorant::decoding
