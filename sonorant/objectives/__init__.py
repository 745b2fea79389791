"""Objectives: what training minimises, and the targets of utterances for it.

`objective.py` has the contract. An `Objective` computes an example's named `targets`, or rejects it, some of them for
several at once (`joint_targets.py`); defines their padding in batches; and gives each utterance's loss under a model,
which it may call several times. `registry.py` picks the objective of a recipe. Each is a file:

- by frame `ctc.py`, with the frame-wise guidance of `alignment.py`, and `frame_cross_entropy.py`, on the forced
  alignments of an `Aligner`;
- by label `label_cross_entropy.py`, with joint CTC and `head_alignment.py`, and of text alone `next_label.py`;
- beside one of these `minimum_word_error.py`, on the lists that `n_best.py`, a `BatchSearch`, finds with the model.
"""
