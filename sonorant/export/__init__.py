"""Exported models: SavedModels that recognize streams or whole utterances, written, checked and read.

`export_model` writes a version, atomically, and compares it with the model in memory; `export_run` does so for a
run's checkpoint. A `Manifest` describes a model, and has the checksum of each file. `load_exported` checks these and
returns an `ExportedModel`, a `ServedModel` of `sonorant.serving`, or an `Ensemble` of them; a `StackBatch` computes a
stack of LSTM layers for many streams, a `FixedBatch` calls the graph of any other model. `versions` finds the newest
one, without TensorFlow.
"""
