"""Signal processing: functions of arrays and a generator, without any I/O of their own but noise recordings.

The way of an utterance: `vtlp` changes the speaker; `scene` draws a room, which `room` turns into impulse responses,
`noise` fills with sound and `mixing` plays at a given SNR; `features` ends the chain. `stages` is the registry.
Waveforms are float32 in [-1, 1] throughout, and what a stage puts out has the length of what it got.
"""
