import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import firwin

from sonorant.audio.g711 import decode_a_law, decode_mu_law, encode_a_law, encode_mu_law
from sonorant.augment.telephone import TelephoneRecipe, line_filter, telephone, telephone_stage
from sonorant.delivery.example import Example, Lineage
from sonorant.randomness import generator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    audioop = pytest.importorskip("audioop")

EVERY_SAMPLE = np.arange(-32768, 32768).astype("<i2")
EVERY_CODE = np.arange(256, dtype=np.uint8)
LAWS = {
    "mu_law": (encode_mu_law, decode_mu_law, audioop.lin2ulaw, audioop.ulaw2lin),
    "a_law": (encode_a_law, decode_a_law, audioop.lin2alaw, audioop.alaw2lin),
}


def tone(hz, rate_hz, amplitude=0.5, seconds=1.0):
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def level_db(waveform):
    return 10 * np.log10(np.mean(np.square(waveform[2000:-2000], dtype=float)) + 1e-20)


@pytest.mark.parametrize("law", LAWS)
def test_every_sample_and_every_code_is_as_in_the_standard_library(law):
    encode, decode, reference_encode, reference_decode = LAWS[law]
    np.testing.assert_array_equal(
        encode(EVERY_SAMPLE), np.frombuffer(reference_encode(EVERY_SAMPLE.tobytes(), 2), np.uint8)
    )
    np.testing.assert_array_equal(decode(EVERY_CODE), np.frombuffer(reference_decode(EVERY_CODE.tobytes(), 2), "<i2"))


@pytest.mark.parametrize("law", LAWS)
def test_a_code_survives_decoding_and_encoding(law):
    encode, decode, *_ = LAWS[law]
    again = decode(encode(decode(EVERY_CODE)))
    np.testing.assert_array_equal(again, decode(EVERY_CODE))


@given(st.integers(-32000, 32000))
def test_mu_law_is_the_logarithm_of_its_closed_form(sample):
    """F(x) = sgn(x) ln(1 + 255 |x|) / ln 256 in 255 steps: the pieces stay within one step of the curve."""
    code = int(~encode_mu_law(np.array([sample], np.int16))[0] & 0xFF)
    steps = (code & 0x7F) + 0.5
    closed = 128 * np.log1p(255 * abs(sample) / 32635) / np.log(256)
    assert abs(steps - closed) <= 2.0


def test_the_line_is_filtered_as_scipy_designs_it():
    np.testing.assert_allclose(line_filter(), firwin(161, (300, 3400), pass_zero=False, fs=8000), atol=1e-7)


@pytest.mark.parametrize("rate_hz", [8000, 11025, 16000])
def test_the_band_is_that_of_a_telephone(rate_hz):
    def loss_db(hz):
        waveform = tone(hz, rate_hz)
        return level_db(waveform) - level_db(telephone(waveform, rate_hz, "mu_law"))

    for hz in (450, 1000, 2000, 3200):
        assert loss_db(hz) == pytest.approx(0, abs=0.5), hz
    for hz in (60, 120, 3650, *((5000, 5400) if rate_hz > 8000 else ())):
        assert loss_db(hz) > 25, hz
    assert 3 < loss_db(300) < 9


@pytest.mark.parametrize("codec", ["mu_law", "a_law"])
@pytest.mark.parametrize("amplitude", [0.9, 0.1, 0.02])
def test_the_noise_of_8_bits_lies_some_37_db_below_speech_of_any_level(codec, amplitude):
    waveform = tone(1000, 8000, amplitude)
    noise = telephone(waveform, 8000, codec) - waveform
    assert 30 < level_db(waveform) - level_db(noise) < 45


@pytest.mark.parametrize("shape", [(1,), (2, 1), (2, 777), (2, 5001)])
def test_length_and_microphones_stay(shape):
    heard = telephone(np.full(shape, 0.1, np.float32), 16000, "a_law")
    assert heard.shape == shape
    assert heard.dtype == np.float32


def test_a_click_stays_where_it_was():
    click = np.zeros(16000, np.float32)
    click[7000] = 0.9
    assert abs(int(np.abs(telephone(click, 16000, "mu_law")).argmax()) - 7000) <= 1


def test_the_stage_draws_the_codec_by_key():
    example = Example(Lineage(0, 0, 0), "u", "one", 8000, 1.0, waveform=tone(700, 8000))
    stage = telephone_stage(TelephoneRecipe(stage="telephone"))
    heard = [stage(example, generator(1, epoch, "u", "telephone")).waveform for epoch in range(12)]
    expected = {telephone(example.waveform, 8000, codec).tobytes() for codec in ("mu_law", "a_law")}
    assert {waveform.tobytes() for waveform in heard} == expected
    np.testing.assert_array_equal(heard[3], stage(example, generator(1, 3, "u", "telephone")).waveform)
