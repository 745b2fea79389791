// A decoder that monotonic chunkwise attention in expectation drives. Part of kernels.cpp; `monotonic_attention.py` has
// the formulae. The head's distribution is computed by its recursion, in double precision.
#pragma once

class TaughtMonotonic : TaughtDecoder {
public:
    TaughtMonotonic(Floats<2> weight, Floats<2> query, Floats<3> encoded, Integers<1> lengths, Floats<3> keys,
                    Floats<3> noise, Floats<1> energy, size_t chunk)
        : TaughtDecoder(weight, query, encoded, lengths, keys), noise_(noise), energy_(energy), chunk_(chunk) {
        expect(sizes_.queries % 2 == 0, "keys: expected those of both energies, side by side");
        expect(energy.shape(0) == sizes_.queries, "energy: expected [Q]");
        expect(chunk > 0, "chunk: expected 1 or more");
    }

    void forward(Floats<3> products, size_t threads, Sums<3> gates, Sums<3> cells, Sums<3> hidden, Sums<3> contexts,
                 Sums<3> queries, Sums<3> alphas, Sums<3> energies, Sums<3> chunk_energies) const {
        const DecoderSizes sizes = sizes_of(products.shape(0));
        sizes.expect_of_labels(noise_, sizes.frames, "noise: expected [L, B, T]");
        sizes.expect_of_labels(alphas, sizes.frames, "alphas: expected [L, B, T]");
        sizes.expect_of_labels(energies, sizes.frames, "energies: expected [L, B, T]");
        sizes.expect_of_labels(chunk_energies, sizes.frames, "chunk_energies: expected [L, B, T]");
        const Forward attention{*this, sizes, noise_.data(), alphas.data(), energies.data(), chunk_energies.data()};
        TaughtDecoder::forward(products, attention, threads, gates, cells, hidden, contexts, queries);
    }

    void backward(Floats<3> d_hidden, Floats<3> d_contexts, Floats<3> d_alphas, Floats<3> gates, Floats<3> cells,
                  Floats<3> queries, Floats<3> alphas, Floats<3> energies, Floats<3> chunk_energies, size_t threads,
                  Sums<3> d_gates, Sums<3> d_queries, Sums<3> d_encoded, Sums<3> d_keys, Sums<3> d_noise,
                  Sums<2> d_energy) const {
        const DecoderSizes sizes = sizes_of(gates.shape(0));
        for (const Floats<3>& one : {d_alphas, alphas, energies, chunk_energies})
            sizes.expect_of_labels(one, sizes.frames, "alphas and energies: expected [L, B, T]");
        sizes.expect_of_frames(d_encoded, sizes.encoded, "d_encoded: expected [B, T, encoded]");
        sizes.expect_of_frames(d_keys, sizes.queries, "d_keys: expected [B, T, Q]");
        sizes.expect_of_rows(d_energy, sizes.queries, "d_energy: expected [B, Q]");
        sizes.expect_of_labels(d_noise, sizes.frames, "d_noise: expected [L, B, T]");
        for (Sums<3>* one : {&d_encoded, &d_keys, &d_noise}) std::fill_n(one->data(), one->size(), 0.0f);
        std::fill_n(d_energy.data(), d_energy.size(), 0.0f);
        std::vector<double> d_before(sizes.rows * sizes.frames);
        const Backward attention{*this, sizes, alphas.data(), energies.data(), chunk_energies.data(), d_alphas.data(),
                                 d_encoded.data(), d_keys.data(), d_energy.data(), d_noise.data(), d_before.data()};
        TaughtDecoder::backward(d_hidden, d_contexts, gates, cells, queries, attention, threads, d_gates, d_queries);
    }

private:
    struct Scratch {
        std::vector<float> activations, weights, d_weights, d_chunk_energies, chunk;
        std::vector<double> arrivals;

        explicit Scratch(const DecoderSizes& sizes)
            : activations(sizes.queries), weights(sizes.frames), d_weights(sizes.frames),
              d_chunk_energies(sizes.frames), arrivals(sizes.frames) {}
    };

    // Of the head: that it stops at a frame with such an energy, and that it does not.
    static double stops(float energy) { return 1 / (1 + static_cast<double>(exponential(-energy))); }
    static double goes_on(float energy) { return 1 / (1 + static_cast<double>(exponential(energy))); }

    // Beside 1; denormal numbers, which it would become in many frames, are slow.
    static double unless_negligible(double probability) { return probability < 1e-30 ? 0 : probability; }

    // q of each frame, that the head comes there; before: its distribution for the label before, null if there is none.
    static void arrive(const float* energies, const float* before, size_t frames, double* arrivals) {
        double passes = 0;
        for (size_t frame = 0; frame < frames; ++frame) {
            arrivals[frame] = passes + (before ? before[frame] : frame == 0);
            passes = unless_negligible(goes_on(energies[frame]) * arrivals[frame]);
        }
    }

    // Make `shares` the softmax of the chunk that ends with a frame; return its first frame.
    size_t share_chunk(const float* energies, size_t frame, std::vector<float>& shares) const {
        const size_t first = frame + 1 - std::min(chunk_, frame + 1);
        shares.assign(energies + first, energies + frame + 1);
        make_softmax(shares.data(), shares.size());
        return first;
    }

    // beta of each frame.
    void weigh(const float* alphas, const float* chunk_energies, size_t frames, Scratch& scratch) const {
        std::fill(scratch.weights.begin(), scratch.weights.end(), 0.0f);
        for (size_t frame = 0; frame < frames; ++frame) {
            const size_t first = share_chunk(chunk_energies, frame, scratch.chunk);
            for (size_t i = 0; i < scratch.chunk.size(); ++i)
                scratch.weights[first + i] += alphas[frame] * scratch.chunk[i];
        }
    }

