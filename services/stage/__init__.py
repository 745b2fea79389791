"""One replica of a stage: take, compute, hand on.

`replica` is the loop: an example from a `source` (`link_source`: the stage before; the shard reader's leases), the
chain of stages on it, then the links to the next stage. `build` puts its parts together in the order in which they
need each other, from `runtime`, which all of them share. `command` is the process around it; `wiring` says which
program runs which stage and who is linked to whom.
"""
