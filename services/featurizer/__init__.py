"""Computes features from waveforms."""
