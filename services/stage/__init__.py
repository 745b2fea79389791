"""One replica of a stage: receive, compute, send.

`replica` is the loop: an example from a `source` (`link_source`: the stage before; the shard reader's leases), the
chain of stages on it, then the links to the next stage. `build` puts its parts together in the order in which they
need each other, from `runtime`, which all of them share. `command` is the process around it; `wiring` has the
program of each stage.
"""
