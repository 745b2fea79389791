"""A run in object storage: folders are local, and the store holds the run for everybody.

`open_run` returns a `SharedRun`: its folder is mounted by all, and pulling and pushing do nothing; or a `StoredRun`: a
folder of this process, with an `ObjectStore` behind it. An object that names others (a plan its shards, a manifest its
files) is written last and removed first, so whoever finds it finds all of them. Checkpoints are fenced by generation
(`checkpoints`). `await_shards` is for what starts before they are prepared.
"""
