"""The data plane: ZeroMQ behind `sonorant.links`.

A link has two ends. The producer (`producer`) binds a ROUTER, each consumer (`consumer`) connects a DEALER to it.
Flow control: credit goes up, examples come down, never more than were granted. Ends of a link: drain (finish what is
under way), close (send BYE), abort (drop; for the other end the link is broken). Delivery is at-least-once:
what a broken link held is leased again by the coordinator. `loop` is the one thread that owns a process's sockets; a
peer that is silent for dead_after_s is dead (`liveness`, `sonorant.links.life`).
"""
