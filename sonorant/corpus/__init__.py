"""From recordings to shards, and records of shards by number.

A reader (`readers`, a file a layout) lists `Utterance`s: pieces of recordings with their transcript. `plan` assigns
them to splits and shards, the same from the same recipe and recordings; `preparing` makes what of the plan is missing,
a shard whole or not at all. A `Record` is an utterance as stored. A `ShardSet` (`shards`) reads the record at (shard,
index) in any order, by an index that is made anew when it is missing or stale (`index`). A damaged record costs itself
alone.
"""
