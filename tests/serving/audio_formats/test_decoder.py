import io
import struct

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rigs.encoded import MAKERS, encoded, read_whole, written

from sonorant.errors import BadAudio
from sonorant.serving.audio_formats import AudioFormat, open_decoder
from sonorant.serving.audio_formats.ogg import page_checksum
from sonorant.serving.errors import BadRequest

RATE_HZ = 8000
SECONDS = 1.3


def sound(rate_hz, channels=1):
    time_s = np.arange(round(SECONDS * rate_hz)) / rate_hz
    tones = [
        0.4 * np.sin(2 * np.pi * (300 + 70 * c) * time_s) * np.sin(2 * np.pi * 1.5 * time_s) for c in range(channels)
    ]
    return np.stack(tones, axis=1).astype(np.float32)


FILES = {
    "FLAC": encoded("FLAC", sound(16000, 2), 16000),
    "MP3": encoded("MP3", sound(44100, 2), 44100),
    "OGG_OPUS": encoded("OGG_OPUS", sound(48000), 48000),
    "WEBM_OPUS": encoded("WEBM_OPUS", sound(48000, 2), 48000),
    "WAV": encoded("WAV", sound(11025, 6), 11025),
}


def decoded(data, audio, cuts=(), rate_hz=RATE_HZ, max_s=60.0):
    decoder = open_decoder(audio, rate_hz, max_s)
    parts = [decoder.push(data[a:b]) for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return np.concatenate([*parts, decoder.finish()])


@pytest.mark.parametrize("encoding", sorted(MAKERS))
def test_a_container_gives_the_samples_that_libavformat_and_one_resampling_give(encoding):
    samples, rate_hz = read_whole(FILES[encoding])
    expected = soxr.resample(samples, rate_hz, RATE_HZ)
    found = decoded(FILES[encoding], AudioFormat(encoding))
    assert found.dtype == np.float32
    # Encoders pad the last frame; libavformat drops that by hints of its own, we by what the formats say.
    assert abs(len(found) - len(expected)) < 0.05 * RATE_HZ
    shared = min(len(found), len(expected)) - RATE_HZ // 50
    np.testing.assert_allclose(found[:shared], expected[:shared], atol=5e-4)
    assert np.abs(found).max() > 0.1


@pytest.mark.parametrize("encoding", sorted(MAKERS))
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_cuts_change_nothing_and_the_container_is_found(encoding, data):
    file = FILES[encoding]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(file)) | st.integers(0, 80), max_size=20)))
    whole = decoded(file, AudioFormat(encoding))
    np.testing.assert_array_equal(decoded(file, AudioFormat("AUTO"), cuts), whole)


@pytest.mark.parametrize(("encoding", "subtype"), [("MULAW", "ULAW"), ("ALAW", "ALAW")])
def test_companded_samples_are_those_of_libsndfile(encoding, subtype):
    codes = bytes(range(256))
    header = written(np.zeros(256, np.float32), RATE_HZ, "WAV", subtype)
    file = header[: header.index(b"data") + 8] + codes
    expected = read_whole(file)[0]
    np.testing.assert_array_equal(decoded(codes, AudioFormat(encoding)), expected)
    np.testing.assert_array_equal(decoded(file, AudioFormat("WAV")), expected)


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
def test_every_kind_of_wav_sample_is_read(subtype):
    samples = sound(RATE_HZ, 3)
    file = written(samples, RATE_HZ, "WAV", subtype)
    tolerance = 2**-7 if subtype == "PCM_U8" else 2**-15
    np.testing.assert_allclose(decoded(file, AudioFormat("WAV")), samples.mean(axis=1), atol=tolerance)


def test_flac_with_24_bits_and_opus_and_mp3_of_another_writer_are_read():
    for container, subtype, encoding, tolerance in [
        ("FLAC", "PCM_24", "FLAC", 1e-6),
        ("OGG", "OPUS", "OGG_OPUS", 0.1),
        ("MP3", "MPEG_LAYER_III", "MP3", 0.1),
    ]:
        samples = sound(RATE_HZ)[:, 0]
        found = decoded(written(samples, RATE_HZ, container, subtype), AudioFormat(encoding))
        np.testing.assert_allclose(found[: len(samples) - 400], samples[:-400], atol=tolerance)


def pages(data):
    """The pages of an Ogg file."""
    found = []
    while data:
        size = 27 + data[26] + sum(data[27 : 27 + data[26]])
        found.append(data[:size])
        data = data[size:]
    return found


