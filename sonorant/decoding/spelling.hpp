// What units write, as a search needs it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sonorant::decoding {

struct Unit {
    std::string text;   // UTF-8 without the space before a word; empty if a unit writes nothing else
    bool starts_word;
};

// Units by number; the blank comes after the last.
using Spelling = std::vector<Unit>;

// Whether a word has begun and not ended after one more unit.
inline bool word_open_after(bool open, const Unit& unit) { return (open && !unit.starts_word) || !unit.text.empty(); }

// The text that a sequence of units writes, words one space apart, as a hash: two texts of a beam are equal where these are.
struct Spelt {
    uint64_t hash = 14695981039346656037u;
    bool empty = true, open = false;  // open: a word has begun and not ended
};

inline Spelt spelt_after(Spelt before, const Unit& unit) {
    const auto write = [&](unsigned char byte) {
        before.hash = (before.hash ^ byte) * 0x9e3779b97f4a7c15u;
        before.hash ^= before.hash >> 31;
    };
    before.open = before.open && !unit.starts_word;
    if (unit.text.empty()) return before;
    if (!before.open && !before.empty) write(' ');
    for (const char byte : unit.text) write(static_cast<unsigned char>(byte));
    before.empty = false;
    before.open = true;
    return before;
}

}  // namespace sonorant::decoding
