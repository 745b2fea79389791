"""Audio in the formats that clients send, written by libavformat and libsndfile."""

import io

import av
import numpy as np
import soundfile

MAKERS = {
    "FLAC": ("flac", "flac"),
    "MP3": ("mp3", "libmp3lame"),
    "OGG_OPUS": ("ogg", "libopus"),
    "WEBM_OPUS": ("webm", "libopus"),
    "WAV": ("wav", "pcm_s16le"),
}
NOT_TAKEN = {"MP2": ("mp2", "mp2")}  # by the recognizer


def encoded(encoding, samples, rate_hz):
    """A file of samples [samples] or [samples, channels]."""
    samples = samples[:, None] if samples.ndim == 1 else samples
    layout = {1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"}[samples.shape[1]]
    pcm = np.round(samples * 32767).astype(np.int16).reshape(1, -1)
    container, codec = (MAKERS | NOT_TAKEN)[encoding]
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream = output.add_stream(codec, rate=rate_hz, layout=layout)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(pcm), format="s16", layout=layout)
        frame.sample_rate = rate_hz
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            output.mux(packet)
    return file.getvalue()


def written(samples, rate_hz, container, subtype):
    """A file of libsndfile's."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate_hz, format=container, subtype=subtype)
    return file.getvalue()


def read_whole(data):
    """A file's samples [samples], channels averaged, and their rate, by libavformat."""
    parts = []
    with av.open(io.BytesIO(data)) as file:
        for frame in file.decode(audio=0):
            part = frame.to_ndarray()
            channels = len(frame.layout.channels)
            part = part if frame.format.is_planar else part.reshape(-1, channels).T
            scale = {"i": float(2 ** (8 * part.itemsize - 1)), "f": 1.0}[part.dtype.kind]
            parts.append(part / scale)
    return np.concatenate(parts, axis=1).mean(axis=0).astype(np.float32), frame.sample_rate
