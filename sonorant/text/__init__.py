"""Transcripts: one spelling (`normalisation`), units and numbers (`units`), and error rates (`scoring`).

`Units` maps a transcript to numbers and back: words, characters or sub-words (`pieces`), Korean by syllable or by jamo
(`hangul`). `align` pairs a hypothesis with its reference, `error_rate` counts errors, `bootstrap_interval` gives their
confidence interval; `bleu` and `respace` serve BLEU and the space-normalized WER. `side_by_side` shows alignments as
text and HTML, `visible` escapes control characters. `transcripts` reads files of transcripts. `formatting` writes
spoken words with figures, dates and signs.
"""
