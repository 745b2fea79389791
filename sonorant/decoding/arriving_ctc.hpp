// CTC prefix probabilities of hypotheses while the frames arrive: joint CTC for searches that stream.
//
// After each frame psi and gamma are those of the frames so far (`ctc_prefixes.hpp`). gamma_t of a prefix needs
// gamma_{t-1} of the one without its last label, so all prefixes that hypotheses begin with hear every frame; but the
// frames before count only of those that may still be extended, the others are closed. Frames are kept for as long as
// gamma of an open prefix is not negligible at them, so all of those in which nothing is said.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chains.hpp"
#include "ctc_prefixes.hpp"

namespace sonorant::decoding {

// Prefixes are numbered as the chains of their labels are.
class ArrivingCtc {
public:
    explicit ArrivingCtc(size_t symbols) : heard_(symbols), empty_{NONE, false, CtcPrefixes::empty(heard_)} {}

    size_t frames() const { return heard_.frames - heard_.first; }  // in memory

    // Lets all hear the next frame, [symbols], blank last. Throws std::invalid_argument for NaN, and has changed nothing.
    void push(const float* log_probs) {
        heard_.push(log_probs);
        // A prefix before the one without its last label, of which it needs the frames before this one.
        for (size_t i = prefixes_.size(); i-- > 0;) hear(prefixes_[i]);
        hear(empty_);
        size_t first = empty_.prefix.first;
        for (const Arriving& one : prefixes_) first = std::min(first, one.prefix.first);
        heard_.forget(first);
    }

    // Log-probabilities that the spelling of the frames so far begins with the prefix, and that it is the prefix.
    double log_psi(uint32_t prefix) const { return at(prefix).prefix.log_psi; }
    double log_spelt(uint32_t prefix) const { return CtcPrefixes::log_spelt(at(prefix).prefix); }

    // See `CtcPrefixes::write`; the prefix is not closed.
    void write(uint32_t prefix, double* gains) const { CtcPrefixes::write(heard_, at(prefix).prefix, gains); }

    // Adds a prefix with one label more than `before`, which is not closed.
    void add(uint32_t before, int32_t label) {
        prefixes_.push_back({before, false, CtcPrefixes::extended(heard_, at(before).prefix, label)});
    }

    // The prefix will not be extended any more.
    void close(uint32_t prefix) {
        at(prefix).closed = true;
        CtcPrefix& g = at(prefix).prefix;
        CtcPrefixes::forget(g, heard_.frames);
        g.unit.shrink_to_fit();
        g.blank.shrink_to_fit();
    }

    // Keeps those that have a new number, of all numbers so far; see `Chains::keep`.
    void keep(const std::vector<uint32_t>& moved) {
        std::vector<Arriving> kept;
        for (size_t i = 0; i < moved.size(); ++i) {
            if (moved[i] == NONE) continue;
            kept.push_back(std::move(prefixes_[i]));
            if (kept.back().before != NONE) kept.back().before = moved[kept.back().before];
        }
        prefixes_ = std::move(kept);
    }

private:
    static constexpr size_t FORGETS_EVERY = 256;  // frames, which no prefix needs for ever

    struct Arriving {
        uint32_t before;
        bool closed;
        CtcPrefix prefix;
    };

    const Arriving& at(uint32_t prefix) const { return prefix == NONE ? empty_ : prefixes_[prefix]; }
    Arriving& at(uint32_t prefix) { return prefix == NONE ? empty_ : prefixes_[prefix]; }

    void hear(Arriving& one) {
        CtcPrefix& h = one.prefix;
        double phi = CtcPrefixes::kNever;
        if (h.last >= 0) {
            const CtcPrefix& g = at(one.before).prefix;
            phi = CtcPrefixes::phi(g, g.unit.size() - 1, h.last);
        }
        CtcPrefixes::hear(h, phi, heard_, heard_.frames - 1);
        if (one.closed)
            CtcPrefixes::forget(h, heard_.frames);
        else if (h.unit.size() % FORGETS_EVERY == 0)
            CtcPrefixes::forget(h, CtcPrefixes::first_of(h));
    }

    CtcFrames heard_;
    Arriving empty_;
    std::vector<Arriving> prefixes_;
};

}  // namespace sonorant::decoding
