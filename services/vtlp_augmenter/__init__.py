"""Warps the vocal tract length of each utterance."""
