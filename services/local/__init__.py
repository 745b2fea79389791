"""Runs a whole training on one machine, as processes under one supervisor; and finds or makes the demo's corpus."""
