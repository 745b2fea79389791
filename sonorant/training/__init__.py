"""Training: from arriving examples to checkpoints, one rank of a data-parallel gang, without sockets.

A `Labeller` adds the objective's targets to an example or rejects it. An `Intake` (fast or strict order) bounds by
credit what may arrive and forms batches. The `Feeder`, a thread, polls the source, claims each batch at the ledger and
pads it. The `TrainStep` computes, sums over ranks and updates. The `Trainer` is the loop: batch, step, commit; word
error rate on dev and a checkpoint where they are due. `build_trainer` puts these together from a recipe and the
ports that a service brings.
"""
