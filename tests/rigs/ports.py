"""Ports for processes that have to be told theirs."""

import random
import socket

_LEFT = list(range(10240, 32768))  # the kernel gives those above to whoever asks for any, and to each connection
random.SystemRandom().shuffle(_LEFT)


def free_port(host="127.0.0.1"):
    """Return a port that is free, and stays so but for processes that are told it; no port twice."""
    while True:
        port = _LEFT.pop()
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
        return port
