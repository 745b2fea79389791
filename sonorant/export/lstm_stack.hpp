// Uni-directional LSTM layers between an input normalisation, behind which may be a convolution of each vector, and a
// projection, for many streams at once.
// Part of kernels.cpp. A stream's outputs and states have the same bits alone and in any company, however its vectors
// are cut into calls: of each number all terms are added in one order.
#pragma once

constexpr size_t SLICE = 64;  // vectors, about, that a layer computes before the next one does, so that they stay cached

// One step of a row's cells: c = f c' + i g and h = o tanh(c), of the gates i, g, f and o before their nonlinearities.
FAST void step_cells(const float* __restrict gates, size_t cells, float* __restrict cell, float* __restrict hidden) {
    const float *input = gates, *candidate = gates + cells, *forget = candidate + cells, *output = forget + cells;
    for (size_t i = 0; i < cells; ++i) {
        cell[i] = sigmoid(forget[i]) * cell[i] + sigmoid(input[i]) * hyperbolic_tangent(candidate[i]);
        hidden[i] = sigmoid(output[i]) * hyperbolic_tangent(cell[i]);
    }
}

// The logarithm of the softmax of `scores`; `powers` is scratch of as many floats. Many symbols of a little probability
// each are summed in Float64.
FAST void log_softmax(const float* __restrict scores, size_t symbols, float* __restrict powers,
                      float* __restrict log_probs) {
    float most = scores[0];
    double sum = 0;
    for (size_t i = 1; i < symbols; ++i) most = std::max(most, scores[i]);
    for (size_t i = 0; i < symbols; ++i) powers[i] = exponential(scores[i] - most);
    for (size_t i = 0; i < symbols; ++i) sum += powers[i];
    const float rest = static_cast<float>(std::log(sum));
    for (size_t i = 0; i < symbols; ++i) log_probs[i] = scores[i] - most - rest;
}

struct LstmLayer {
    size_t inputs, cells;
    Affine from_input;
    Packed from_hidden;

    LstmLayer(const float* weight, size_t terms, size_t columns, const float* bias)
        : inputs(terms - columns / 4), cells(columns / 4), from_input(weight, inputs, columns, bias),
          from_hidden(weight + inputs * columns, cells, columns) {}
};

class LstmStack {
public:
    LstmStack(Floats mean, Floats deviation, Floats level, Floats running_mean,
              const std::optional<Convolution2d>& convolution, const std::vector<Weights>& layers,
              const Weights& projection)
        : bins_(mean.size()), mean_(mean.data(), mean.data() + bins_),
          deviation_(deviation.data(), deviation.data() + deviation.size()), convolution_(convolution),
          projection_(projection, "LstmStack: weight of the projection"), symbols_(projection_.columns) {
        expect(deviation.size() == bins_, "LstmStack: mean and deviation of unequal size");
        expect(level.size() == 0 || level.size() == 2, "LstmStack: expected two numbers of the level, or none");
        expect(running_mean.size() == 0 || running_mean.size() == 4, "LstmStack: expected four of the mean, or none");
        if (level.size()) level_ = RunningLevel{level.data()[0], level.data()[1]};
        if (running_mean.size()) {
            const float* of = running_mean.data();
            running_mean_ = RunningMean{of[0], of[1], of[2], of[3]};
        }
        expect(!convolution_ || convolution_->bins == bins_, "LstmStack: the convolution is of vectors of other bins");
        size_t inputs = convolution_ ? convolution_->size : bins_;
        for (const auto& [weight, bias] : layers) {
            const size_t cells = bias.size() / 4;
            expect(cells && bias.size() % 4 == 0, "LstmStack: a layer's bias must have four numbers for each cell");
            expect_shape(weight, inputs + cells, 4 * cells, "LstmStack: weight of layer " + std::to_string(layers_.size()));
            layers_.emplace_back(weight.data(), weight.shape(0), weight.shape(1), bias.data());
            inputs = cells;
            numbers_ += 2 * cells;
        }
        expect(!layers_.empty() && symbols_, "LstmStack: expected layers, and symbols");
        expect_shape(projection.first, inputs, projection.second.size(), "LstmStack: weight of the projection");
        numbers_ += (level_ ? 1 : 0) + (running_mean_ ? bins_ + 2 : 0);
    }

    void advance(const ConstRows& features, const Integers& lengths, const Rows& states, const Rows& log_probs) const {
        const nb::gil_scoped_release released;
        const size_t streams = lengths.size(), vectors = features.shape(0);
        size_t sum = 0;
        for (size_t stream = 0; stream < streams; ++stream) {
            expect(lengths.data()[stream] >= 0, "advance: a length below 0");
            sum += lengths.data()[stream];
        }
        expect(sum == vectors, "advance: the sum of lengths is not the number of vectors");
        expect(features.shape(1) == bins_ || !vectors, "advance: vectors of other bins");
        expect(states.shape(0) == streams && (states.shape(1) == numbers_ || !streams), "advance: states of another size");
        expect(log_probs.shape(0) == vectors && (log_probs.shape(1) == symbols_ || !vectors),
               "advance: log_probs of another size");
        if (vectors) run(features.data(), lengths.data(), streams, states.data(), log_probs.data());
    }

private:
    struct Scratch {
        std::vector<float> inputs, gates, hidden, powers;
        std::vector<size_t> places;  // of each vector of the slice, among all
        std::vector<size_t> counts;  // of streams, step by step
    };

