import librosa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonorant.augment.featurizer import featurizer_stage
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import BadRecipe, RejectedExample
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.mel import dct_matrix, mel_filters
from sonorant.features.section import FeaturesRecipe

KINDS = ("power_mel", "log_mel", "mfcc", "spectrogram")
RATE = 8000


def speech_like(seconds=1.0, rate=RATE, seed=0):
    rng = np.random.default_rng(seed)
    time_s = np.arange(round(seconds * rate)) / rate
    harmonics = sum(np.sin(2 * np.pi * 120 * k * time_s) / k for k in range(1, 20))
    loudness = 0.5 - 0.5 * np.cos(2 * np.pi * 3 * time_s)
    return (0.1 * loudness * harmonics + 0.01 * rng.standard_normal(time_s.size)).astype(np.float32)


def frames_of(kind, rate=RATE, **settings):
    return FeatureExtractor(FeaturesRecipe(kind=kind, stack=1, stride=1, **settings), rate)


def example_of(waveform, rate=RATE):
    return Example(Lineage(0, 0, 0), "u", "one", rate, 1.0, waveform=waveform)


def librosa_mel(waveform, rate, bins=40, low_hz=20.0):
    """Mel energies by librosa; it centres the window in the transform, so its frames begin that much later."""
    window, hop = round(0.025 * rate), round(0.010 * rate)
    size = 1 << (window - 1).bit_length()
    margin = (size - window) // 2
    padded = np.pad(waveform.astype(np.float64), (margin, size))
    power = (
        np.abs(librosa.stft(padded, n_fft=size, hop_length=hop, win_length=window, center=False, dtype=np.complex128))
        ** 2
    )
    frames = 1 + (waveform.size - window) // hop
    filters = librosa.filters.mel(sr=rate, n_fft=size, n_mels=bins, fmin=low_hz, htk=True, norm=None, dtype=np.float64)
    return (filters @ power)[:, :frames].T


@pytest.mark.parametrize("rate", [8000, 16000])
def test_power_mel_equals_librosa(rate):
    waveform = speech_like(rate=rate)
    expected = librosa_mel(waveform, rate) ** (1 / 15)
    np.testing.assert_allclose(frames_of("power_mel", rate)(waveform), expected, rtol=1e-5)


@pytest.mark.parametrize("rate", [8000, 16000])
def test_log_mel_equals_librosa(rate):
    waveform = speech_like(rate=rate)
    expected = np.log(librosa_mel(waveform, rate))
    np.testing.assert_allclose(frames_of("log_mel", rate)(waveform), expected, atol=1e-4)


@pytest.mark.parametrize("rate", [8000, 16000])
def test_mfcc_equals_librosa(rate):
    waveform = speech_like(rate=rate)
    expected = librosa.feature.mfcc(S=np.log(librosa_mel(waveform, rate)).T, n_mfcc=13, dct_type=2, norm="ortho").T
    np.testing.assert_allclose(frames_of("mfcc", rate)(waveform), expected, atol=5e-4)


def test_spectrogram_is_the_log_power_of_each_windowed_frame():
    waveform = speech_like()
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
    expected = [np.log(np.abs(np.fft.rfft(hann * waveform[i : i + 200], 256)) ** 2) for i in range(0, 8000 - 199, 80)]
    np.testing.assert_allclose(frames_of("spectrogram")(waveform), expected, atol=1e-2)  # deep nulls lose digits
    assert np.abs(frames_of("spectrogram")(waveform) - expected).mean() < 1e-5


def test_mel_filters_equal_librosas():
    for bins, size, rate in ((40, 256, 8000), (80, 512, 16000)):
        expected = librosa.filters.mel(
            sr=rate, n_fft=size, n_mels=bins, fmin=20.0, htk=True, norm=None, dtype=np.float64
        )
        np.testing.assert_allclose(mel_filters(size, rate, bins, 20.0, rate / 2), expected, atol=1e-9)