def shortened(data, samples):
    """An Ogg file whose audio ends so many samples earlier, by the position in its last page."""
    *before, last = pages(data)
    end = int.from_bytes(last[6:14], "little") - samples
    last = last[:6] + end.to_bytes(8, "little") + last[14:22] + bytes(4) + last[26:]
    return b"".join(before) + last[:22] + page_checksum(last).to_bytes(4, "little") + last[26:]


@pytest.mark.parametrize("writer", ["libavformat", "libsndfile"])  # the first one's positions begin behind 0
@pytest.mark.parametrize("samples", [0, 100, 2500])
def test_opus_ends_where_its_last_page_says_as_by_libsndfile(writer, samples):
    speech = sound(48000)[: 48000 + 4801 if writer == "libsndfile" else None, 0]
    file = written(speech, 48000, "OGG", "OPUS") if writer == "libsndfile" else encoded("OGG_OPUS", speech, 48000)
    file = shortened(file, samples)
    expected, _ = soundfile.read(io.BytesIO(file), dtype="float32")
    found = decoded(file, AudioFormat("OGG_OPUS"), rate_hz=48000)
    assert len(found) == len(speech) - samples
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_pages_of_ogg_that_are_missing_are_an_error():
    found = pages(encoded("OGG_OPUS", sound(48000).repeat(3, axis=0), 48000))
    assert len(found) > 5
    for missing in range(3, len(found) - 1):
        with pytest.raises(BadAudio, match=f"Ogg: page {missing + 1} after page {missing - 1}: some are missing"):
            decoded(b"".join(found[:missing] + found[missing + 1 :]), AudioFormat("OGG_OPUS"))
    came_later = b"".join(found[:2] + found[3:])
    assert 0 < len(decoded(came_later, AudioFormat("OGG_OPUS"))) < len(decoded(b"".join(found), AudioFormat("AUTO")))


def test_a_page_of_ogg_whose_length_is_damaged_does_not_swallow_those_behind_it():
    *before, page, last = pages(encoded("OGG_OPUS", sound(48000), 48000))
    longer = page[:27] + bytes([255] * page[26]) + page[27 + page[26] :]
    with pytest.raises(BadAudio, match="Ogg: a page that is longer than the file: damaged"):
        decoded(b"".join([*before, longer, last]), AudioFormat("OGG_OPUS"))


@pytest.mark.parametrize("writer", ["libavformat", "libsndfile"])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    ("rate_hz", "samples"), [(8000, 8500), (22050, 22051), (44100, 44100), (48000, 1152), (44100, 100)]
)
def test_mp3_has_the_samples_that_were_encoded_as_by_libavformat_and_libsndfile(writer, channels, rate_hz, samples):
    speech = sound(rate_hz, channels)[:samples]
    file = encoded("MP3", speech, rate_hz)
    if writer == "libsndfile":
        file = written(speech, rate_hz, "MP3", "MPEG_LAYER_III")
    found = decoded(file, AudioFormat("MP3"), range(0, len(file), 999), rate_hz=rate_hz)
    assert len(found) == samples
    by_libsndfile, _ = soundfile.read(io.BytesIO(file), dtype="float32", always_2d=True)
    np.testing.assert_allclose(found, by_libsndfile.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(found, read_whole(file)[0], atol=1e-5)


def indexed(marker=None, frames=None, version=None, delays=None):
    """An MP3 file with some of what its index says exchanged."""
    file = bytearray(written(sound(RATE_HZ), RATE_HZ, "MP3", "MPEG_LAYER_III"))
    index = file.index(b"Xing")
    for at, value in [(0, marker), (8, frames), (120, version), (141, delays)]:
        if value is not None:
            file[index + at : index + at + len(value)] = value
    return bytes(file)


INDEXED = {
    "no index": indexed(marker=bytes(4)),
    "no extension": indexed(version=bytes(9)),
    "no frames": indexed(frames=bytes(4)),
    "fewer frames than there are": indexed(frames=b"\0\0\0\2"),
    "more frames than can be": indexed(frames=b"\xff\xff\xff\xff"),
    "no delays": indexed(delays=bytes(3)),
    "longest delays": indexed(delays=b"\xff\xff\xff"),
    "delays longer than the audio": indexed(delays=b"\xff\xff\xff", frames=b"\0\0\0\1"),
    "cut off": indexed()[:-1000],
}


@pytest.mark.parametrize("file", INDEXED.values(), ids=INDEXED)
def test_whatever_an_index_of_mp3_says_samples_are_those_of_libavformat(file):
    np.testing.assert_allclose(decoded(file, AudioFormat("MP3")), read_whole(file)[0], atol=1e-5)


def test_16_bit_samples_at_the_models_rate_are_only_scaled():
    pcm = np.arange(-32768, 32768, 5, dtype="<i2")
    for audio in (AudioFormat(), AudioFormat("LINEAR16"), AudioFormat("LINEAR16", RATE_HZ, 1)):
        np.testing.assert_array_equal(decoded(pcm.tobytes(), audio, [2, 4000]), pcm / np.float32(32768))


def test_other_rates_and_channels_of_raw_samples_are_resampled_and_mixed():
    pcm = np.round(sound(48000, 8) * 32767).astype("<i2")
    expected = soxr.resample((pcm / 32768).mean(axis=1).astype(np.float32), 48000, RATE_HZ)
    found = decoded(pcm.tobytes(), AudioFormat("LINEAR16", 48000, 8), [16, 160, 16000])
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("audio", "reason"),
    [
        (AudioFormat("AMR"), "encoding=AMR: unsupported; expected one of LINEAR16, MULAW"),
        (AudioFormat("LINEAR16", 768_000), "sample_rate_hertz=768000: expected 4000 to 192000"),
        (AudioFormat("LINEAR16", -1), "sample_rate_hertz=-1"),
        (AudioFormat("WAV", 0, 255), "audio_channel_count=255: expected 1 to 8"),
    ],
)
def test_a_format_that_is_not_taken_is_named(audio, reason):
    with pytest.raises(BadRequest, match=reason):
        open_decoder(audio, RATE_HZ, 60.0)


