"""A run in object storage: folders are local, and the store is shared.

`open_run` returns a `SharedRun`: all processes mount its folder, and pulls and pushes do nothing; or a `StoredRun`: a
folder of this process, with an `ObjectStore` behind it. An object that names others (a plan its shards, a manifest its
files) is written last and removed first, so a reader of it finds all of them. Checkpoints are fenced by generation
(`checkpoints`). `await_shards` waits for a preparation under way.
"""
