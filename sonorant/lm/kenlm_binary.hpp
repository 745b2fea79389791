// Reads kenlm's binary files, version 5 (Heafield 2011, "KenLM: Faster and Smaller Language Model Queries"): the probing
// one, and the trie with and without quantisation (-q) and array compression (-a). Little-endian, as written on x86-64.
//
// A file holds a header with the counts, the hashes of the words, one store an order, and the words, NUL after each.
// The probing tables have the keys of ours; the trie lists each n-gram below the one without its first word.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model_builder.hpp"

namespace sonorant::lm {

// A binary file that cannot be read; the message says why.
struct BadBinary : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class KenlmBinary {
public:
    static constexpr std::string_view MAGIC = "mmap lm http://kheafield.com/code";

    explicit KenlmBinary(std::string_view file) : file_(file) {}

    NgramModel read() {
        header();
        const bool trie = type_ >= TRIE;
        builder_.emplace(static_cast<unsigned>(counts_.size()));
        uint64_t words = 0;
        if (trie) {
            words = take<uint64_t>() + 1;  // the hashes leave <unk> out
            skip(counts_[0] * 8);
        } else {
            if (const auto version = take<uint32_t>(); version != 0) fail("its vocabulary has the unknown version " + std::to_string(version));
            words = take<uint32_t>();
            skip(buckets(counts_[0]) * 12);
        }
        if (words == 0 || words > counts_[0] + 1) fail("it has " + std::to_string(words) + " words, and the header says otherwise");
        const size_t store = at_;
        locate_tables(trie);
        read_words(words);
        at_ = store;
        trie ? read_trie(words) : read_probing(words);
        return builder_->finish();
    }

private:
    enum Type : uint32_t { PROBING, REST_PROBING, TRIE, QUANTISED_TRIE, ARRAY_TRIE, QUANTISED_ARRAY_TRIE };

    // The array of bits of an order in a trie.
    struct Bits {
        size_t start = 0;  // byte in the file
        unsigned word = 0, weights = 0, next = 0;
        size_t high_start = 0, highs = 0;  // array compression: index of the first entry for each value of the high bits
        uint64_t total() const { return word + weights + next; }
    };

    [[noreturn]] static void fail(const std::string& what) { throw BadBinary(what); }

    void skip(uint64_t bytes) {
        if (bytes > file_.size() - at_)
            fail("it ends after " + std::to_string(file_.size()) + " bytes, before the n-grams of its header; it is cut off");
        at_ += bytes;
    }

    template <class Value>
    Value load(size_t at) const {
        Value value;
        if (at + sizeof value > file_.size()) fail("it ends after " + std::to_string(file_.size()) + " bytes; it is cut off");
        std::memcpy(&value, file_.data() + at, sizeof value);
        return value;
    }
    template <class Value>
    Value take() {
        const Value value = load<Value>(at_);
        at_ += sizeof value;
        return value;
    }

    void header() {
        const std::string magic = std::string(MAGIC) + " format version 5\n";
        if (file_.substr(0, magic.size()) != magic) {
            const size_t end = std::min(file_.find('\n'), MAGIC.size() + 40);
            fail("its header is \"" + std::string(file_.substr(0, end)) + "\", expected \"… format version 5\"; build it again with kenlm");
        }
        at_ = (magic.size() + 2 + 7) / 8 * 8;
        const bool same = take<float>() == 0 && take<float>() == 1 && take<float>() == -.5f && take<uint32_t>() == 1 &&
                          take<uint32_t>() == ~uint32_t{0} && take<uint32_t>() == 0 && take<uint64_t>() == 1;
        if (!same) fail("it was written by a machine with other number formats; build it again with kenlm on this one");
        const auto order = static_cast<unsigned char>(take<uint32_t>());
        multiplier_ = take<float>();
        const auto type = take<uint32_t>();
        const bool has_words = take<uint32_t>() & 0xff;
        const auto version = take<uint32_t>();
        if (order < 2 || order > MAX_ORDER)
            fail("order " + std::to_string(order) + ": models of order 2 to " + std::to_string(MAX_ORDER) + " can be read");
        if (type == REST_PROBING) fail("probing with rest costs is not read; build it again as `build_binary probing`");
        if (type > QUANTISED_ARRAY_TRIE) fail("unknown kind of store: " + std::to_string(type));
        if (version != (type >= TRIE ? 1 : 0)) fail("unknown version of its store: " + std::to_string(version));
        if (!has_words) fail("it was built without the words themselves; build it again without -i");
        if (!(multiplier_ >= 1 && multiplier_ < 1000)) fail("probing multiplier " + std::to_string(multiplier_) + ": must be at least 1");
        type_ = static_cast<Type>(type);
        for (unsigned i = 0; i < order; ++i) counts_.push_back(take<uint64_t>());
        for (const uint64_t count : counts_)
            if (count > file_.size() * 8) fail(std::to_string(count) + " n-grams in " + std::to_string(file_.size()) + " bytes; it is damaged");
        at_ = (at_ + 7) / 8 * 8;
    }

