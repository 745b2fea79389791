"""Launcher: starts a trainer's rank in each pod and makes a gang of them, without `mpirun` or ssh."""
