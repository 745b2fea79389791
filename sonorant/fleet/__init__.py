"""Who is there and whether work goes on: registry of replicas, gang of ranks, bottleneck, silence and standstill.

Machines: events and times in, decisions out.
"""
