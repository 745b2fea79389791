"""Plays each utterance in a simulated room."""
