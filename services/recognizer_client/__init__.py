"""Streams recordings to a recognizer: from files or a microphone, in real time or as fast as possible."""
