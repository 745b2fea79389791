"""Rates in, replicas out: the capacity model of autoscaler and `sonorant plan`. State machines, time passed in.

`size` (`sizing`) is the capacity model: from the busy seconds of an example at each stage, and a wanted rate, to the
replicas of all stages at once. A `Planner` feeds it with `Measurements` and decides: up at once, down
slowly, hold when a measurement is missing; `Supply`, `Contention` and `Returns` bound it by the cluster's supply.
`plan_cluster` applies it to a cluster that does not exist yet, with `ServiceTimes` measured on one machine, and
`rehearse` runs that plan in the discrete-event `Simulation`.
"""
