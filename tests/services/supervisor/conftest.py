"""A prepared workplace, and a training in it."""

import pytest
from rigs.local import make_workplace, prepared, sonorant, steps
from rigs.waiting import eventually


@pytest.fixture
def workplace(tmp_path):
    made = make_workplace(tmp_path)
    prepared(made)
    return made


@pytest.fixture
def trained(workplace):
    """A training that makes steps; killed at the end."""
    process = sonorant(workplace, "train")
    eventually(lambda: steps(workplace) >= 5, process=process)
    yield process
    process.kill()
    process.communicate()
