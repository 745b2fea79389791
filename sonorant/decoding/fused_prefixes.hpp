// The prefixes of a search and what each gains by fusion (fusion.hpp), if anything is fused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fusion.hpp"
#include "next_labels.hpp"
#include "prefixes.hpp"
#include "spelling.hpp"

namespace sonorant::decoding {

class FusedPrefixes {
public:
    // fusion: nullptr: acoustic probabilities alone.
    FusedPrefixes(const Spelling& spelling, const Fusion* fusion)
        : spelling_(&spelling), fusion_(fusion), next_(spelling.size() + 1) {
        if (fusion_) contexts_.push_back(fusion_->start());
    }

    bool fused() const { return fusion_; }
    const PrefixTree& tree() const { return tree_; }

    // Position in the beam of the prefix, as far as that was set.
    uint32_t& entry(uint32_t node) { return tree_[node].entry; }

    // Factor of the prefix with one more unit, and that of its own last unit.
    double factor(uint32_t node, int32_t unit) {
        return fusion_ ? fusion_->factor(contexts_[node], unit) : 1;
    }
    double last_factor(uint32_t node) const { return fusion_ ? contexts_[node].factor : 1; }

    // No unit that starts a word has a larger factor than the first, and no other one than the second.
    std::pair<double, double> largest_factors(uint32_t node) {
        return fusion_ ? fusion_->largest_factors(contexts_[node]) : std::pair<double, double>{1, 1};
    }

    // What the prefix gains by the end of the utterance, a natural logarithm.
    double finish(uint32_t node) { return fusion_ ? fusion_->finish(contexts_[node]) : 0; }

    // The prefix with one more unit, whose factor is known.
    uint32_t extended(uint32_t parent, int32_t unit, double factor) {
        const uint32_t known = tree_.child(parent, unit);
        if (known != NONE) return known;
        if (fusion_) {
            contexts_.push_back(fusion_->after(contexts_[parent], unit));
            contexts_.back().factor = factor;
        }
        return tree_.add(parent, unit, (*spelling_)[unit]);
    }

    // Whether a prefix waits for the neural language model before it can be extended or end.
    bool waits(uint32_t node) const { return fusion_ && fusion_->is_neural() && !contexts_[node].next; }

    // Asks for what follows the prefixes; returns whether any has to be waited for.
    bool ask(const std::vector<uint32_t>& nodes) {
        next_.clear();
        for (const uint32_t node : nodes) next_.want(node);
        return next_.wanted();
    }

    // What waits for the neural language model (next_labels.hpp); slots that are free again; and its rows.
    DuePrefixes due() { return next_.due(tree_, contexts_); }
    std::vector<int32_t> released() { return next_.released(); }
    void supply(const float* rows, size_t count) { next_.supply(rows, count, contexts_); }

    // Frees the rows that no prefix of the beam needs.
    void release(const std::vector<Entry>& beam) {
        if (next_.slots()) next_.release(beam, tree_, contexts_);
    }

    // Keeps the prefixes that are `used` and those before them; returns each one's new number.
    std::vector<uint32_t> keep(const std::vector<uint32_t>& used) {
        const std::vector<uint32_t> moved = tree_.keep(used);
        if (!fusion_) return moved;
        for (uint32_t node = 0; node < moved.size(); ++node)
            if (moved[node] != NONE) contexts_[moved[node]] = contexts_[node];
        contexts_.resize(tree_.size());
        next_.renumber(moved);
        return moved;
    }

private:
    const Spelling* spelling_;
    const Fusion* fusion_;
    PrefixTree tree_;
    std::vector<Context> contexts_;  // of the prefixes, if anything is fused
    NextLabels next_;                // by a neural language model
};

}  // namespace sonorant::decoding
