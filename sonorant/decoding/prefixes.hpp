// What prefixes of the CTC search share: their tree, and the emissions of alignments; unreferenced nodes are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chains.hpp"
#include "spelling.hpp"

namespace sonorant::decoding {

struct Prefix {
    uint32_t parent, first_child, next_sibling;
    int32_t unit;
    uint32_t entry;  // in the beam, if that entry is of this prefix
    Spelt spelt;
};

// Tree of unit sequences, so that equal sequences are the same node. Node 0 is the empty sequence.
class PrefixTree {
public:
    PrefixTree() { nodes_.push_back({NONE, NONE, NONE, -1, NONE, {}}); }

    Prefix& operator[](uint32_t node) { return nodes_[node]; }
    const Prefix& operator[](uint32_t node) const { return nodes_[node]; }
    size_t size() const { return nodes_.size(); }

    // The child with the unit; NONE if there is none.
    uint32_t child(uint32_t parent, int32_t unit) const {
        uint32_t node = nodes_[parent].first_child;
        while (node != NONE && nodes_[node].unit != unit) node = nodes_[node].next_sibling;
        return node;
    }

    // Adds the child with the unit, which is spelt so.
    uint32_t add(uint32_t parent, int32_t unit, const Unit& written) {
        const auto node = static_cast<uint32_t>(nodes_.size());
        const Spelt spelt = spelt_after(nodes_[parent].spelt, written);
        nodes_.push_back({parent, NONE, nodes_[parent].first_child, unit, NONE, spelt});
        nodes_[parent].first_child = node;
        return node;
    }

    std::vector<int32_t> units(uint32_t node) const {
        std::vector<int32_t> reversed;
        for (; nodes_[node].parent != NONE; node = nodes_[node].parent) reversed.push_back(nodes_[node].unit);
        return {reversed.rbegin(), reversed.rend()};
    }

    // Keeps the nodes that are `used` and those before them; returns each node's new number. A parent's number is lower
    // than its children's, before and after.
    std::vector<uint32_t> keep(const std::vector<uint32_t>& used) {
        std::vector<uint32_t> moved(nodes_.size(), NONE);
        moved[0] = 0;
        for (uint32_t node : used)
            for (; moved[node] == NONE; node = nodes_[node].parent) moved[node] = 0;
        uint32_t kept = 0;
        for (uint32_t node = 0; node < nodes_.size(); ++node) {
            if (moved[node] == NONE) continue;
            Prefix prefix = nodes_[node];
            prefix.first_child = prefix.next_sibling = NONE;
            if (prefix.parent != NONE) {
                prefix.parent = moved[prefix.parent];
                prefix.next_sibling = std::exchange(nodes_[prefix.parent].first_child, kept);
            }
            nodes_[kept] = prefix;
            moved[node] = kept++;
        }
        nodes_.resize(kept);
        return moved;
    }

private:
    std::vector<Prefix> nodes_;
};

// The frames of an emission.
struct Span {
    int32_t first, last;
};

// The last emission of an alignment; before: a link of those before it, or NONE.
struct Emission {
    uint32_t before;
    Span span;
};

// An alignment: its logarithmic score and its last emission (first < 0: there is none), which no other shares.
struct Alignment {
    double score;
    Emission latest;
};

// Emissions before the latest of alignments.
class Emissions {
public:
    size_t size() const { return links_.size(); }

    // The alignment with one more emission in the frame.
    Alignment extended(const Alignment& alignment, double log_probability, int32_t frame) {
        const auto& [before, span] = alignment.latest;
        const uint32_t link = span.first < 0 ? NONE : links_.add(before, span);
        return {alignment.score + log_probability, {link, {frame, frame}}};
    }

    // First and last frame of each emission.
    std::vector<Span> spans(const Alignment& alignment) const {
        std::vector<Span> found = links_.chain(alignment.latest.before);
        if (alignment.latest.span.first >= 0) found.push_back(alignment.latest.span);
        return found;
    }

    // Keeps the emissions before those of the alignments, and renumbers these.
    void keep(const std::vector<Alignment*>& alignments) {
        std::vector<uint32_t*> used;
        for (Alignment* alignment : alignments) used.push_back(&alignment->latest.before);
        links_.keep(used);
    }

private:
    Chains<Span> links_;
};

// A prefix in the beam.
struct Entry {
    uint32_t node;
    int32_t last;        // unit of the node; -1: the empty prefix
    double blank, unit;  // probability of all alignments that end in blank, or in the last unit
    Alignment best_blank, best_unit;  // the best single one of them

    double total() const { return blank + unit; }
    const Alignment& best() const { return best_blank.score >= best_unit.score ? best_blank : best_unit; }
};

}  // namespace sonorant::decoding
