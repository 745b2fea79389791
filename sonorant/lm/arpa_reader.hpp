// Reads the ARPA format (Doug Paul's; SRILM's ngram-format(5)), fed in pieces of any size.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "model_builder.hpp"

namespace sonorant::lm {

// A line that is not what the format says; the message begins with its number.
struct BadLine : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class ArpaReader {
public:
    // bytes: about how many will be fed; memory is never reserved for more n-grams than fit in them.
    explicit ArpaReader(uint64_t bytes) : bytes_(bytes) {}

    void feed(std::string_view text) {
        size_t start = 0;
        for (size_t end; (end = text.find('\n', start)) != text.npos; start = end + 1) {
            if (rest_.empty()) {
                line(text.substr(start, end - start));
            } else {
                rest_.append(text, start, end - start);
                line(rest_);
                rest_.clear();
            }
        }
        rest_.append(text, start);
        if (rest_.size() > LONGEST_LINE) {
            ++number_;
            fail("more than " + std::to_string(LONGEST_LINE) + " bytes without a line's end; this is not an ARPA file");
        }
    }

    NgramModel finish() {
        if (!rest_.empty()) last_line();
        if (section_ == BEFORE) fail_at_end("no line \\data\\ was found; this is not an ARPA file");
        if (section_ == COUNTS) fail_at_end("the file ends before the n-grams; it is cut off");
        if (section_ != DONE)
            fail_at_end("the file ends after " + std::to_string(seen_) + " of " + of(section_) + ", without \\end\\; it is cut off");
        return builder_.finish();
    }

private:
    static constexpr size_t LONGEST_LINE = 1 << 20;
    static constexpr unsigned BEFORE = 100, COUNTS = 101, DONE = 102;  // else `section_` is an order

    [[noreturn]] void fail(const std::string& what) const {
        throw BadLine("line " + std::to_string(number_) + ": " + what);
    }
    [[noreturn]] void fail_at_end(const std::string& what) const {
        throw BadLine("after line " + std::to_string(number_) + ": " + what);
    }

    // Without a line's end; where the file was cut off, what is left of it may be no line.
    void last_line() {
        try {
            line(rest_);
        } catch (const BadLine& error) {
            throw BadLine(std::string(error.what()) + "; the file ends in this line, without a line's end: it may be cut off");
        }
    }

    std::string of(unsigned order) const {
        return std::to_string(counts_[order - 1]) + " " + std::to_string(order) + "-grams";
    }

    void line(std::string_view text) {
        ++number_;
        split(text);
        if (section_ == DONE || fields_.empty()) return;
        if (section_ == BEFORE) {
            if (fields_.size() == 1 && fields_[0] == "\\data\\") section_ = COUNTS;
        } else if (fields_[0] == "\\end\\" || (fields_[0].front() == '\\' && ends_with(fields_[0], "-grams:"))) {
            heading(fields_[0]);
        } else if (section_ == COUNTS) {
            count(text);
        } else {
            ngram();
        }
    }

    void split(std::string_view text) {
        constexpr std::string_view space = " \t\r";
        fields_.clear();
        for (size_t end, start = 0; (start = text.find_first_not_of(space, start)) != text.npos; start = end) {
            end = std::min(text.find_first_of(space, start), text.size());
            fields_.push_back(text.substr(start, end - start));
        }
    }

    static bool ends_with(std::string_view text, std::string_view end) {
        return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
    }

    // `ngram 2=1234`, with spaces wherever
    void count(std::string_view text) {
        std::string joined;
        for (const auto field : fields_) joined += field;
        const size_t equals = joined.find('=');
        unsigned order = 0;
        uint64_t ngrams = 0;
        if (joined.compare(0, 5, "ngram") != 0 || equals == joined.npos || !whole(joined.substr(5, equals - 5), order) ||
            !whole(joined.substr(equals + 1), ngrams))
            fail("found \"" + shown(text) + "\", expected such as \"ngram 1=5000\"");
        if (order != counts_.size() + 1)
            fail("found the count of " + std::to_string(order) + "-grams, expected that of " +
                 std::to_string(counts_.size() + 1) + "-grams");
        if (order > MAX_ORDER)
            fail(std::to_string(order) + "-grams: models up to order " + std::to_string(MAX_ORDER) + " can be read");
        if (order == 1 && ngrams == 0) fail("found no 1-grams, expected at least one word");
        counts_.push_back(ngrams);
    }