def wav(rate_hz=RATE_HZ, channels=1, kind=1, bits=16, align=None, size=None, body=bytes(64)):
    align = channels * bits // 8 if align is None else align
    layout = struct.pack("<HHIIHH", kind, channels & 0xFFFF, rate_hz, 0, align & 0xFFFF, bits)
    data = b"data" + struct.pack("<I", len(body) if size is None else size) + body
    return b"RIFF\xff\xff\xff\xffWAVEfmt " + struct.pack("<I", 16) + layout + data


@pytest.mark.parametrize(
    ("data", "audio", "reason"),
    [
        (wav(0), AudioFormat("WAV"), "a header with 0 Hz: expected 4000 to 192000"),
        (wav(768_000), AudioFormat("WAV"), "768000 Hz"),
        (wav(channels=255, body=bytes(5100)), AudioFormat("WAV"), "255 channels: expected 1 to 8"),
        (wav(channels=0), AudioFormat("WAV"), "0 channels"),
        (wav(align=3), AudioFormat("WAV"), "blocks of 3 bytes: contradictory"),
        (wav(kind=2), AudioFormat("WAV"), "format 2 with 16 bits"),
        (wav(kind=3, bits=32, body=b"\x00\x00\xc0\x7f" * 4), AudioFormat("WAV"), "not finite"),
        (wav(kind=3, bits=64, body=struct.pack("<d", float("nan"))), AudioFormat("WAV"), "not finite"),
        (wav(), AudioFormat("WAV", 16000), "a header with 8000 Hz: the request says 16000"),
        (wav(), AudioFormat("AUTO", 0, 2), "a header with 1 channels: the request says 2"),
        (FILES["WAV"][:30], AudioFormat("WAV"), "cut off in its header"),
        (FILES["FLAC"][:50], AudioFormat("FLAC"), "cut off in its header"),
        (FILES["OGG_OPUS"][:20], AudioFormat("AUTO"), "cut off in its header"),
        (FILES["WEBM_OPUS"][:90], AudioFormat("AUTO"), "cut off in its header"),
        (FILES["MP3"], AudioFormat("FLAC"), "begins with b'ID3.*: a FLAC file has fLaC there"),
        (FILES["FLAC"], AudioFormat("WAV"), "a WAV file has RIFF and WAVE there"),
        (FILES["WAV"], AudioFormat("OGG_OPUS"), "begins with OggS"),
        (FILES["WAV"], AudioFormat("WEBM_OPUS"), "WebM has"),
        (b"what is this", AudioFormat("AUTO"), "no WAV, FLAC, MP3"),
        (b"\xff", AudioFormat("AUTO"), "1 bytes in all"),
        (b"\xff\xf1\x50\x80", AudioFormat("AUTO"), "no WAV, FLAC, MP3"),  # AAC
        (encoded("OGG_OPUS", sound(48000), 48000)[:-9] + b"damage...", AudioFormat("AUTO"), "checksum"),
        (written(sound(RATE_HZ), RATE_HZ, "OGG", "VORBIS"), AudioFormat("AUTO"), "expected Opus"),
    ],
    ids=lambda value: f"{len(value)} bytes" if isinstance(value, bytes) else None,
)
def test_what_cannot_be_decoded_is_bad_audio(data, audio, reason):
    with pytest.raises(BadAudio, match=reason):
        decoded(data, audio)


