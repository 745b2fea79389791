"""Processes that benchmarks measure."""
