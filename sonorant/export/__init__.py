"""Exported models: SavedModels that recognize streams or whole utterances, written, checked and read.

`export_model` writes a version, atomically, and compares it with the model in memory; `export_run` does so for a
run's checkpoint. A `Manifest` describes a model, and has the checksum of each file. `load_exported` checks these and
returns an `ExportedModel`, a `ServedModel` of `sonorant.serving`, or an `Ensemble` of them; a `FixedBatch` calls a
model for many streams. `versions` finds the newest one, without TensorFlow.
"""
