"""Connectionist temporal classification (Graves 2006): what frames of units and a blank say of given labels.

`kernels.cpp` has it compiled, below objectives and decoding, which both ask it: the sum over all paths that spell the
labels with its gradient (`ctc.hpp`), the most probable path (`forced_alignment.hpp`), and the frames of the labels on
it (`spikes.hpp`). An utterance's bits are the same in any batch, and with any number of threads.
"""
