"""The control plane, from its clients' side, and the ledger's Redis.

`client` registers a replica, sends heartbeats with what `meter` counted, and takes responses; it survives the
coordinator's absence. `status_client` requests the status. `redis_ledger` is `sonorant.delivery.ledger.Ledger` on
Redis, a Lua script (`redis_scripts`) a call: atomic, idempotent, fenced by generation.
"""
