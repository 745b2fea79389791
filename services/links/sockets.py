"""ZeroMQ contexts with enough sockets for a link to each replica of a large stage."""

import resource

import zmq

__all__ = ["link_context"]


def link_context() -> "zmq.Context[zmq.Socket[bytes]]":
    """Return a context that may have as many sockets as this process may open files.

    ZeroMQ's default, 1,023, is used up by links to 341 replicas: a DEALER and two sockets of its monitor each. A link
    also takes four open files, so their limit is raised as far as a process may raise its own.
    """
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    most = int(context.get(zmq.SOCKET_LIMIT))
    context.set(zmq.MAX_SOCKETS, min(most, _raise_open_files(2 * most)))
    return context


def _raise_open_files(wanted: int) -> int:
    """Let this process open up to `wanted` files if it may; return how many it can open now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    reachable = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < reachable:
        resource.setrlimit(resource.RLIMIT_NOFILE, (reachable, hard))
    return max(soft, reachable)
