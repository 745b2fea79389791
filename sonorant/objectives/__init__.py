"""Objectives: what training minimises, and what it needs of an utterance for that.

`objective.py` has the contract. An `Objective` computes an example's named `targets`, or rejects it; says how batches
pad them; and gives each utterance's loss under a model, which it may call as often as it needs. `registry.py` picks
the objective of a recipe. Each objective is a file: `ctc.py`, with the frame-wise guidance of `alignment.py`.
"""
