"""Streams recordings to a recognizer: from files or a microphone, in real time or as fast as possible.

`stream_audio` goes on in a new stream where the recognizer ends one.
"""
