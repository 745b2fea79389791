// What a neural language model says of the prefixes of a search: log-probabilities of the next label and of the end.
//
// The model is outside: the search names the prefixes that it has to extend, by slots, and is given their rows. A slot
// is also where the model's caller keeps the state after the prefix, which its longer prefixes need; it is free again
// once no prefix of the beam needs it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "fusion.hpp"
#include "prefixes.hpp"

namespace sonorant::decoding {

// Prefixes whose rows are due: the slot of each, that of the prefix that it extends (-1: it is empty) by a label, and
// the label (-1: none).
struct DuePrefixes {
    std::vector<int32_t> slots, parents, labels;
};

// Rows of the prefixes of one search. `contexts` are those of the nodes of its tree; `next` and `slot` of each are set here.
class NextLabels {
public:
    explicit NextLabels(size_t symbols) : symbols_(symbols) {}

    size_t slots() const { return owner_.size(); }

    void clear() { due_.clear(); }
    void want(uint32_t node) { due_.push_back(node); }
    bool wanted() const { return !due_.empty(); }

    // The prefixes that are wanted, none of which has a slot. A parent's row was needed to extend it, so it has one.
    DuePrefixes due(const PrefixTree& prefixes, std::vector<Context>& contexts) {
        DuePrefixes named;
        for (const uint32_t node : due_) {
            const Prefix& prefix = prefixes[node];
            contexts[node].slot = take(node);
            named.slots.push_back(static_cast<int32_t>(contexts[node].slot));
            named.parents.push_back(node ? static_cast<int32_t>(contexts[prefix.parent].slot) : -1);
            named.labels.push_back(prefix.unit);
        }
        return named;
    }

    // rows: of those that `due` has named, [due, symbols]; impossible labels become the least number. Throws
    // std::domain_error for values that are none.
    void supply(const float* rows, size_t count, std::vector<Context>& contexts) {
        if (count != due_.size()) throw std::domain_error("expected a row for each prefix that is due");
        for (size_t i = 0; i < count * symbols_; ++i)
            if (!(rows[i] < std::numeric_limits<float>::infinity()))
                throw std::domain_error("the language model gives NaN or infinite values; expected log-probabilities");
        for (const uint32_t node : due_) {
            float* const row = rows_[contexts[node].slot].get();
            for (size_t i = 0; i < symbols_; ++i) row[i] = std::max(*rows++, std::numeric_limits<float>::lowest());
            contexts[node].next = row;
        }
        due_.clear();
    }

    // Frees the slots that no prefix of the beam needs: its own, or while it has none that of the one that it extends.
    void release(const std::vector<Entry>& beam, const PrefixTree& prefixes, std::vector<Context>& contexts) {
        std::vector<char> needed(slots(), false);
        for (const Entry& entry : beam) {
            const uint32_t node = contexts[entry.node].next || !entry.node ? entry.node : prefixes[entry.node].parent;
            if (contexts[node].next) needed[contexts[node].slot] = true;
        }
        for (uint32_t slot = 0; slot < slots(); ++slot) {
            if (owner_[slot] == NONE || needed[slot]) continue;
            contexts[owner_[slot]].next = nullptr;
            owner_[slot] = NONE;
            free_.push_back(slot);
            released_.push_back(static_cast<int32_t>(slot));
        }
    }

    // Slots that were released since the last call.
    std::vector<int32_t> released() { return std::exchange(released_, {}); }

    // The nodes of the tree have new numbers.
    void renumber(const std::vector<uint32_t>& moved) {
        for (uint32_t& node : owner_)
            if (node != NONE) node = moved[node];
    }

private:
    uint32_t take(uint32_t node) {
        if (free_.empty()) {
            free_.push_back(static_cast<uint32_t>(slots()));
            owner_.push_back(NONE);
            rows_.push_back(std::make_unique<float[]>(symbols_));
        }
        const uint32_t slot = free_.back();
        free_.pop_back();
        owner_[slot] = node;
        return slot;
    }

    size_t symbols_;  // units and, last, the end
    std::vector<uint32_t> due_;           // prefixes that are wanted
    std::vector<uint32_t> owner_, free_;  // prefix of each slot, NONE: it is free; and those
    std::vector<int32_t> released_;
    std::vector<std::unique_ptr<float[]>> rows_;  // of each slot, [symbols]
};

}  // namespace sonorant::decoding
