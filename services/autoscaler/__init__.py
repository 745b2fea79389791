"""Scales the stages' Deployments to what the trainer can take: plans, patches, tells; at the end, all to nothing.

It needs, in its namespace: `deployments/scale` get and patch, by the names of the stages' Deployments; to have a
trainer rest, `statefulsets/scale` get and patch, by its name; `leases` (of
coordination.k8s.io) get and patch by the lease's name, and create if nobody else makes that lease; `events` create.
Nothing else, and nothing outside.
"""
