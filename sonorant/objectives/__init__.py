"""Objectives: what training minimises, and the targets of utterances for it.

`objective.py` has the contract. An `Objective` computes an example's named `targets`, or rejects it, some of them for
several at once (`joint_targets.py`); defines their padding in batches; and gives each utterance's loss under a model,
which it may call several times. `registry.py` picks the objective of a recipe. Each objective is a file: `ctc.py`, with
the frame-wise guidance of `alignment.py`, and `frame_cross_entropy.py`, on the forced alignments of an `Aligner`.
"""
