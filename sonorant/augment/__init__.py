"""Augmentation: a stage a file, and the table of them (`table`).

A stage is a function `(example, rng) -> example` (`stage`), with random numbers keyed by (seed, epoch, utterance,
stage): the same bits wherever and whenever it runs. Only `noise_folder` reads files.
"""
