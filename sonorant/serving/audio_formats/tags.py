"""Tags that some programs write behind the audio of any format: ID3v1, and APE before it."""

__all__ = ["without_tags"]

_ID3_BYTES = 128
_APE_BYTES = 32  # of a header, which is optional, and of a footer
_HAS_HEADER = 1 << 31


def without_tags(data: bytes) -> bytes:
    """Return the bytes before the tags at the end, if there are any."""
    if data[-_ID3_BYTES:].startswith(b"TAG") and len(data) >= _ID3_BYTES:
        data = data[:-_ID3_BYTES]
    footer = data[-_APE_BYTES:]
    if footer.startswith(b"APETAGEX") and len(footer) == _APE_BYTES:
        size = int.from_bytes(footer[12:16], "little")  # without the header
        flags = int.from_bytes(footer[20:24], "little")
        size += _APE_BYTES if flags & _HAS_HEADER else 0
        data = data[: max(0, len(data) - size)]
    return data