    struct Stream {
        size_t first, length;
        float* state;
    };

    void run(const float* features, const int32_t* lengths, size_t count, float* states, float* log_probs) const {
        static thread_local Scratch scratch;
        std::vector<Stream> streams;
        streams.reserve(count);
        size_t first = 0;
        for (size_t i = 0; i < count; first += lengths[i], ++i)
            streams.push_back({first, static_cast<size_t>(lengths[i]), states + i * numbers_});
        // Those that go on come first, in every step.
        std::stable_sort(streams.begin(), streams.end(), [](auto& a, auto& b) { return a.length > b.length; });
        const size_t steps = std::max<size_t>(1, SLICE / count);
        for (size_t begin = 0; begin < streams[0].length; begin += steps)
            slice(streams, begin, std::min(streams[0].length, begin + steps), features, log_probs, scratch);
    }

    // Compute the vectors `begin` up to `end` of each stream.
    void slice(const std::vector<Stream>& streams, size_t begin, size_t end, const float* features, float* log_probs,
               Scratch& scratch) const {
        auto& [inputs, gates, hidden, powers, places, counts] = scratch;
        places.clear();
        counts.clear();
        size_t going = streams.size();
        for (size_t step = begin; step < end; ++step) {
            while (streams[going - 1].length <= step) --going;
            counts.push_back(going);
            for (size_t i = 0; i < going; ++i) places.push_back(streams[i].first + step);
        }
        inputs.resize(places.size() * bins_);
        for (size_t at = 0, step = 0; step < counts.size(); ++step)
            for (size_t i = 0; i < counts[step]; ++i, ++at)
                normal(features + places[at] * bins_, streams[i].state, inputs.data() + at * bins_);
        if (convolution_) convolution_->apply(inputs, places.size());
        size_t offset = 0;  // in a state: of the layer's cells, behind which is its hidden state
        for (const LstmLayer& layer : layers_) {
            apply(layer, offset, streams, scratch);
            offset += 2 * layer.cells;
        }
        projection_.apply(inputs.data(), projection_.weight.terms, places.size(), gates);
        powers.resize(symbols_);
        for (size_t at = 0; at < places.size(); ++at)
            log_softmax(gates.data() + at * projection_.width(), symbols_, powers.data(),
                        log_probs + places[at] * symbols_);
    }

    void normal(const float* vector, float* state, float* out) const {
        float* own = state + numbers_ - (level_ ? 1 : 0) - (running_mean_ ? bins_ + 2 : 0);
        if (level_)
            divide_by_level(*level_, vector, bins_, own++, out);
        else
            std::copy_n(vector, bins_, out);
        normalise(mean_.data(), deviation_.data(), bins_, out);
        if (running_mean_) subtract_mean(*running_mean_, bins_, own, out);
    }

    // The layer's outputs take the place of its inputs.
    static void apply(const LstmLayer& layer, size_t offset, const std::vector<Stream>& streams, Scratch& scratch) {
        const size_t cells = layer.cells, width = layer.from_input.width();
        auto& [inputs, gates, hidden, powers, places, counts] = scratch;
        layer.from_input.apply(inputs.data(), layer.inputs, places.size(), gates);
        inputs.resize(places.size() * cells);
        hidden.resize(counts[0] * cells);
        for (size_t i = 0; i < counts[0]; ++i)
            std::copy_n(streams[i].state + offset + cells, cells, hidden.data() + i * cells);
        size_t at = 0;
        for (const size_t count : counts) {
            add_products(hidden.data(), cells, count, layer.from_hidden.lanes.data(), cells, layer.from_hidden.panels,
                         gates.data() + at * width, width);
            for (size_t i = 0; i < count; ++i, ++at) {
                step_cells(gates.data() + at * width, cells, streams[i].state + offset, hidden.data() + i * cells);
                std::copy_n(hidden.data() + i * cells, cells, inputs.data() + at * cells);
            }
        }
        for (size_t i = 0; i < counts[0]; ++i)
            std::copy_n(hidden.data() + i * cells, cells, streams[i].state + offset + cells);
    }

    size_t bins_;
    std::vector<float> mean_, deviation_;
    std::optional<RunningLevel> level_;
    std::optional<RunningMean> running_mean_;
    std::optional<Convolution2d> convolution_;
    std::vector<LstmLayer> layers_;
    Affine projection_;
    size_t symbols_, numbers_ = 0;  // numbers of a state
};
