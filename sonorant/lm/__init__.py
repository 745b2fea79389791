"""N-gram language models: what is read, scored and trained, by compiled code.

`NgramModel` (`model`) gives log10 p(word | state) and the next `State`: back-off, unknown words, sentence bounds. It is
read from ARPA, plain or gzipped, or from kenlm's binary files, and never changes: threads may share it.
`Perplexity` (`perplexity`) is what a text costs under it, and `unigrams` is the context-free prior of labels.
`train` (`training`) estimates interpolated modified Kneser-Ney from text and writes ARPA, whole or not at all.
The model is a C++ header without dependencies, `sonorant/lm/ngram.hpp`: a compiled search includes it and takes an
`NgramModel` from Python. All are in log10, as ARPA files are; a search multiplies by ln 10.
"""
