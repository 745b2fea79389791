import numpy as np
import pytest

from sonorant.errors import BadCorpus, RejectedExample
from sonorant.text import pieces


class OnePiece:
    """A processor of a model that was made elsewhere: its one piece is no single character."""

    def EncodeAsIds(self, text):
        return [1 if text == "ab" else 0]

    def IdToPiece(self, number):
        return ("<unk>", "\u2581ab")[number]

    def GetPieceSize(self):
        return 2


def test_a_word_longer_than_sentencepiece_takes_by_itself_is_learnt_from():
    model = pieces.load(pieces.train("bpe", {"z" * 5000: 1, "ab": 3}, 12, np.random.default_rng(0)))
    assert len(pieces.encode(model, "z" * 5000)) > 0


@pytest.mark.parametrize("reserved", ["\u2581", "\u2585", "\0"])
def test_characters_that_sentencepiece_keeps_for_itself_are_refused(reserved):
    with pytest.raises(BadCorpus, match=r"1 words, the first .*, have U"):
        pieces.train("bpe", {f"a{reserved}b": 1, "ab": 3}, 12, np.random.default_rng(0))


def test_a_text_whose_characters_are_in_longer_pieces_alone_is_rejected():
    assert pieces.encode(OnePiece(), "ab") == [0]
    with pytest.raises(RejectedExample, match="transcript 'ba' has 'ba', which no piece"):
        pieces.encode(OnePiece(), "ba")
