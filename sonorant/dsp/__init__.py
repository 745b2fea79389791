"""Signal processing: functions of arrays and a generator. Only `noise_folder` reads files.

The stages, in the order of what they imitate. A speaker: `speed`, `vtlp` (its kernel is `peaks`), `lombard` (it takes
`stretch`). A place: `scene` draws a room, `decay` finds the absorption for its T60, `room` computes its impulse
responses (`late_tail` their end, if asked to), `noise_source`, `noise` and `noise_folder` say what is heard besides,
and `mixing` plays it all at the drawn SNR; `noise_styles` draws from a catalogue of scenes; `superposition` adds noise
without a room. What records and transmits: `gain`, `equaliser`, `telephone`. `features` ends the chain (its filters are
in `mel`). `stage` says what a stage is, `stages` is the registry, `resources` what a stage may read beside its example,
`fft_sizes` a choice of transform lengths, `kernels` the compiled inner loops.

Waveforms are float32, nominally in [-1, 1]; `speed` and `lombard` move word spans, as does `scene` if asked to keep the
direct sound's delay; all others keep length and timing, so that word spans hold after them.
"""
