// Probabilities of the log-probabilities of a frame, each computed once.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonorant::decoding {

class RowProbabilities {
public:
    explicit RowProbabilities(size_t symbols) : probability_(symbols), known_(symbols, 0) {}

    // The rows asked about are of the next frame.
    void next_frame() { ++frame_; }

    template <class Real>
    double of(const Real* row, int32_t symbol) {
        if (known_[symbol] != frame_) {
            known_[symbol] = frame_;
            probability_[symbol] = std::exp(static_cast<double>(row[symbol]));
        }
        return probability_[symbol];
    }

private:
    uint64_t frame_ = 0;
    std::vector<double> probability_;  // by symbol, where known_ has the frame's number
    std::vector<uint64_t> known_;
};

}  // namespace sonorant::decoding
