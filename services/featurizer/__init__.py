"""Turns waveforms into features."""
