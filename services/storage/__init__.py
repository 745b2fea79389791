"""A run's files in object storage: folders are local, and the store holds the run for everybody."""
