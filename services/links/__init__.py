"""The data plane: ZeroMQ behind `sonorant.links`.

A producer binds a ROUTER (`downstream`), each consumer connects a DEALER to it (`upstream`); credit goes up,
examples come down, and a producer never exceeds the credit that it was granted. `loop` is the one thread that owns a
process's sockets. Peers that are silent for too long are dead (`liveness`); what a broken link held is leased again
by the coordinator.
"""
