"""Exactly once: from a record on disk to a committed optimizer step, as machines without sockets.

An `Example` carries its lineage (epoch, shard, index). The epoch's `order` is a function of seed and epoch; `lease`
hands out ranges of it, and again when a replica dies, so delivery is at least once. The `ledger` deduplicates: a
claim is granted to one token, a commit takes what was claimed, a generation (fencing token) refuses ranks of an
older gang. Its `snapshot` in each checkpoint makes a restart forget exactly the commits after it; `audit` proves the
history.
"""
