"""One machine in place of a cluster: a whole training as processes, started, watched and restarted."""
