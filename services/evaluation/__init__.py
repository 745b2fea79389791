"""Evaluation: test sets as recordings, streamed to a recognizer as its users would."""
