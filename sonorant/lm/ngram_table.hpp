// Hash tables of n-grams: open addressing with linear probing, at most two thirds full.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace sonorant::lm {

// Key of an n-gram, one word further left. A word's key is its index. These are kenlm's constants, so that the tables of
// its files can be read without knowing which n-gram an entry is of.
inline uint64_t extend(uint64_t key, uint32_t word) {
    return (key * 8978948897894561157u) ^ (static_cast<uint64_t>(1 + word) * 17894857484156487943u);
}

// Probability and back-off weight, both log10, with two flags in their sign bits (kenlm's layout).
struct Weights {
    float probability = -100;  // log10; stored positive if a longer n-gram ends with this one
    float back_off = -0.f;     // log10; minus zero if no longer n-gram starts with this one

    float log10() const { return -std::fabs(probability); }
    bool extends_left() const { return !std::signbit(probability); }
    bool extends_right() const { return back_off != 0 || !std::signbit(back_off); }
    void set_extends_left() { probability = std::fabs(probability); }
    void set_extends_right() { back_off += 0.f; }  // minus zero becomes zero
};

struct MiddleEntry {
    uint64_t key = 0;
    Weights weights;
};

#pragma pack(push, 4)
struct LongestEntry {  // 12 bytes: most n-grams of a model are of its highest order
    uint64_t key = 0;
    float log10 = 0;
};
#pragma pack(pop)

template <class Entry>
class Table {
public:
    size_t size() const { return size_; }

    const Entry* find(uint64_t key) const {
        if (slots_.empty()) return nullptr;
        const Entry& entry = slots_[slot(key)];
        return entry.key == key ? &entry : nullptr;
    }
    Entry* find(uint64_t key) { return const_cast<Entry*>(std::as_const(*this).find(key)); }

    // The entry of the key, added if it was not there. Invalidates pointers that `find` gave.
    Entry& add(uint64_t key) {
        if (3 * (size_ + 1) > 2 * slots_.size()) resize(slots_.size() * 2 + 16);
        Entry& entry = slots_[slot(key)];
        if (entry.key != key) {
            entry.key = key;
            ++size_;
        }
        return entry;
    }

    void reserve(size_t entries) {
        if (3 * entries > 2 * slots_.size()) resize(entries * 3 / 2 + 16);
    }

private:
    // Where the key is or would be; the key 0 marks a free slot.
    size_t slot(uint64_t key) const {
        size_t at = static_cast<size_t>((static_cast<unsigned __int128>(key) * slots_.size()) >> 64);
        while (slots_[at].key != key && slots_[at].key != 0)
            if (++at == slots_.size()) at = 0;
        return at;
    }

    void resize(size_t slots) {
        std::vector<Entry> old(slots);
        old.swap(slots_);
        for (const Entry& entry : old)
            if (entry.key != 0) slots_[slot(entry.key)] = entry;
    }

    std::vector<Entry> slots_;
    size_t size_ = 0;
};

}  // namespace sonorant::lm
