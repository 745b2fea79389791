// Connectionist temporal classification (Graves 2006, section 4.1): forward and backward variables of an utterance.
// Part of kernels.cpp.
//
// A probability is a mantissa and an exponent of two, as in a float whose exponent has 32 bits: sums and products need no
// logarithm, and a path that is improbable beside others is not lost, since it may be the only one in the end.
#pragma once

struct Probability {
    float mantissa;  // 0, or of 1 to 2
    int32_t exponent;
};

constexpr int32_t NOTHING = -(1 << 30), MOST = (1 << 30) - 1;  // exponents: of 0, and the greatest
constexpr Probability ONE{1, 0};
constexpr float LEAST_LOG = -11000, GREATEST_LOG = 11000;      // where a float has ln 2 times the exponent exactly

INLINE float power_of_two(int32_t exponent) {  // of -126 to 127
    const uint32_t bits = static_cast<uint32_t>(exponent + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return power;
}

// As a float, in units of 2^greatest; what is no float beside it is 0.
INLINE float in_units(Probability of, int32_t greatest) {
    const int32_t below = std::min(greatest - of.exponent, 127);
    return below == 127 ? 0.0f : of.mantissa * power_of_two(-below);
}

INLINE Probability normalised(float mantissa, int32_t exponent) {
    uint32_t bits;
    std::memcpy(&bits, &mantissa, sizeof bits);
    exponent = std::min(exponent + static_cast<int32_t>(bits >> 23) - 127, MOST);
    bits = (bits & 0x7fffffu) | (127u << 23);
    float within;
    std::memcpy(&within, &bits, sizeof within);
    const bool is_nothing = mantissa == 0 || exponent <= NOTHING;
    return {is_nothing ? 0.0f : within, is_nothing ? NOTHING : exponent};
}

INLINE Probability operator+(Probability a, Probability b) {
    const int32_t greatest = std::max(a.exponent, b.exponent);
    return normalised(in_units(a, greatest) + in_units(b, greatest), greatest);
}

INLINE Probability operator*(Probability a, Probability b) {
    return normalised(a.mantissa * b.mantissa, std::max(a.exponent + b.exponent, NOTHING));
}

INLINE Probability if_allowed(bool allowed, Probability of) {
    return {allowed ? of.mantissa : 0.0f, allowed ? of.exponent : NOTHING};
}

INLINE Probability from_log(float log) {
    const PowerOfTwo power = exponential_as_power(std::min(std::max(log, LEAST_LOG), GREATEST_LOG));
    return if_allowed(log > LEAST_LOG, normalised(1 + power.less_one, power.exponent));
}

// So many places for probabilities, in two arrays.
struct Row {
    float* mantissas;
    int32_t* exponents;

    INLINE Probability operator[](size_t i) const { return {mantissas[i], exponents[i]}; }
    INLINE void set(size_t i, Probability to) const {
        mantissas[i] = to.mantissa;
        exponents[i] = to.exponent;
    }
};

class Table {
public:
    void resize(size_t rows, size_t width) {
        width_ = width;
        mantissas_.assign(rows * width, 0.0f);
        exponents_.assign(rows * width, NOTHING);
    }
    Row row(size_t i) { return {mantissas_.data() + i * width_, exponents_.data() + i * width_}; }

private:
    size_t width_ = 0;
    std::vector<float> mantissas_;
    std::vector<int32_t> exponents_;
};

// States of one frame: blanks [0..count], each behind the label of its number, and labels [1..count]. Labels 0 and
// count + 1, and blank count + 1, are impossible.
struct States {
    Row blanks, labels;
};

// What a frame says of `symbols`, the blank and then the labels.
FASTEST void observe(const float* log_probs, const int32_t* symbols, size_t count, Row observed) {
#pragma GCC ivdep
    for (size_t i = 0; i <= count; ++i) observed.set(i, from_log(log_probs[symbols[i]]));
}

// Forward variables, Eq. 6 and 7. skips: whether no blank is needed before a label, unlike the label before.
FASTEST void advance(States before, Row observed, const int32_t* skips, size_t count, States now) {
    const Probability blank = observed[0];
#pragma GCC ivdep
    for (size_t i = 0; i <= count; ++i) now.blanks.set(i, (before.blanks[i] + before.labels[i]) * blank);
#pragma GCC ivdep
    for (size_t i = 1; i <= count; ++i) {
        const Probability skipping = if_allowed(skips[i], before.labels[i - 1]);
        now.labels.set(i, (before.labels[i] + before.blanks[i - 1] + skipping) * observed[i]);
    }
}

// Backward variables without what their own frame says; those of the frame `after` are given, and get what theirs says.
FASTEST void go_back(States after, Row observed, const int32_t* skips, size_t count, States now) {
    const Probability blank = observed[0];
#pragma GCC ivdep
    for (size_t i = 0; i <= count; ++i) {
        after.blanks.set(i, after.blanks[i] * blank);
        after.labels.set(i, after.labels[i] * observed[i]);
    }
#pragma GCC ivdep
    for (size_t i = 0; i <= count; ++i) now.blanks.set(i, after.blanks[i] + after.labels[i + 1]);
#pragma GCC ivdep
    for (size_t i = 1; i <= count; ++i) {
        const Probability skipping = if_allowed(skips[i + 1], after.labels[i + 1]);
        now.labels.set(i, after.labels[i] + after.blanks[i] + skipping);
    }
}

// No less than the exponent of any product of the two.
FASTEST int32_t greatest_exponent(Row a, Row b, size_t places) {
    int32_t greatest = NOTHING;
    for (size_t i = 0; i < places; ++i) greatest = std::max(greatest, a.exponents[i] + b.exponents[i] + 1);
    return greatest;
}

// Products, in units of 2^greatest.
FASTEST void multiply(Row a, Row b, size_t places, int32_t greatest, float* products) {
#pragma GCC ivdep
    for (size_t i = 0; i < places; ++i) products[i] = in_units(a[i] * b[i], greatest);
}

struct Utterance {
    const float* log_probs;  // [frames, symbols], the blank last
    size_t frames, symbols;
    const int32_t* labels;
    size_t count;

    const float* at(size_t frame) const { return log_probs + frame * symbols; }
};

// Computes one utterance after another in the same memory.
class Alignments {
public:
    // Return minus the logarithm of the labels' probability, and write its gradient by the log-probabilities, or leave
    // that where there is none: of labels that no path of so many frames spells.
    float loss(const Utterance& of, float* gradient) {
        if (of.count > of.frames) return 0;
        prepare(of);
        for (size_t frame = 0; frame < of.frames; ++frame) {
            if (!is_known(of.at(frame), of.count)) return std::numeric_limits<float>::quiet_NaN();
            observe(of.at(frame), symbols_.data(), of.count, observed_.row(frame));
            advance(forward(frame), observed_.row(frame), skips_.data(), of.count, forward(frame + 1));
        }
        const States last = forward(of.frames);
        const Probability all = last.blanks[of.count] + last.labels[of.count];
        if (all.mantissa == 0) return std::numeric_limits<float>::infinity();
        go_back_through(of, gradient);
        return static_cast<float>(-std::log(static_cast<double>(all.mantissa)) - all.exponent * std::log(2.0));
    }

private:
    std::vector<int32_t> symbols_, skips_;
    std::vector<float> blanks_, labels_;  // occupancies at a frame
    Table observed_, forward_, backward_;

    void prepare(const Utterance& of) {
        const size_t width = of.count + 2;
        symbols_.assign(width, static_cast<int32_t>(of.symbols - 1));
        std::copy_n(of.labels, of.count, symbols_.data() + 1);
        skips_.assign(width, 0);
        for (size_t i = 2; i <= of.count; ++i) skips_[i] = symbols_[i] != symbols_[i - 1];
        blanks_.assign(width, 0.0f);
        labels_.assign(width, 0.0f);
        observed_.resize(of.frames, width);
        forward_.resize(2 * (of.frames + 1), width);
        forward(0).blanks.set(0, ONE);
        backward_.resize(4, width);
        for (const Row& row : {backward(of.frames).blanks, backward(of.frames).labels}) row.set(of.count, ONE);
        backward(of.frames).labels.set(0, {0, NOTHING});
    }

    // Before frame 0 (0), and after each (1 to frames).
    States forward(size_t at) { return {forward_.row(2 * at), forward_.row(2 * at + 1)}; }
    States backward(size_t at) { return {backward_.row(at % 2 * 2), backward_.row(at % 2 * 2 + 1)}; }

    bool is_known(const float* log_probs, size_t count) const {
        size_t unknown = 0;
        for (size_t i = 0; i <= count; ++i) unknown += std::isnan(log_probs[symbols_[i]]);
        return unknown == 0;
    }

    void go_back_through(const Utterance& of, float* gradient) {
        for (size_t at = of.frames; at > 0; --at) {
            if (at < of.frames) go_back(backward(at + 1), observed_.row(at), skips_.data(), of.count, backward(at));
            hand_out(of, forward(at), backward(at), gradient + (at - 1) * of.symbols);
        }
    }

    // Write minus the posterior of each symbol at a frame.
    void hand_out(const Utterance& of, States before, States after, float* gradient) {
        const size_t places = of.count + 1;
        const int32_t greatest = std::max(greatest_exponent(before.blanks, after.blanks, places),
                                          greatest_exponent(before.labels, after.labels, places));
        multiply(before.blanks, after.blanks, places, greatest, blanks_.data());
        multiply(before.labels, after.labels, places, greatest, labels_.data());
        const float blank = std::accumulate(blanks_.begin(), blanks_.end(), 0.0f);
        const float total = std::accumulate(labels_.begin(), labels_.end(), blank);
        gradient[of.symbols - 1] = -blank / total;
        for (size_t i = 1; i <= of.count; ++i) gradient[symbols_[i]] -= labels_[i] / total;
    }
};

// Of a batch, whose numbers are checked.
struct Utterances {
    const float* log_probs;  // [count, frames, symbols]
    const int32_t *lengths, *labels, *label_lengths;
    size_t count, frames, symbols, width;

    Utterances(const Floats<3>& of, const Integers<1>& lengths_, const Integers<2>& labels_,
               const Integers<1>& label_lengths_)
        : log_probs(of.data()), lengths(lengths_.data()), labels(labels_.data()), label_lengths(label_lengths_.data()),
          count(of.shape(0)), frames(of.shape(1)), symbols(of.shape(2)), width(labels_.shape(1)) {
        expect(symbols > 0, "log_probs: expected a blank or more");
        expect(lengths_.shape(0) == count && labels_.shape(0) == count && label_lengths_.shape(0) == count,
               "lengths, labels, label_lengths: expected one for each utterance");
        for (size_t row = 0; row < count; ++row) {
            expect_within(lengths[row], 0, frames, "lengths");
            expect_within(label_lengths[row], 0, width, "label_lengths");
            for (int32_t i = 0; i < label_lengths[row]; ++i)
                expect_within(labels[row * width + i], 0, symbols - 2, "labels");
        }
    }

    Utterance operator[](size_t row) const {
        return {log_probs + row * frames * symbols, static_cast<size_t>(lengths[row]), symbols, labels + row * width,
                static_cast<size_t>(label_lengths[row])};
    }
};

void ctc_loss(Floats<3> log_probs, Integers<1> lengths, Integers<2> labels, Integers<1> label_lengths, size_t threads,
              Sums<1> losses, Sums<3> gradient) {
    const Utterances utterances(log_probs, lengths, labels, label_lengths);
    const size_t size = utterances.frames * utterances.symbols;
    expect(gradient.shape(0) == utterances.count && gradient.shape(1) == utterances.frames &&
               gradient.shape(2) == utterances.symbols,
           "gradient: expected the shape of log_probs, [B, T, units + 1]");
    expect(losses.shape(0) == utterances.count, "losses: expected one for each utterance");
    const nb::gil_scoped_release released;
    std::fill_n(gradient.data(), gradient.size(), 0.0f);
    share(utterances.count, threads, 1, [&](size_t first, size_t last) {
        Alignments alignments;
        for (size_t row = first; row < last; ++row)
            losses(row) = alignments.loss(utterances[row], gradient.data() + row * size);
    });
}
