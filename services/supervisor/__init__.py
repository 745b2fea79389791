"""One machine instead of a cluster: a whole training as processes, started, watched and restarted.

`LocalCluster` runs the training of a prepared run folder, which its caller has `locked`: Redis, coordinator and stages,
a `Child` each, on a leash, restarted by policy; and the ranks as a `Gang`, started again as one. `ClusterWatch`
restarts what is silent, or what the run waits for. `audit_run` audits what a run has left.
"""
