"""Ports for processes that have to be told theirs."""

import random
import socket

_FIRST, _LAST = 10240, 32767  # the kernel gives those above to whoever asks for any, and to each connection


def free_port(host="127.0.0.1"):
    """Return a port that is free, and stays so but for processes that are told it."""
    while True:
        port = random.SystemRandom().randint(_FIRST, _LAST)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
        return port
