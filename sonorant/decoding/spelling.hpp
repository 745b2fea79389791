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

}  // namespace sonorant::decoding
