"""Signal processing: functions of arrays and a generator. Only `noise_folder` reads files.

The way of an utterance: `vtlp` makes another speaker of the speaker (its kernel is `peaks`); `scene` draws a room,
`room` computes its impulse responses, `noise` and `noise_folder` say what is heard besides, and `mixing` plays it all
at the drawn SNR; `features` ends the chain (its filters are in `mel`). `stages` is the registry, `resources` what a
stage may read beside its example, `fft_sizes` a choice of transform lengths.

Waveforms are float32, nominally in [-1, 1]; vtlp and room keep length and timing, so word spans hold after them.
"""
