"""Opus packets of a container (RFC 6716, RFC 7845)."""

from collections.abc import Iterator

from sonorant.serving.audio_formats.audio_format import MOST_CHANNELS
from sonorant.serving.audio_formats.codec import Codec
from sonorant.serving.audio_formats.samples import Block, bad_audio

__all__ = ["OpusPackets"]

_HEAD_BYTES = 19


class OpusPackets:
    """Decodes one stream's packets at 48 kHz, without the pre-skip.

    head: the stream's header. Raises BadAudio for another one.
    """

    def __init__(self, head: bytes) -> None:
        if len(head) < _HEAD_BYTES or head[:8] != b"OpusHead":
            raise bad_audio(f"a stream that begins with {head[:8]!r}: expected Opus, which has OpusHead there")
        if head[8] >> 4 or not 1 <= head[9] <= MOST_CHANNELS:
            raise bad_audio(f"Opus version {head[8]} with {head[9]} channels: expected 1, and 1 to {MOST_CHANNELS}")
        self._codec = Codec("libopus", "Opus", head)
        self.samples = int.from_bytes(head[10:12], "little")
        """Samples decoded, the pre-skip included, which libavcodec drops."""

    def decode(self, packet: bytes) -> Iterator[Block]:
        """Yield a packet's samples; raises BadAudio for damage."""
        for block in self._codec.decode(packet):
            self.samples += len(block.frames)
            yield block
