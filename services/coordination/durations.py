"""Seconds as protobuf messages, and back."""

from google.protobuf.duration_pb2 import Duration

__all__ = ["duration", "seconds"]


def duration(value_s: float) -> Duration:
    """Return seconds as a message, to the microsecond."""
    message = Duration()
    message.FromMicroseconds(round(value_s * 1e6))
    return message


def seconds(message: Duration) -> float:
    """Return the seconds of a message."""
    return float(message.ToNanoseconds()) / 1e9
