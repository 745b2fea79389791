"""Exported models: SavedModels that recognize streams, written, checked and read.

`export_model` writes a version, whole or not at all, and compares it with the model in memory; `export_run` does so
for a run's checkpoint. A `Manifest` says what a model is, and has the checksum of each file. `load_exported` checks
these and returns an `ExportedModel`, a `StreamingModel` of `sonorant.serving`. `versions` tells the newest one, without
TensorFlow.
"""
