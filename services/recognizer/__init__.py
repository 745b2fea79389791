"""The recognizer: speech to text, exported models behind transports.

An `Engine` runs `sonorant.serving` sessions on worker threads, within limits, and knows no protocol; a transport
(`transports`, a file each) knows nothing else: it parses, calls and formats. `RecognizerServer` binds the port, serves
health and drains; `main` loads models and polls for newer versions. `running_recognizer` is a recognizer of one's own,
as long as a context lasts.
"""
