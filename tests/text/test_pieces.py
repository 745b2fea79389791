import pytest

from sonorant.errors import RejectedExample
from sonorant.text import pieces


class OnePiece:
    """A processor of a model that was made elsewhere: its one piece is no single character."""

    def EncodeAsIds(self, text):
        return [1 if text == "ab" else 0]

    def IdToPiece(self, number):
        return ("<unk>", "\u2581ab")[number]

    def GetPieceSize(self):
        return 2


def test_a_text_whose_characters_are_in_longer_pieces_alone_is_rejected():
    assert pieces.encode(OnePiece(), "ab") == [0]
    with pytest.raises(RejectedExample, match="transcript 'ba' has 'ba', which no piece"):
        pieces.encode(OnePiece(), "ba")
