"""Evaluation: test sets as recordings, streamed to a recognizer in real time."""