    struct Forward {
        using Scratch = TaughtMonotonic::Scratch;
        const TaughtMonotonic& decoder;
        DecoderSizes sizes;
        const float* noise;
        float *alphas, *energies, *chunk_energies;

        void attend(size_t label, size_t row, const float* query, float* context, Scratch& scratch) const {
            const size_t frames = sizes.frames, length = decoder.length(row), at = sizes.at(label, row) * frames;
            const float* before = label ? alphas + sizes.at(label - 1, row) * frames : nullptr;
            energies_forward(decoder.head(row, query), scratch.activations.data(), energies + at);
            energies_forward(decoder.chunk(row, query), scratch.activations.data(), chunk_energies + at);
            for (size_t frame = 0; frame < length; ++frame) energies[at + frame] += noise[at + frame];
            arrive(energies + at, before, length, scratch.arrivals.data());
            for (size_t frame = 0; frame < length; ++frame)
                alphas[at + frame] = static_cast<float>(
                    unless_negligible(stops(energies[at + frame]) * scratch.arrivals[frame]));
            for (float* one : {alphas, energies, chunk_energies}) std::fill(one + at + length, one + at + frames, 0.0f);
            decoder.weigh(alphas + at, chunk_energies + at, length, scratch);
            sum_frames(scratch.weights.data(), decoder.frames(row), length, sizes.encoded, context);
        }
    };

    struct Backward {
        using Scratch = TaughtMonotonic::Scratch;
        const TaughtMonotonic& decoder;
        DecoderSizes sizes;
        const float *alphas, *energies, *chunk_energies, *d_alphas;
        float *d_encoded, *d_keys, *d_energy, *d_noise;
        double* d_before;  // of alpha of the label, then of the one before, [B, T]

        void differentiate(size_t label, size_t row, const float* query, const float* d_context, float* d_query,
                           Scratch& scratch) const {
            const size_t frames = sizes.frames, size = sizes.queries, half = size / 2, length = decoder.length(row);
            const size_t at = sizes.at(label, row) * frames, of_row = row * frames;
            decoder.weigh(alphas + at, chunk_energies + at, length, scratch);
            std::fill(scratch.d_weights.begin(), scratch.d_weights.end(), 0.0f);
            sum_frames_backward(scratch.weights.data(), decoder.frames(row), length, sizes.encoded, d_context,
                                scratch.d_weights.data(), d_encoded + of_row * sizes.encoded);
            for (size_t frame = 0; frame < length; ++frame) d_before[of_row + frame] += d_alphas[at + frame];
            chunks_backward(at, length, d_before + of_row, scratch);
            const float* before = label ? alphas + sizes.at(label - 1, row) * frames : nullptr;
            head_backward(at, before, length, d_before + of_row, scratch);
            float *d_keys_of = d_keys + of_row * size, *d_vector = d_energy + row * size;
            energies_backward(decoder.head(row, query), d_noise + at, scratch.activations.data(),
                              {d_keys_of, d_query, d_vector, nullptr, nullptr});
            energies_backward(decoder.chunk(row, query), scratch.d_chunk_energies.data(), scratch.activations.data(),
                              {d_keys_of + half, d_query + half, d_vector + half, nullptr, nullptr});
        }

        // From the weights of frames to alpha and to the chunks' energies.
        void chunks_backward(size_t at, size_t length, double* d_alpha, Scratch& scratch) const {
            std::fill(scratch.d_chunk_energies.begin(), scratch.d_chunk_energies.end(), 0.0f);
            for (size_t frame = 0; frame < length; ++frame) {
                const size_t first = decoder.share_chunk(chunk_energies + at, frame, scratch.chunk);
                const float* d_weights = scratch.d_weights.data() + first;
                float mean = 0;
                for (size_t i = 0; i < scratch.chunk.size(); ++i) mean += scratch.chunk[i] * d_weights[i];
                for (size_t i = 0; i < scratch.chunk.size(); ++i)
                    scratch.d_chunk_energies[first + i] +=
                        alphas[at + frame] * scratch.chunk[i] * (d_weights[i] - mean);
                d_alpha[frame] += mean;
            }
        }

        // From alpha to the head's energies, and to alpha of the label before.
        void head_backward(size_t at, const float* before, size_t length, double* d_alpha, Scratch& scratch) const {
            double* arrivals = scratch.arrivals.data();
            arrive(energies + at, before, length, arrivals);
            double d_later = 0;  // of q of the frame after
            for (size_t frame = length; frame-- > 0;) {
                const double stop = stops(energies[at + frame]), on = goes_on(energies[at + frame]);
                const double by_stop = (d_alpha[frame] - d_later) * arrivals[frame];
                d_noise[at + frame] = static_cast<float>(by_stop * stop * on);
                d_alpha[frame] = d_later = d_alpha[frame] * stop + d_later * on;
            }
        }
    };

    Energies head(size_t row, const float* query) const {
        return {length(row), sizes_.queries / 2, sizes_.queries, keys(row), query, energy_.data(), nullptr, nullptr};
    }

    Energies chunk(size_t row, const float* query) const {
        const size_t half = sizes_.queries / 2;
        return {length(row), half, sizes_.queries, keys(row) + half, query + half, energy_.data() + half, nullptr,
                nullptr};
    }

    Floats<3> noise_;
    Floats<1> energy_;
    size_t chunk_;
};