def test_a_part_of_a_raw_sample_is_refused():
    with pytest.raises(BadRequest, match="3 bytes of audio: expected whole 16-bit samples"):
        decoded(b"abc", AudioFormat())
    with pytest.raises(BadRequest, match="whole 8-bit samples of 2 channels, a multiple of 2 bytes"):
        decoded(b"abc", AudioFormat("ALAW", 0, 2))


@pytest.mark.parametrize("encoding", ["WAV", "FLAC", "OGG_OPUS", "WEBM_OPUS"])
def test_a_container_whose_encoding_is_not_named_is_refused(encoding):
    data = encoded(encoding, sound(48000), 48000)
    with pytest.raises(BadAudio, match=f"begins as {encoding} does, and the request names no encoding"):
        decoded(data, AudioFormat())
    assert len(decoded(data[: len(data) // 2 * 2], AudioFormat("LINEAR16")))  # which is what its client says


def test_an_mp3_with_tags_whose_encoding_is_not_named_is_refused():
    with pytest.raises(BadAudio, match="begins as MP3 does"):
        decoded(b"ID3\x04" + bytes(16), AudioFormat())


def test_samples_that_look_like_a_container_later_are_samples():
    assert len(decoded(bytes(16) + b"RIFF" + bytes(16), AudioFormat(), (16,))) == 18


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF, 0x7FFFFFFF, 20, 10_000])
def test_a_wav_header_may_lie_about_its_length(size):
    """0 and the largest ones are what programs write that do not know it; one too small ends the samples."""
    found = decoded(wav(size=size), AudioFormat("WAV"), range(0, 100, 7))
    assert len(found) == (10 if size == 20 else 32)


def test_loud_floats_are_clipped():
    body = struct.pack("<4f", 1e30, -1e30, 0.5, -1.5)
    np.testing.assert_array_equal(decoded(wav(kind=3, bits=32, body=body), AudioFormat("WAV")), [1, -1, 0.5, -1])


def test_hours_in_a_small_file_end_at_the_limit():
    hours = encoded("FLAC", np.zeros(192_000 * 60, np.float32), 192_000)
    assert len(hours) < 100_000
    decoder = open_decoder(AudioFormat("FLAC"), RATE_HZ, 2.0)
    pieces = list(decoder.pieces(hours))
    assert sum(map(len, pieces)) == 2 * RATE_HZ + 1
    assert max(map(len, pieces)) < RATE_HZ
    assert not len(decoder.push(hours))
    assert not len(decoder.finish())


def test_bytes_that_give_no_sample_end_the_stream():
    decoder = open_decoder(AudioFormat("MP3"), RATE_HZ, 60.0)
    for _ in range(16):
        assert not len(decoder.push(bytes(2**20)))
    with pytest.raises(BadAudio, match="bytes without a sample"):
        decoder.push(bytes(1))


@pytest.mark.parametrize("encoding", sorted(MAKERS))
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_is_decoded_or_refused_and_bounded(encoding, data):
    file = bytearray(FILES[encoding])
    places = st.integers(0, len(file) - 1) | st.integers(0, 200)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6)):
        file[place] = value
    del file[data.draw(places) :]
    try:
        found = decoded(bytes(file), AudioFormat(data.draw(st.sampled_from([encoding, "AUTO"]))), max_s=5.0)
    except BadAudio:
        return
    assert np.isfinite(found).all()
    assert len(found) <= 5 * RATE_HZ + 1


@given(data=st.binary(max_size=3000), encoding=st.sampled_from([*MAKERS, "AUTO"]), marker=st.sampled_from([0, 4, 60]))
@settings(max_examples=60, deadline=None)
def test_noise_in_place_of_a_file_is_decoded_or_refused(data, encoding, marker):
    file = FILES.get(encoding, FILES["FLAC"])[:marker] + data
    try:
        found = decoded(file, AudioFormat(encoding))
    except BadAudio:
        return
    assert np.isfinite(found).all()
