"""Runs the whole chain, from shard to features, in one process."""
