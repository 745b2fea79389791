"""Plays each utterance at another speed."""
