"""The launcher: starts a trainer's rank in each pod and makes a gang of them, without `mpirun` or ssh.

A `Launcher` keeps one `RankProcess`, announces it on the gang's board in Redis (`RedisBoard`), and lets it join the
generations of `sonorant.fleet.gang`. `gloo` gives each rank what Horovod expects of a launcher.
"""
