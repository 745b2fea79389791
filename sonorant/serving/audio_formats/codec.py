"""Compressed frames by libavcodec (PyAV). Containers are read here: libavformat pulls, and opens what a file names.

libavformat would need a thread for each stream, which waits in its read function, and knows play lists and other
formats that name files and addresses. Only its codecs are given a client's bytes.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sonorant.errors import BadAudio
from sonorant.serving.audio_formats.samples import Block, Frames, bad_audio

if TYPE_CHECKING:
    import av

__all__ = ["Codec"]

_PARSED = 512  # bytes that a parser gets at once, however they came: what it finds does not depend on cuts then
_FULL_SCALE = {"s16": 2.0**15, "s32": 2.0**31}


class Codec:
    """A decoder of one stream's packets, on the calling thread.

    codec: libavcodec's name. name: for messages. setup: the codec's header. checked: whether a wrong checksum is an
    error.
    """

    def __init__(self, codec: str, name: str, setup: bytes = b"", *, checked: bool = True) -> None:
        import av  # 40 MB, which streams of samples do without

        self._name = name
        self._held = bytearray()
        self._context: Any = av.CodecContext.create(codec, "r")
        self._context.thread_count = 1
        self._context.options = {"err_detect": f"{'crccheck+' if checked else ''}bitstream+buffer+explode"}
        if setup:
            self._context.extradata = setup

    def parse(self, data: bytes) -> Iterator["av.Packet[Any]"]:
        """Yield the packets that bytes without a container complete."""
        self._held += data
        while len(self._held) >= _PARSED:
            block = bytes(self._held[:_PARSED])
            del self._held[:_PARSED]
            yield from self._context.parse(block)

    def finish(self, decode: Callable[["av.Packet[Any] | None"], Iterator[Block]]) -> Iterator[Block]:
        """Yield what `decode` makes of the last packets, that `parse` has not found; the very last may be cut off."""
        rest = list(self._rest())
        for number, packet in enumerate(rest):
            try:
                yield from decode(packet)
            except BadAudio:
                if number < len(rest) - 1:
                    raise
        yield from decode(None)

    def _rest(self) -> Iterator["av.Packet[Any]"]:
        if self._held:
            yield from self._context.parse(bytes(self._held))
            self._held.clear()
        while packets := self._context.parse():  # one at a time, by some parsers
            yield from packets

    def decode(self, packet: "bytes | av.Packet[Any] | None") -> Iterator[Block]:
        """Yield a packet's samples; those that were held back for None. Raises BadAudio for damage."""
        import av

        try:
            frames = self._context.decode(av.Packet(packet) if isinstance(packet, bytes) else packet)
        except (av.error.FFmpegError, ValueError) as error:
            raise bad_audio(f"{self._name}: damaged, or not {self._name}: {error}") from None
        for frame in frames:
            yield Block(_frames(frame), frame.sample_rate)


def _frames(frame: Any) -> Frames:
    """Return Float32[samples, channels]."""
    samples = frame.to_ndarray()
    channels = len(frame.layout.channels)
    by_sample = samples.T if frame.format.is_planar else samples.reshape(-1, channels)
    scale = _FULL_SCALE.get(frame.format.packed.name)
    if scale is None:
        frames: Frames = np.asarray(by_sample, np.float32)
    else:
        frames = (by_sample / scale).astype(np.float32)
    return frames
