"""Transcripts: one spelling (`normalisation`), units and numbers (`units`), and error rates (`scoring`).

`Units` maps a transcript to numbers and back: words, characters or byte pairs (`pieces`). `align` pairs a hypothesis
with its reference, `error_rate` counts errors, `bootstrap_interval` gives their confidence interval. `transcripts`
reads files of transcripts.
"""
