"""Streams recordings to a recognizer: from files or a microphone, at the pace of speech or as fast as possible."""
