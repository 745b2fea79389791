import pytest
from rigs.small_corpus import digits_recipe

from sonorant.corpus.making import make_record
from sonorant.corpus.utterance import Utterance
from sonorant.errors import BadAudio


def test_an_utterance_that_cannot_be_used_is_named_on_one_line() -> None:
    with pytest.raises(BadAudio) as raised:
        make_record(Utterance("two\nlines", (), "…"), digits_recipe())
    assert raised.value.path == r"two\nlines"
