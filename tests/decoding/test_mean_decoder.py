import numpy as np
import pytest
from rigs.tiny_bfa import tiny_bfa

from sonorant.decoding import LabelBeam, MeanDecoder
from sonorant.models.decoder_functions import decoder_functions
from sonorant.models.tensor_decoder import TensorDecoder
from sonorant.tensorflow import of_arrays

SIZES = (16, 24)


def decoder_of(seed, cells, ctc=True):
    functions = decoder_functions(tiny_bfa(seed=seed, cells=cells, ctc=ctc))
    return TensorDecoder({name: of_arrays(function) for name, function in functions.items()})


@pytest.fixture(scope="module")
def members():
    return [decoder_of(seed, size // 2) for seed, size in zip((3, 4), SIZES, strict=True)]


@pytest.fixture
def encoded():
    rng = np.random.default_rng(5)
    return [rng.normal(size=(frames, sum(SIZES))).astype(np.float32) for frames in (7, 4)]


def test_probabilities_and_attention_are_means_whatever_hypotheses_are_extended(members, encoded):
    decoder = MeanDecoder(members, SIZES, joint_ctc=True)
    own = [[frames[:, :16] for frames in encoded], [frames[:, 16:] for frames in encoded]]
    state, states = decoder.begin(encoded), [member.begin(one) for member, one in zip(members, own, strict=True)]
    labels = [(np.array([[4], [4]]), np.zeros((2, 1), int)), (np.array([[0, 2, 1], [1, 1, 3]]), np.zeros((2, 3), int)),
              (np.array([[3, 3], [0, 2]]), np.array([[2, 0], [1, 1]]))]  # fmt: skip
    for before, parents in labels:
        found = [member.next(before, parents, state) for member, state in zip(members, states, strict=True)]
        states = [after for *_, after in found]
        log_probs, weights, state = decoder.next(before, parents, state)
        np.testing.assert_allclose(np.exp(log_probs), np.mean([np.exp(one) for one, *_ in found], 0), atol=1e-6)
        np.testing.assert_allclose(weights, np.mean([one for _, one, _ in found], 0), atol=1e-6)
        assert np.abs(found[0][0] - found[1][0]).max() > 0.1


def test_frames_have_the_mean_of_their_probabilities(members, encoded):
    first = members[0].frame_log_probs([frames[:, :16] for frames in encoded])
    second = members[1].frame_log_probs([frames[:, 16:] for frames in encoded])
    found = MeanDecoder(members, SIZES, joint_ctc=True).frame_log_probs(encoded)
    for mean, *both in zip(found, first, second, strict=True):
        np.testing.assert_allclose(np.exp(mean), np.mean(np.exp(both), 0), atol=1e-6)


def test_a_search_of_twice_the_same_model_finds_what_one_finds(members, encoded):
    frames = [one[:, :16] for one in encoded]
    twice = MeanDecoder([members[0], members[0]], (16, 16), joint_ctc=True)
    one, two = (LabelBeam(decoder, end=4, beam=4) for decoder in (members[0], twice))
    for alone, both in zip(one.search(frames), two.search([np.hstack([f, f]) for f in frames]), strict=True):
        assert [h.labels for h in alone] == [h.labels for h in both]