    template <class Number>
    static bool whole(std::string_view text, Number& number) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc() && end == text.data() + text.size();
    }

    // `\2-grams:` or `\end\`
    void heading(std::string_view text) {
        if (counts_.empty()) fail("found \"" + shown(text) + "\" before the counts of n-grams");
        const unsigned next = section_ == COUNTS ? 1 : section_ + 1;
        if (section_ != COUNTS && seen_ != counts_[section_ - 1])
            fail("found " + std::to_string(seen_) + " " + std::to_string(section_) + "-grams, expected the " + of(section_) +
                 " of the file's head");
        const bool last = next > counts_.size();
        const std::string expected = last ? "\\end\\" : "\\" + std::to_string(next) + "-grams:";
        if (text != expected) fail("found \"" + shown(text) + "\", expected \"" + expected + "\"");
        if (section_ == COUNTS) builder_ = ModelBuilder(static_cast<unsigned>(counts_.size()));
        section_ = last ? DONE : next;
        seen_ = 0;
        // The shortest line has a digit, a letter a word, and white space after each.
        if (!last) builder_.reserve(next, std::min(counts_[next - 1], bytes_ / (2 + 2 * next)));
    }

    void ngram() {
        const unsigned order = section_;
        const bool longest = order == counts_.size();
        if (seen_ == counts_[order - 1]) fail("there are more than the " + of(order) + " of the file's head");
        const size_t found = fields_.size();
        if (found != order + 1 && (longest || found != order + 2))
            fail("found " + std::to_string(found) + " fields, expected a log10 probability, " + std::to_string(order) +
                 (order == 1 ? " word" : " words") + (longest ? "" : " and perhaps a back-off weight"));
        const float log10 = number(fields_[0], "log10 probability");
        if (log10 > 0) fail("log10 probability " + shown(fields_[0]) + ": must be 0 or less");
        const float back_off = found == order + 2 ? number(fields_.back(), "back-off weight") : 0;
        ++seen_;
        if (order == 1) {
            if (!builder_.add_word(fields_[1], log10, back_off)) fail("the word \"" + shown(fields_[1]) + "\" is there twice");
            return;
        }
        Word words[MAX_ORDER];
        for (unsigned i = 0; i < order; ++i) words[i] = word(fields_[i + 1]);
        if (!builder_.add(words, order, log10, back_off)) fail("this n-gram is there twice");
    }

    Word word(std::string_view text) const {
        const Word found = builder_.vocabulary().index(text);
        if (found == UNKNOWN && text != Vocabulary::unknown && text != "<UNK>")
            fail("the word \"" + shown(text) + "\" is not among the 1-grams");
        return found;
    }

    float number(std::string_view text, const char* what) const {
        float value = 0;
        const char* const begin = text.data() + (text.size() > 1 && text[0] == '+');
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
        if (end != text.data() + text.size() || error == std::errc::invalid_argument)
            fail(std::string(what) + " \"" + shown(text) + "\": must be a number");
        if (error == std::errc::result_out_of_range && text.find("e-") == text.npos && text.find("E-") == text.npos)
            fail(std::string(what) + " " + shown(text) + ": too large");
        if (!std::isfinite(value)) fail(std::string(what) + " " + shown(text) + ": must be finite");
        return value;
    }

    static std::string shown(std::string_view text) {
        return text.size() <= 60 ? std::string(text) : std::string(text.substr(0, 57)) + "…";
    }

    uint64_t bytes_;
    std::string rest_;  // of a line whose end was not fed yet
    uint64_t number_ = 0;
    unsigned section_ = BEFORE;
    uint64_t seen_ = 0;  // n-grams of this section
    std::vector<uint64_t> counts_;
    std::vector<std::string_view> fields_;
    ModelBuilder builder_{1};
};

}  // namespace sonorant::lm
