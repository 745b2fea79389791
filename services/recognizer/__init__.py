"""The recognizer: speech to text, exported models behind transports.

An `Engine` runs `sonorant.serving` sessions on worker threads, within limits, independent of protocols; a
transport (`transports`, a file each) parses, calls and formats. `RecognizerServer` binds the port, serves
health and drains; `main` loads models and polls for newer versions. `running_recognizer` is a child process that
serves while a context lasts.
"""
