"""A record: one utterance as a shard stores it."""

import io
from dataclasses import dataclass
from typing import Literal, Self, cast, get_args

import numpy as np
import soundfile
from google.protobuf.message import DecodeError

from sonorant.arrays import Waveform
from sonorant.audio.pcm import from_int16, to_int16
from sonorant.delivery.example import Example, Lineage, WordSpan
from sonorant.errors import BadShard
from sonorant.v1 import record_pb2

__all__ = ["Encoding", "Record", "decode_audio", "encode_audio"]

Encoding = Literal["flac", "pcm16", "none"]


@dataclass(frozen=True, slots=True)
class Record:
    """One utterance with its audio still encoded; `words` is empty if the corpus has no alignment.

    encoding: "none" of text without audio, whose `audio` is empty.
    """

    utterance: str
    speaker: str
    text: str
    sample_rate_hz: int
    duration_s: float
    encoding: Encoding
    audio: bytes
    words: tuple[WordSpan, ...] = ()

    def waveform(self) -> Waveform:
        """Return Float32[samples] in [-1, 1); raises BadShard when the audio does not decode."""
        try:
            return decode_audio(self.audio, self.encoding)
        except (soundfile.LibsndfileError, ValueError) as error:
            raise BadShard(f"utterance {self.utterance}: its {self.encoding} audio does not decode: {error}") from error

    def example(self, lineage: Lineage) -> Example:
        """Return the utterance as an example with that lineage."""
        return Example(
            lineage=lineage,
            utterance=self.utterance,
            text=self.text,
            sample_rate_hz=self.sample_rate_hz,
            duration_s=self.duration_s,
            speaker=self.speaker,
            waveform=None if self.encoding == "none" else self.waveform(),
            words=self.words,
        )

    def to_bytes(self) -> bytes:
        """Serialise as a message that is also a tf.train.Example; equal records give equal bytes."""
        message = record_pb2.Record()
        feature = message.features.feature
        for name in ("utterance", "speaker", "text", "encoding"):
            feature[name].bytes_list.value.append(str(getattr(self, name)).encode())
        feature["audio"].bytes_list.value.append(self.audio)
        feature["sample_rate_hz"].int64_list.value.append(self.sample_rate_hz)
        # Times are counted in samples: tf.train.Example has no doubles, and single precision would round them.
        feature["samples"].int64_list.value.append(self._samples(self.duration_s))
        feature["words/text"].bytes_list.value.extend(span.word.encode() for span in self.words)
        feature["words/start_sample"].int64_list.value.extend(self._samples(span.start_s) for span in self.words)
        feature["words/end_sample"].int64_list.value.extend(self._samples(span.end_s) for span in self.words)
        return message.SerializeToString(deterministic=True)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; raises BadShard when it is anything else."""
        message = record_pb2.Record()
        try:
            message.ParseFromString(data)
            feature = message.features.feature
            text = {name: feature[name].bytes_list.value[0].decode() for name in ("utterance", "speaker", "text")}
            encoding = feature["encoding"].bytes_list.value[0].decode()
            rate = feature["sample_rate_hz"].int64_list.value[0]
            samples = feature["samples"].int64_list.value[0]
            audio = feature["audio"].bytes_list.value[0]
            spelt = [word.decode() for word in feature["words/text"].bytes_list.value]
            edges = (feature[f"words/{edge}_sample"].int64_list.value for edge in ("start", "end"))
            spans = list(zip(spelt, *edges, strict=True))
        except (DecodeError, IndexError, ValueError) as error:
            raise BadShard(
                f"is no utterance that `sonorant prepare` wrote ({error}); prepare the corpus again"
            ) from error
        if rate <= 0 or encoding not in get_args(Encoding):
            known = ", ".join(get_args(Encoding))
            raise BadShard(f"has sample rate {rate} and encoding {encoding!r}, expected {known}; prepare again")
        return cls(
            **text,
            sample_rate_hz=rate,
            duration_s=samples / rate,
            encoding=cast(Encoding, encoding),
            audio=audio,
            words=tuple(WordSpan(word, start / rate, end / rate) for word, start, end in spans),
        )

    def _samples(self, seconds: float) -> int:
        return round(seconds * self.sample_rate_hz)


def encode_audio(waveform: Waveform, sample_rate_hz: int, encoding: Encoding) -> bytes:
    """Encode Float32[samples] as 16-bit audio; what lies outside [-1, 1) is clipped."""
    samples = to_int16(waveform)
    if encoding == "pcm16":
        return bytes(samples.tobytes())
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, sample_rate_hz, format="FLAC", subtype="PCM_16")
    return buffer.getvalue()


def decode_audio(audio: bytes, encoding: Encoding) -> Waveform:
    """Return Float32[samples]; raises ValueError or soundfile.LibsndfileError when the bytes are not such audio."""
    if encoding == "pcm16":
        return from_int16(np.frombuffer(audio, "<i2"))
    samples, _ = soundfile.read(io.BytesIO(audio), dtype="float32")
    return np.asarray(samples, np.float32)
