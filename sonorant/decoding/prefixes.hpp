// What hypotheses share: the tree of prefixes, and the emissions of alignments; unreferenced nodes are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "spelling.hpp"

namespace sonorant::decoding {

constexpr uint32_t NONE = ~0u;

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

struct Emission {
    uint32_t before;  // NONE: the first
    int32_t first, last;
};

// An alignment: its logarithmic score and its last emission (first < 0: there is none), which no other shares.
struct Alignment {
    double score;
    Emission latest;
};

// Emissions before the latest of alignments.
class Emissions {
public:
    size_t size() const { return emissions_.size(); }

    // The alignment with one more emission in the frame.
    Alignment extended(const Alignment& alignment, double log_probability, int32_t frame) {
        uint32_t before = NONE;
        if (alignment.latest.first >= 0) {
            before = static_cast<uint32_t>(emissions_.size());
            emissions_.push_back(alignment.latest);
        }
        return {alignment.score + log_probability, {before, frame, frame}};
    }

    // First and last frame of each emission.
    std::vector<std::pair<int32_t, int32_t>> spans(const Alignment& alignment) const {
        std::vector<std::pair<int32_t, int32_t>> reversed;
        for (Emission at = alignment.latest; at.first >= 0; at = emissions_[at.before]) {
            reversed.emplace_back(at.first, at.last);
            if (at.before == NONE) break;
        }
        return {reversed.rbegin(), reversed.rend()};
    }

    // Keeps the emissions before those of the alignments, and renumbers these.
    void keep(const std::vector<Alignment*>& alignments) {
        std::vector<uint32_t> moved(emissions_.size(), NONE);
        for (const Alignment* alignment : alignments)
            for (uint32_t at = alignment->latest.before; at != NONE && moved[at] == NONE; at = emissions_[at].before)
                moved[at] = 0;
        uint32_t kept = 0;
        for (uint32_t at = 0; at < emissions_.size(); ++at) {
            if (moved[at] == NONE) continue;
            Emission emission = emissions_[at];
            if (emission.before != NONE) emission.before = moved[emission.before];
            emissions_[kept] = emission;
            moved[at] = kept++;
        }
        emissions_.resize(kept);
        for (Alignment* alignment : alignments)
            if (alignment->latest.before != NONE) alignment->latest.before = moved[alignment->latest.before];
    }

private:
    std::vector<Emission> emissions_;
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
