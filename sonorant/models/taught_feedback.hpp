// A decoder that additive attention with weight feedback drives. Part of kernels.cpp; `attention.py` has the formulae.
#pragma once

class TaughtFeedback : TaughtDecoder {
public:
    TaughtFeedback(Floats<2> weight, Floats<2> query, Floats<3> encoded, Integers<1> lengths, Floats<3> keys,
                   Floats<2> fertility, Floats<1> energy, Floats<1> feedback)
        : TaughtDecoder(weight, query, encoded, lengths, keys), fertility_(fertility), energy_(energy),
          feedback_(feedback) {
        sizes_.expect_of_rows(fertility, sizes_.frames, "fertility: expected [B, T]");
        expect(energy.shape(0) == sizes_.queries, "energy: expected [Q]");
        expect(feedback.shape(0) == sizes_.queries, "feedback: expected [Q]");
    }

    void forward(Floats<3> products, size_t threads, Sums<3> gates, Sums<3> cells, Sums<3> hidden, Sums<3> contexts,
                 Sums<3> queries, Sums<3> weights, Sums<3> feedbacks) const {
        const DecoderSizes sizes = sizes_of(products.shape(0));
        sizes.expect_of_labels(weights, sizes.frames, "weights: expected [L, B, T]");
        sizes.expect_of_labels(feedbacks, sizes.frames, "feedbacks: expected [L, B, T]");
        const Forward attention{*this, sizes, weights.data(), feedbacks.data()};
        TaughtDecoder::forward(products, attention, threads, gates, cells, hidden, contexts, queries);
    }

    void backward(Floats<3> d_hidden, Floats<3> d_contexts, Floats<3> d_weights, Floats<3> gates, Floats<3> cells,
                  Floats<3> queries, Floats<3> weights, Floats<3> feedbacks, size_t threads, Sums<3> d_gates,
                  Sums<3> d_queries, Sums<3> d_encoded, Sums<3> d_keys, Sums<2> d_fertility, Sums<2> d_energy,
                  Sums<2> d_feedback) const {
        const DecoderSizes sizes = sizes_of(gates.shape(0));
        sizes.expect_of_labels(d_weights, sizes.frames, "d_weights: expected [L, B, T]");
        sizes.expect_of_labels(weights, sizes.frames, "weights: expected [L, B, T]");
        sizes.expect_of_labels(feedbacks, sizes.frames, "feedbacks: expected [L, B, T]");
        sizes.expect_of_frames(d_encoded, sizes.encoded, "d_encoded: expected [B, T, encoded]");
        sizes.expect_of_frames(d_keys, sizes.queries, "d_keys: expected [B, T, Q]");
        sizes.expect_of_rows(d_fertility, sizes.frames, "d_fertility: expected [B, T]");
        sizes.expect_of_rows(d_energy, sizes.queries, "d_energy: expected [B, Q]");
        sizes.expect_of_rows(d_feedback, sizes.queries, "d_feedback: expected [B, Q]");
        for (Sums<3>* one : {&d_encoded, &d_keys}) std::fill_n(one->data(), one->size(), 0.0f);
        for (Sums<2>* one : {&d_fertility, &d_energy, &d_feedback}) std::fill_n(one->data(), one->size(), 0.0f);
        std::vector<float> d_after(sizes.rows * sizes.frames);
        const Backward attention{*this, sizes, weights.data(), feedbacks.data(), d_weights.data(), d_encoded.data(),
                                 d_keys.data(), d_fertility.data(), d_energy.data(), d_feedback.data(), d_after.data()};
        TaughtDecoder::backward(d_hidden, d_contexts, gates, cells, queries, attention, threads, d_gates, d_queries);
    }

private:
    struct Scratch {
        std::vector<float> activations, d_energies;

        explicit Scratch(const DecoderSizes& sizes) : activations(sizes.queries), d_energies(sizes.frames) {}
    };

    struct Forward {
        using Scratch = TaughtFeedback::Scratch;
        const TaughtFeedback& decoder;
        DecoderSizes sizes;
        float *weights, *feedbacks;  // alpha, and beta before the label

        void attend(size_t label, size_t row, const float* query, float* context, Scratch& scratch) const {
            const size_t frames = sizes.frames, length = decoder.length(row);
            const float* fertility = decoder.fertility_.data() + row * frames;
            float *now = weights + sizes.at(label, row) * frames, *before = feedbacks + sizes.at(label, row) * frames;
            if (label == 0) std::fill_n(before, frames, 0.0f);
            energies_forward(decoder.energies(row, query, before), scratch.activations.data(), now);
            make_softmax(now, length);
            std::fill(now + length, now + frames, 0.0f);
            sum_frames(now, decoder.frames(row), length, sizes.encoded, context);
            if (label + 1 == sizes.labels) return;
            float* after = feedbacks + sizes.at(label + 1, row) * frames;
            for (size_t frame = 0; frame < frames; ++frame)
                after[frame] = before[frame] + now[frame] * fertility[frame];
        }
    };

    struct Backward {
        using Scratch = TaughtFeedback::Scratch;
        const TaughtFeedback& decoder;
        DecoderSizes sizes;
        const float *weights, *feedbacks, *d_weights;
        float *d_encoded, *d_keys, *d_fertility, *d_energy, *d_feedback;
        float* d_after;  // of beta after the label, then before it, [B, T]

        void differentiate(size_t label, size_t row, const float* query, const float* d_context, float* d_query,
                           Scratch& scratch) const {
            const size_t frames = sizes.frames, size = sizes.queries, length = decoder.length(row);
            const size_t at = sizes.at(label, row) * frames, of_row = row * frames;
            const float *now = weights + at, *fertility = decoder.fertility_.data() + of_row;
            float *d_now = scratch.d_energies.data(), mean = 0;
            for (size_t frame = 0; frame < length; ++frame) {
                d_now[frame] = d_weights[at + frame] + d_after[of_row + frame] * fertility[frame];
                d_fertility[of_row + frame] += d_after[of_row + frame] * now[frame];
            }
            sum_frames_backward(now, decoder.frames(row), length, sizes.encoded, d_context, d_now,
                                d_encoded + of_row * sizes.encoded);
            for (size_t frame = 0; frame < length; ++frame) mean += now[frame] * d_now[frame];
            for (size_t frame = 0; frame < length; ++frame) d_now[frame] = now[frame] * (d_now[frame] - mean);
            energies_backward(decoder.energies(row, query, feedbacks + at), d_now, scratch.activations.data(),
                              {d_keys + of_row * size, d_query, d_energy + row * size, d_feedback + row * size,
                               d_after + of_row});
        }
    };

    Energies energies(size_t row, const float* query, const float* feedback) const {
        const size_t size = sizes_.queries;
        return {length(row), size, size, keys(row), query, energy_.data(), feedback_.data(), feedback};
    }

    Floats<2> fertility_;
    Floats<1> energy_, feedback_;
};
