// Fusion in the label-synchronous search: the gain of each unit, and of the end, after each open hypothesis.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "fusion.hpp"

namespace sonorant::decoding {

// What determines the gains of the open hypotheses of a batch, [utterances, hypotheses].
struct LabelState {
    size_t hypotheses;
    std::vector<Context> open;
};

class LabelFusion {
public:
    LabelFusion(const Spelling& spelling, const Fusion& fusion) : spelling_(&spelling), fusion_(&fusion) {}

    size_t symbols() const { return spelling_->size() + 1; }  // the last is the end
    const Fusion& fusion() const { return *fusion_; }

    LabelState begin(size_t batch) const {
        return {1, std::vector<Context>(batch, fusion_->start())};
    }

    // Writes the natural logarithm that each symbol gains, [utterances, hypotheses, symbols], to `gains`; returns the
    // state after `before` [utterances, hypotheses], a symbol each, which extend `parents` of the old state.
    LabelState next(const LabelState& state, const int32_t* before, const int32_t* parents, size_t hypotheses,
                    double* gains) const {
        const size_t batch = state.open.size() / state.hypotheses;
        LabelState after{hypotheses, {}};
        for (size_t i = 0; i < batch * hypotheses; ++i) {
            if (parents[i] < 0 || static_cast<size_t>(parents[i]) >= state.hypotheses || before[i] < 0 ||
                static_cast<size_t>(before[i]) >= symbols())
                throw std::out_of_range("a label or a parent is none of the state's");
            after.open.push_back(extended(state.open[i / hypotheses * state.hypotheses + parents[i]], before[i]));
            write(after.open.back(), gains + i * symbols());
        }
        return after;
    }

private:
    // The end stands before the first label, and changes nothing.
    Context extended(const Context& context, int32_t symbol) const {
        return static_cast<size_t>(symbol) + 1 == symbols() ? context : fusion_->after(context, symbol);
    }

    void write(Context& context, double* gains) const {
        for (size_t unit = 0; unit + 1 < symbols(); ++unit)
            gains[unit] = fusion_->gain(context, static_cast<int32_t>(unit));
        gains[symbols() - 1] = fusion_->finish(context);
    }

    const Spelling* spelling_;
    const Fusion* fusion_;
};

}  // namespace sonorant::decoding
