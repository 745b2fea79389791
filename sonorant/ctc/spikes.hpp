// Where the most probable path of CTC has each of its labels. Part of kernels.cpp.
#pragma once

// Write the frame of each label's highest probability on the path, or leave those of labels that no path spells.
void find_spikes(const Utterance& of, std::vector<int64_t>& path, int32_t* spikes) {
    const int64_t blank = static_cast<int64_t>(of.symbols) - 1;
    const std::vector<int64_t> labels(of.labels, of.labels + of.count);
    const sonorant::ctc::ForcedAlignment alignment(labels, blank);
    path.resize(of.frames);
    if (of.frames == 0 || !alignment(of.log_probs, of.frames, of.symbols, path.data())) return;
    int32_t* next = spikes;
    float highest = 0;
    for (size_t frame = 0; frame < of.frames; ++frame) {
        if (path[frame] == blank) continue;
        const bool begins = frame == 0 || path[frame] != path[frame - 1];
        const float log_prob = of.at(frame)[path[frame]];
        next += begins;
        if (begins || log_prob > highest) {
            highest = log_prob;
            next[-1] = static_cast<int32_t>(frame);
        }
    }
}

void ctc_spikes(Floats<3> log_probs, Integers<1> lengths, Integers<2> labels, Integers<1> label_lengths, size_t threads,
                Spikes spikes) {
    const Utterances utterances(log_probs, lengths, labels, label_lengths);
    expect(spikes.shape(0) == labels.shape(0) && spikes.shape(1) == labels.shape(1), "spikes: expected [B, L]");
    const nb::gil_scoped_release released;
    std::fill_n(spikes.data(), spikes.size(), 0);
    share(utterances.count, threads, 1, [&](size_t first, size_t last) {
        std::vector<int64_t> path;
        for (size_t row = first; row < last; ++row) find_spikes(utterances[row], path, spikes.data() + row * utterances.width);
    });
}