def test_all_rows_of_the_dct_are_orthonormal():
    np.testing.assert_allclose(dct_matrix(40, 40) @ dct_matrix(40, 40).T, np.eye(40), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(
    cuts=st.lists(st.integers(0, 3000), max_size=40),
    seed=st.integers(0, 100),
    stack=st.integers(1, 5),
    data=st.data(),
)
@settings(max_examples=25)
def test_any_chunks_give_the_offline_bits(kind, cuts, seed, stack, data):
    stride = data.draw(st.integers(1, stack))
    extractor = FeatureExtractor(FeaturesRecipe(kind=kind, stack=stack, stride=stride), RATE)
    waveform = speech_like(3000 / RATE, seed=seed)
    stream = extractor.stream()
    chunks = np.split(waveform, sorted(cuts))
    streamed = np.concatenate([*map(stream.push, chunks), stream.flush()])
    offline = extractor(waveform)
    assert streamed.dtype == offline.dtype == np.float32
    assert streamed.shape == offline.shape
    assert streamed.tobytes() == offline.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_single_samples_give_the_offline_bits_of_a_longer_recording(kind):
    extractor = FeatureExtractor(FeaturesRecipe(kind=kind), 16000)
    waveform = speech_like(2.7, 16000)  # more than two blocks of frames
    stream = extractor.stream()
    streamed = np.concatenate([stream.push(chunk) for chunk in np.split(waveform, np.arange(1, waveform.size, 7))])
    assert streamed.tobytes() == extractor(waveform).tobytes()


@pytest.mark.parametrize("kind", KINDS)
@given(
    rounds=st.lists(st.lists(st.integers(0, 2500), min_size=1, max_size=20), min_size=1, max_size=3),
    seed=st.integers(0, 100),
)
@settings(max_examples=20, deadline=None)
def test_streams_that_are_pushed_together_have_the_bits_that_they_have_alone(kind, rounds, seed):
    extractor = FeatureExtractor(FeaturesRecipe(kind=kind, stack=3, stride=2), RATE)
    rng, together, alone = np.random.default_rng(seed), {}, {}
    for sizes in rounds:  # some streams begin and end between others
        chunks = [speech_like(size / RATE, seed=int(rng.integers(1000))) for size in sizes]
        due = [(chunk, together.setdefault(i, extractor.stream())) for i, chunk in enumerate(chunks)]
        for i, (vectors, stream) in enumerate(extractor.steps(due)):
            assert stream is together[i]
            assert vectors.tobytes() == alone.setdefault(i, extractor.stream()).push(chunks[i]).tobytes()


def test_no_streams_have_no_features():
    assert frames_of("power_mel").steps([]) == []


def test_a_stream_begins_anew_after_its_flush():
    extractor, waveform = frames_of("log_mel"), speech_like(0.3)
    stream = extractor.stream()
    stream.push(waveform[:777])
    stream.flush()
    assert stream.push(waveform).tobytes() == extractor(waveform).tobytes()


def test_a_vector_joins_its_frames_in_order():
    waveform = speech_like()
    frames = frames_of("power_mel")(waveform)
    vectors = FeatureExtractor(FeaturesRecipe(stack=4, stride=3), RATE)(waveform)
    assert vectors.shape == ((len(frames) - 4) // 3 + 1, 160)
    for j, vector in enumerate(vectors):
        assert vector.tobytes() == frames[3 * j : 3 * j + 4].tobytes()


@given(samples=st.integers(0, 2000), stack=st.integers(1, 4))
@settings(max_examples=50)
def test_vectors_foretells_their_number(samples, stack):
    extractor = FeatureExtractor(FeaturesRecipe(stack=stack, stride=1), RATE)
    assert extractor.vectors(samples) == len(extractor(np.zeros(samples, np.float32)))


def test_a_vector_hears_its_span_and_nothing_else():
    extractor = FeatureExtractor(FeaturesRecipe(), RATE)
    waveform = speech_like()
    start, end = (round(edge * RATE) for edge in extractor.span(7))
    changed = np.zeros_like(waveform)
    changed[start:end] = waveform[start:end]
    assert extractor(changed)[7].tobytes() == extractor(waveform)[7].tobytes()
    assert end - start == 200 + 2 * 80
    assert start / RATE == pytest.approx(7 * extractor.vector_seconds)
    changed[start + 1] += 0.1
    assert extractor(changed)[7].tobytes() != extractor(waveform)[7].tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_silence_gives_finite_features(kind):
    assert np.isfinite(frames_of(kind)(np.zeros(4000, np.float32))).all()


def test_power_mel_of_silence_is_zero():
    assert not frames_of("power_mel")(np.zeros(4000, np.float32)).any()


def test_filters_too_narrow_for_the_window_get_a_longer_transform():
    extractor = frames_of("power_mel", mel_bins=80)
    assert (extractor(speech_like())[20] > 0.1).all()


def test_filters_too_narrow_for_any_transform_are_refused():
    with pytest.raises(BadRecipe, match=r"mel_bins=256 in 20\.0\.\.21\.0 Hz: filter \d+ is too narrow"):
        frames_of("power_mel", mel_bins=256, high_hz=21.0)


def test_two_microphones_are_refused_by_the_stream():
    with pytest.raises(ValueError, match=r"\(2, 100\)"):
        frames_of("log_mel").stream().push(np.zeros((2, 100), np.float32))


def test_the_stage_puts_features_in_the_place_of_the_waveform():
    waveform = speech_like()
    result = featurizer_stage(FeaturesRecipe(), RATE)(example_of(waveform), np.random.default_rng(0))
    assert result.waveform is None
    assert result.features.shape == (32, 120)
    assert result.features.tobytes() == FeatureExtractor(FeaturesRecipe(), RATE)(waveform).tobytes()


def test_the_stage_listens_to_microphone_0():
    stage, rng = featurizer_stage(FeaturesRecipe(), RATE), np.random.default_rng(0)
    first, second = speech_like(seed=1), speech_like(seed=2)
    both = stage(example_of(np.stack([first, second])), rng)
    assert both.features.tobytes() == stage(example_of(first), rng).features.tobytes()


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        (example_of(np.zeros(359, np.float32)), r"359 samples at 8000 Hz are too short: one vector needs 0\.045 s"),
        (example_of(np.zeros(0, np.float32)), "too short"),
        (example_of(np.full(8000, np.nan, np.float32)), "not finite"),
        (example_of(np.zeros(8000, np.float32), rate=16000), "sample_rate_hz=16000: expected 8000"),
        (example_of(None), "no waveform"),
    ],
)
def test_the_stage_rejects_what_it_cannot_use(example, reason):
    with pytest.raises(RejectedExample, match=reason):
        featurizer_stage(FeaturesRecipe(), RATE)(example, np.random.default_rng(0))
