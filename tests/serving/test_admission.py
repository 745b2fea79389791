import pytest

from sonorant.errors import Unavailable
from sonorant.serving.admission import Admission
from sonorant.serving.errors import TooManyStreams


def test_one_more_than_there_are_places_is_refused():
    admission = Admission(2)
    with admission.slot(), admission.slot(), pytest.raises(TooManyStreams, match="no more than 2"), admission.slot():
        pass
    assert admission.active == 0


def test_a_stream_that_fails_gives_its_place_back():
    admission = Admission(1)
    with pytest.raises(ZeroDivisionError), admission.slot():
        raise ZeroDivisionError
    with admission.slot():
        assert admission.active == 1


def test_closed_doors_keep_new_streams_out_and_let_the_old_ones_end():
    admission = Admission(2)
    with admission.slot():
        admission.close()
        with pytest.raises(Unavailable, match="shutting down"), admission.slot():
            pass
        assert admission.active == 1
    assert admission.active == 0
