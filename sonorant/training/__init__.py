"""Training: from arriving examples to checkpoints, one rank of a data-parallel gang, without sockets.

A `Labeller` adds the objective's targets to examples or rejects them. An `Intake` (fast or strict order) grants
credit and forms batches. The `Feeder`, a thread, polls the source, claims each batch at the ledger and pads it. The
`TrainStep` computes, sums over ranks and updates; a `TruncatedStep` does so for each chunk of a `ChunkLayout`, a
`SoftAlignedStep` for losses of whole utterances; `LossScale` is that of float16. The `Trainer` is the loop: batch,
step, commit; word error rate on dev and checkpoints when due. `build_trainer` constructs these from a recipe and a
service's `TrainerPorts`.
"""
