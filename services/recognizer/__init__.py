"""The recognizer: speech to text, exported models behind transports.

An `Engine` runs `sonorant.serving` sessions on `Workers`, which batch the model's calls, within limits, with an
`Inbox` of each client's messages, independent of protocols; a transport (`transports`, a file each) parses, calls and
formats. `RecognizerServer` binds the port, serves health and drains; `main` loads models and polls for newer
versions. `running_recognizer` is a child process that serves while a context lasts.
"""
