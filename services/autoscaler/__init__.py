"""Scales the stages' Deployments to the trainer's demand: plans, patches scales, writes events; at the end, all to 0.

Permissions, in its namespace only: `deployments/scale` get and patch, by the names of the stages' Deployments; to scale
the trainer to 0, `statefulsets/scale` get and patch, by its name; `leases` (of coordination.k8s.io) get and patch by
the lease's name, and create if the lease is not there; `events` create.
"""
