// Sequences that share what they begin with, such as the labels of hypotheses; unreferenced links are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonorant::decoding {

constexpr uint32_t NONE = ~0u;

// A chain is named by its last link; NONE: the empty one. A link's number is higher than those of the links before it.
template <class Value>
class Chains {
public:
    size_t size() const { return links_.size(); }

    // The chain with one more value.
    uint32_t add(uint32_t before, const Value& value) {
        links_.push_back({before, value});
        return static_cast<uint32_t>(links_.size() - 1);
    }

    // The chain's values, first to last.
    std::vector<Value> chain(uint32_t last) const {
        std::vector<Value> reversed;
        for (; last != NONE; last = links_[last].before) reversed.push_back(links_[last].value);
        return {reversed.rbegin(), reversed.rend()};
    }

    // Keeps the chains that are `used`, and renumbers these, in order; returns the new number of each link, or NONE.
    std::vector<uint32_t> keep(const std::vector<uint32_t*>& used) {
        std::vector<uint32_t> moved(links_.size(), NONE);
        for (const uint32_t* last : used)
            for (uint32_t at = *last; at != NONE && moved[at] == NONE; at = links_[at].before) moved[at] = 0;
        uint32_t kept = 0;
        for (uint32_t at = 0; at < links_.size(); ++at) {
            if (moved[at] == NONE) continue;
            Link link = links_[at];
            if (link.before != NONE) link.before = moved[link.before];
            links_[kept] = link;
            moved[at] = kept++;
        }
        links_.resize(kept);
        for (uint32_t* last : used)
            if (*last != NONE) *last = moved[*last];
        return moved;
    }

private:
    struct Link {
        uint32_t before;
        Value value;
    };
    std::vector<Link> links_;
};

}  // namespace sonorant::decoding
