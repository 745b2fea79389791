"""The launcher: starts a rank of the trainer in each pod, and forms gangs, without `mpirun` or ssh.

A `Launcher` runs one `RankProcess`, announces it on the gang's board in Redis (`RedisBoard`), and joins it to the
generations of `sonorant.fleet.gang`. `gloo` sets the variables that Horovod expects from a launcher.
"""
