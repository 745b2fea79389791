"""Models: definitions, no losses, searches or training loops.

`family.py` has the contract: a `Model` names its `Symbols`, maps `Inputs` to `Outputs` in training and, if it is
`Streaming`, vectors and state to outputs and state in recognition; `Framing` says which frames it has of an
utterance. `registry.py` builds one from a recipe's section, and lists the families. Each is a file, each layer that
families share another (`lstm.py`, by one of three kernels, `clipped_recurrence.py`, by one of two,
`batch_normalisation.py`, by one of two, `dropout.py`, and `input_normalisation.py` of `running_level.py`,
`normalisation.py` and `running_mean.py`, the running ones by `running.py`). What may stand before LSTM layers is a
`vector_convolution.py`: `convolution.py` chooses between `frequency_convolution.py` and `convolution_2d.py`, both of
`pooled_filters.py`, by `compiled_filters.py` or TensorFlow's `pooled_convolution.py`. A `Carrying` model carries its
state over chunks in training; families with an `AttentionDecoder` are an `AttentionModel`, those of text a
`LanguageModel`.
`set_computation` (`computation.py`) sets kernels and precision of `Lstm` and `HalfPrecision` layers, and whether
kernels teach an `AttentionDecoder`, and compute `ClippedRecurrence`, `PooledFilters`, batch and running normalisation;
`kernels.cpp` has those of our own: `lstm.hpp`, `lstm_chunks.hpp`, `clipped_recurrence.hpp`, `filters.hpp` with
`filters_backward.hpp`, `batch_normalisation.hpp`, `running.hpp`, and `taught_decoder.hpp` with an attention of
`taught_feedback.hpp` or `taught_monotonic.hpp`.
"""
