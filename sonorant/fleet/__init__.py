"""The fleet: registry of replicas, gang of ranks, bottleneck, silence and standstill.

Machines: events and times in, decisions out.
"""