    uint64_t buckets(uint64_t entries) const {
        return std::max(entries + 1, static_cast<uint64_t>(multiplier_ * static_cast<float>(entries)));
    }

    void read_words(uint64_t words) {
        std::string_view text = file_.substr(at_);
        for (uint64_t i = 0; i < words; ++i) {
            const size_t end = text.find('\0');
            if (end == text.npos) fail("its list of words ends after " + std::to_string(i) + " of " + std::to_string(words) + "; it is cut off");
            if (builder_->append_word(text.substr(0, end), {}) != i)
                fail("its word " + std::to_string(i) + " is \"" + std::string(text.substr(0, std::min<size_t>(end, 60))) + "\", which is there twice; it is damaged");
            text.remove_prefix(end + 1);
        }
    }

    // ------------------------------------------------------------------------------------------------------- probing

    void locate_tables(bool trie) {
        if (trie) return locate_trie();
        skip((counts_[0] + 1) * 8);
        for (size_t i = 1; i < counts_.size(); ++i) skip(buckets(counts_[i]) * (i + 1 == counts_.size() ? 12 : 16));
    }

    void read_probing(uint64_t words) {
        for (uint64_t i = 0; i < words; ++i) unigram(static_cast<Word>(i), load<Weights>(at_ + 8 * i));
        at_ += (counts_[0] + 1) * 8;
        for (unsigned order = 2; order <= counts_.size(); ++order) {
            builder_->reserve(order, counts_[order - 1]);
            const bool longest = order == counts_.size();
            for (uint64_t left = buckets(counts_[order - 1]); left-- > 0;) {
                const auto key = take<uint64_t>();
                const Weights weights{take<float>(), longest ? 0 : take<float>()};
                if (key != 0) builder_->append(order, key, finite(weights));
            }
        }
    }

    void unigram(Word word, Weights weights) { builder_->append_word(builder_->vocabulary().word(word), finite(weights)); }

    static Weights finite(Weights weights) {
        if (!std::isfinite(weights.probability) || !std::isfinite(weights.back_off))
            fail("a probability or back-off weight is infinite or NaN; it is damaged");
        return weights;
    }

    // ---------------------------------------------------------------------------------------------------------- trie

    static unsigned bits_for(uint64_t value) {
        unsigned bits = 0;
        for (; value > 0; value >>= 1) ++bits;
        return bits;
    }

    void locate_trie() {
        const bool quantised = type_ == QUANTISED_TRIE || type_ == QUANTISED_ARRAY_TRIE;
        const size_t orders = counts_.size();
        if (quantised) {
            if (const auto version = load<unsigned char>(at_); version != 2) fail("unknown version of quantisation: " + std::to_string(version));
            probability_bits_ = load<unsigned char>(at_ + 1);
            back_off_bits_ = load<unsigned char>(at_ + 2);
            if (probability_bits_ > 25 || back_off_bits_ > 25) fail("weights of more than 25 bits; it is damaged");
            codebooks_ = at_ + 8;
            skip(8 + 4 * ((orders - 2) * ((1u << probability_bits_) + (1u << back_off_bits_)) + (1u << probability_bits_)));
        }
        unigrams_ = at_;
        skip((counts_[0] + 2) * 16);
        for (size_t i = 1; i < orders; ++i) {
            const bool longest = i + 1 == orders;
            Bits bits;
            bits.word = bits_for(counts_[0]);
            bits.weights = longest ? (quantised ? probability_bits_ : 31) : (quantised ? probability_bits_ + back_off_bits_ : 63);
            bits.next = longest ? 0 : bits_for(counts_[i + 1]);
            if (!longest && type_ >= ARRAY_TRIE) locate_highs(bits, counts_[i] + 1, counts_[i + 1]);
            bits.start = at_;
            skip(((1 + counts_[i]) * bits.total() + 7) / 8 + 8);
            bits_.push_back(bits);
        }
    }

    // Array compression (Raj and Whittaker 2003): as many high bits are chopped off as make the whole smallest.
    void locate_highs(Bits& bits, uint64_t entries, uint64_t max_next) {
        const unsigned most = std::min<unsigned>(bits.next, load<unsigned char>(at_ + 1));
        unsigned chop = 0;
        int64_t least = std::numeric_limits<int64_t>::max();
        for (unsigned tried = 0; tried <= most; ++tried) {
            const int64_t change = static_cast<int64_t>((max_next >> (bits.next - tried)) * 64) - static_cast<int64_t>(entries * tried);
            if (change < least) {
                least = change;
                chop = tried;
            }
        }
        bits.highs = (max_next >> (bits.next - chop)) + 1;
        bits.next -= chop;
        bits.high_start = (at_ + 7) / 8 * 8 + 8;
        skip(8 * (1 + bits.highs) + 7);
    }

