"""Channels apart: what each channel reads of a shared decoder is what a decoder of that channel alone gives."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigs.encoded import encoded, written

from sonorant.errors import BadAudio
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.channels import ChannelDecoder, SharedDecoder

RATE_HZ = 8000
RNG = np.random.default_rng(5)
SOUND = (RNG.standard_normal((5000, 3)) * 0.1).astype(np.float32)
PCM = np.rint(SOUND * 32767).astype("<i2")


def alone(data, audio, rate_hz=RATE_HZ):
    decoder = open_decoder(audio, rate_hz, 60.0)
    return np.concatenate([decoder.push(data), decoder.finish()])


def apart(data, audio, channels, cuts=(), rate_hz=RATE_HZ):
    """Samples of each channel, each read by a thread of its own."""
    decoder, shared = open_decoder(audio, rate_hz, 60.0), SharedDecoder()
    shared.open(channels)
    each = [ChannelDecoder(shared, number) for number in range(channels)]
    found = [[] for _ in each]
    with ThreadPoolExecutor(channels) as threads:
        for samples in [
            *(decoder.pieces(data[a:b]) for a, b in pairwise([0, *cuts, len(data)])),
            decoder.last_pieces(),
        ]:
            shared.begin(samples)
            for one, pieces in zip(found, threads.map(lambda channel: list(channel.pieces(b"")), each), strict=True):
                one += pieces
    return [np.concatenate(one) for one in found]


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 3), st.sampled_from([8000, 11025]), st.lists(st.integers(0, 2500), max_size=6))
def test_each_channel_has_the_samples_of_the_channel_alone(channels, rate_hz, cuts):
    audio = AudioFormat("LINEAR16", rate_hz, channels, apart=True)
    data = PCM[:, :channels].tobytes()
    found = apart(data, audio, channels, sorted(2 * channels * min(cut, 5000) for cut in cuts))
    for number, samples in enumerate(found):
        np.testing.assert_array_equal(samples, alone(PCM[:, number].tobytes(), AudioFormat("LINEAR16", rate_hz)))


@pytest.mark.parametrize("encoding", ["WAV", "FLAC"])
def test_channels_of_a_file_are_those_of_files_of_one_channel(encoding):
    found = apart(encoded(encoding, SOUND[:, :2], 16000), AudioFormat("AUTO", apart=True), 2, cuts=[700, 9000])
    for number, samples in enumerate(found):
        one = encoded(encoding, SOUND[:, number : number + 1], 16000)
        np.testing.assert_array_equal(samples, alone(one, AudioFormat(encoding)))


def test_each_channel_has_an_error_behind_the_same_samples():
    broken = SOUND.copy()
    broken[4900, 1] = np.nan
    decoder, shared = open_decoder(AudioFormat("WAV", apart=True), RATE_HZ, 60.0), SharedDecoder()
    shared.open(3)
    shared.begin(decoder.pieces(written(broken, RATE_HZ, "WAV", "FLOAT")))
    read = []
    for number in range(3):
        samples = []
        with pytest.raises(BadAudio, match="not finite"):
            samples.extend(shared.channel(number))
        read.append(np.concatenate(samples))
    assert len({len(samples) for samples in read}) == 1
    for number, samples in enumerate(read):
        np.testing.assert_array_equal(samples, SOUND[: len(samples), number])


def test_what_a_channel_has_not_read_is_dropped_with_the_next_bytes():
    shared = SharedDecoder()
    shared.open(2)
    shared.begin(iter([SOUND[:10, :2]]))
    assert len(next(shared.channel(0))) == 10
    shared.begin(iter([SOUND[10:30, :2]]))
    assert [len(samples) for samples in shared.channel(1)] == [20]
