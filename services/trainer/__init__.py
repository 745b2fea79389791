"""The trainer: one process a rank.

`main` parses the command, `rank` opens the run, builds a `sonorant.training` trainer and runs it; `generation` and
`coordination` are rank 0's calls to ledger and coordinator, `example_source` is a rank's consumer of the data plane.
"""