    uint64_t field(const Bits& bits, uint64_t entry, unsigned offset, unsigned length) const {
        const uint64_t at = entry * bits.total() + offset;
        if (length == 63) return field(bits, entry, offset, 31) | field(bits, entry, offset + 31, 32) << 31;
        const uint64_t loaded = load<uint64_t>(bits.start + at / 8) >> (at % 8);
        return loaded & ((uint64_t{1} << length) - 1);
    }

    static float as_float(uint32_t bits) {
        float value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    Weights weights(unsigned order, uint64_t entry) const {
        const Bits& bits = bits_[order - 2];
        const uint64_t found = field(bits, entry, bits.word, bits.weights);
        const bool longest = order == counts_.size();
        if (!codebooks_)
            return {as_float(static_cast<uint32_t>(found & 0x7fffffff) | 0x80000000), as_float(static_cast<uint32_t>(found >> 31))};
        const size_t book = codebooks_ + 4 * (order - 2) * ((size_t{1} << probability_bits_) + (size_t{1} << back_off_bits_));
        if (longest) return {load<float>(book + 4 * found), 0};
        const uint64_t back_off = found & ((uint64_t{1} << back_off_bits_) - 1), probability = found >> back_off_bits_;
        return {load<float>(book + 4 * probability), load<float>(book + 4 * ((size_t{1} << probability_bits_) + back_off))};
    }

    // Where the longer n-grams of the order's entries begin; one more, for where the last one's end.
    std::vector<uint64_t> starts(unsigned order, uint64_t entries) const {
        std::vector<uint64_t> starts(entries + 1);
        for (uint64_t i = 0; order == 1 && i <= entries; ++i) starts[i] = load<uint64_t>(unigrams_ + 16 * i + 8);
        if (order == 1) return starts;
        const Bits& bits = bits_[order - 2];
        uint64_t high = 0;
        for (uint64_t i = 0; i <= entries; ++i) {
            while (high + 1 < bits.highs && load<uint64_t>(bits.high_start + 8 * (high + 1)) <= i) ++high;
            starts[i] = field(bits, i, bits.word + bits.weights, bits.next) | high << bits.next;
        }
        return starts;
    }

    void read_trie(uint64_t words) {
        std::vector<uint64_t> keys(words), next = starts(1, words);
        for (uint64_t i = 0; i < words; ++i) {
            keys[i] = i;
            unigram(static_cast<Word>(i), flagged(load<Weights>(unigrams_ + 16 * i), next[i] < next[i + 1]));
        }
        for (unsigned order = 2; order <= counts_.size(); ++order) {
            const bool longest = order == counts_.size();
            const uint64_t entries = next.back();
            if (entries > counts_[order - 1] || !std::is_sorted(next.begin(), next.end())) fail("its trie is damaged");
            builder_->reserve(order, entries);
            const std::vector<uint64_t> after = longest ? std::vector<uint64_t>() : starts(order, entries);
            std::vector<uint64_t> longer_keys(longest ? 0 : entries);
            for (size_t parent = 0; parent + 1 < next.size(); ++parent)
                for (uint64_t i = next[parent]; i < next[parent + 1]; ++i) {
                    const uint64_t word = field(bits_[order - 2], i, 0, bits_[order - 2].word);
                    const uint64_t key = extend(keys[parent], static_cast<Word>(word));
                    if (!longest) longer_keys[i] = key;
                    builder_->append(order, key, flagged(finite(weights(order, i)), !longest && after[i] < after[i + 1]));
                }
            keys.swap(longer_keys);
            next = after;
        }
    }

    static Weights flagged(Weights weights, bool extends_left) {
        weights.probability = extends_left ? std::fabs(weights.probability) : -std::fabs(weights.probability);
        return weights;
    }

    std::string_view file_;
    size_t at_ = 0;
    Type type_ = PROBING;
    float multiplier_ = 1;
    std::vector<uint64_t> counts_;
    std::optional<ModelBuilder> builder_;
    size_t codebooks_ = 0, unigrams_ = 0;  // bytes in the file; codebooks_ is 0 if nothing is quantised
    unsigned probability_bits_ = 0, back_off_bits_ = 0;
    std::vector<Bits> bits_;  // from order 2
};

}  // namespace sonorant::lm
