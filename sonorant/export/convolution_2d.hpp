// Convolutions over frames and mel bins of stacked vectors, with max-pooling over bins, and a linear projection.
// Part of kernels.cpp. What comes of a vector depends on that vector alone.
#pragma once

// Of the values between layers: bin after bin, of a bin frame after frame, of a frame channel after channel.
struct Extent {
    size_t bins, frames, channels;

    size_t step() const { return frames * channels; }  // from bin to bin
    size_t size() const { return bins * step(); }
};

struct Windows {
    size_t frames, stride, pool;  // stride: in frames; pool: neighbouring windows, bin by bin, that have one maximum
};

struct Filters {
    Windows windows;
    Weights weights;  // kernel [values of a window, filters], those of a bin one after another, and bias
    std::string name;
};

// Overwrite columns [size, count] by rows [count, size].
FAST void transpose(const float* rows, size_t count, size_t size, float* __restrict columns) {
    for (size_t row = 0; row < count; ++row)
        for (size_t i = 0; i < size; ++i) columns[i * count + row] = rows[row * size + i];
}

// Overwrite maxima [count, filters], `step` from row to row, by the largest of 0 and `pool` rows of sums each; what is
// no number stays none.
FAST void rectified_maxima(const float* sums, size_t sums_step, size_t count, size_t pool, size_t filters,
                           float* __restrict maxima, size_t step) {
    for (size_t at = 0; at < count; ++at, maxima += step) {
        std::fill_n(maxima, filters, 0.f);
        for (size_t i = 0; i < pool; ++i, sums += sums_step)
            for (size_t filter = 0; filter < filters; ++filter) {
                const float sum = sums[filter], most = maxima[filter];
                maxima[filter] = sum > most || sum != sum ? sum : most;
            }
    }
}

class ConvolutionLayer {
public:
    // unit: what errors call the bins of the inputs.
    ConvolutionLayer(const Extent& inputs_, const Filters& of, const char* unit)
        : inputs(inputs_), windows_(of.windows), filters_(of.weights, of.name) {
        const auto [frames, stride, pool] = windows_;
        const auto text = [](size_t number) { return std::to_string(number); };
        const auto expect_at_most = [&](size_t most, size_t found, const std::string& what) {
            expect(found <= most, of.name + what + ": " + text(found) + "; expected at most " + text(most));
        };
        expect(frames && stride && pool, of.name + ": frames " + text(frames) + ", stride " + text(stride) + ", pool " +
                                             text(pool) + "; expected at least 1 of each");
        expect_at_most(inputs.frames, frames, " of more than all frames");
        const size_t terms = filters_.weight.terms, of_bin = frames * inputs.channels;
        expect(terms && filters_.columns && terms % of_bin == 0,
               of.name + ": windows of " + text(terms) + " values for " + text(filters_.columns) +
                   " filters; expected a multiple of " + text(of_bin) + " for at least 1");
        const size_t width = terms / of_bin;
        expect_at_most(inputs.bins, width, std::string(" of more than all ") + unit);
        expect_at_most(inputs.bins - width + 1, pool, ": maxima over more than all positions");
        outputs = {(inputs.bins - width + 1) / pool, (inputs.frames - frames) / stride + 1, filters_.columns};
        bins_read_ = outputs.bins * pool + width - 1;
    }

    // patch: scratch of as many floats as the inputs; sums: scratch.
    void apply(const float* values, float* patch, std::vector<float>& sums, float* maxima) const {
        const size_t positions = outputs.bins * windows_.pool;
        for (size_t time = 0; time < outputs.frames; ++time, maxima += outputs.channels) {
            filters_.apply(frames_at(time, values, patch), windows_.frames * inputs.channels, positions, sums);
            rectified_maxima(sums.data(), filters_.width(), outputs.bins, windows_.pool, outputs.channels, maxima,
                             outputs.step());
        }
    }

    Extent inputs, outputs;

private:
    // Return the frames of a position in time, bin after bin: windows are rows of these, and overlap.
    const float* frames_at(size_t time, const float* values, float* patch) const {
        const size_t count = windows_.frames * inputs.channels;
        if (count == inputs.step()) return values;
        values += time * windows_.stride * inputs.channels;
        for (size_t bin = 0; bin < bins_read_; ++bin)
            std::copy_n(values + bin * inputs.step(), count, patch + bin * count);
        return patch;
    }

    Windows windows_;
    Affine filters_;
    size_t bins_read_;  // up to the last whole pool's
};

class Convolution2d {
public:
    // bins: of a stacked vector of so many frames; layers: frames, stride, pool and weights of each.
    Convolution2d(size_t bins, size_t frames, const std::vector<std::tuple<size_t, size_t, size_t, Weights>>& layers,
                  const Weights& projection)
        : Convolution2d("Convolution2d: ", bins, frames, named(layers), projection) {}

    // Vectors [count, bins] become vectors [count, size].
    void apply(std::vector<float>& vectors, size_t count) const {
        static thread_local Scratch scratch;
        auto& [values, maxima, patch, sums, found] = scratch;
        for (auto* buffer : {&values, &maxima, &patch}) buffer->resize(largest_);
        const Extent inputs = layers_.front().inputs;
        const size_t flat = layers_.back().outputs.size();
        found.resize(count * flat);
        for (size_t at = 0; at < count; ++at) {
            transpose(vectors.data() + at * bins, inputs.frames, inputs.bins, values.data());
            for (const ConvolutionLayer& layer : layers_) {
                layer.apply(values.data(), patch.data(), sums, maxima.data());
                std::swap(values, maxima);
            }
            std::copy_n(values.data(), flat, found.data() + at * flat);
        }
        projection_.apply(found.data(), flat, count, sums);
        vectors.resize(count * size);
        for (size_t at = 0; at < count; ++at)
            std::copy_n(sums.data() + at * projection_.width(), size, vectors.data() + at * size);
    }

    const size_t bins, size;  // of a vector before and after

protected:
    Convolution2d(const std::string& here, size_t bins, size_t frames, const std::vector<Filters>& layers,
                  const Weights& projection)
        : bins(bins), size(projection.first.shape(1)), largest_(bins),
          projection_(projection, here + "weight of the projection") {
        const std::string found = std::to_string(bins), of = std::to_string(frames);
        expect(frames && bins && bins % frames == 0,
               here + "bins of a vector: " + found + "; expected a multiple of " + of + " frames");
        expect(!layers.empty(), here + "layers: 0; expected at least 1");
        Extent extent{bins / frames, frames, 1};
        for (const auto& [windows, weights, name] : layers) {
            layers_.emplace_back(extent, Filters{windows, weights, here + name}, layers_.empty() ? "bins" : "maxima");
            extent = layers_.back().outputs;
            largest_ = std::max(largest_, extent.size());
        }
        expect(size, here + "projection to nothing");
        expect_shape(projection.first, extent.size(), size, here + "weight of the projection");
    }

private:
    struct Scratch {
        std::vector<float> values, maxima, patch, sums, found;
    };

    static std::vector<Filters> named(const std::vector<std::tuple<size_t, size_t, size_t, Weights>>& layers) {
        std::vector<Filters> found;
        for (const auto& [frames, stride, pool, weights] : layers)
            found.push_back({{frames, stride, pool}, weights, "filters " + std::to_string(found.size())});
        return found;
    }

    size_t largest_;  // number of values before or behind a layer
    std::vector<ConvolutionLayer> layers_;
    Affine projection_;
};
