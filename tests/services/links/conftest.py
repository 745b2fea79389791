import contextlib

import pytest
import zmq
from rigs import links as links_rig


@pytest.fixture
def rig():
    with contextlib.ExitStack() as stack:

        def add(member):
            stack.callback(member.close)
            return member

        yield add


@pytest.fixture
def bare():
    """Makes bare sockets, which send whatever a test sends."""
    with zmq.Context() as context:
        made = []

        def make(kind):
            made.append(context.socket(kind))
            made[-1].linger = 0
            made[-1].rcvtimeo = int(links_rig.PATIENCE_S * 1000)
            return made[-1]

        yield make
        for made_socket in made:
            made_socket.close()
