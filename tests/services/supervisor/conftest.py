"""A prepared workplace, and a training in it."""

import pytest
from rigs.local import make_workplace, nothing_left, prepared, sonorant, steps
from rigs.waiting import eventually


@pytest.fixture(autouse=True)
def nothing_left_by_a_test():
    with nothing_left():
        yield


@pytest.fixture
def workplace(tmp_path):
    made = make_workplace(tmp_path)
    prepared(made)
    return made


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """A workplace and a training in it that makes steps, which a file's tests hit one after another."""
    workplace = make_workplace(tmp_path_factory.mktemp("training"))
    prepared(workplace)
    with nothing_left():
        process = sonorant(workplace, "train")
        eventually(lambda: steps(workplace) >= 5, process=process)
        yield workplace, process
