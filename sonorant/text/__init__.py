"""Transcripts: one spelling (`normalisation`), units and numbers (`units`), and error rates (`scoring`).

`Units` maps a transcript to numbers and back: words, characters or byte pairs (`pieces`). `align` pairs a hypothesis
with its reference, `error_rate` counts, `bootstrap_interval` says how sure that is. `transcripts` reads files of them.
"""
