import os
import subprocess
import sys

from hypothesis import assume, given
from hypothesis import strategies as st

from sonorant.randomness import generator

_KEYS = st.tuples(st.integers(0, 2**64), st.integers(0, 2**32), st.text(max_size=8), st.text(max_size=8))


@given(_KEYS)
def test_a_key_gives_one_sequence(key):
    assert generator(*key).bytes(32) == generator(*key).bytes(32)


@given(_KEYS, _KEYS)
def test_different_keys_give_different_sequences(one, other):
    assume(one != other)
    assert generator(*one).bytes(32) != generator(*other).bytes(32)


def test_parts_of_a_key_do_not_run_together():
    assert generator(1, 2, "a", "bc").bytes(32) != generator(1, 2, "ab", "c").bytes(32)
    assert generator(1, 12, "a", "b").bytes(32) != generator(11, 2, "a", "b").bytes(32)


def test_the_stream_is_the_same_in_every_process_and_version():
    """The value is written down: a change would make old runs impossible to resume."""
    known = "7943e5f501748fa25daf64e260c60017"
    program = "from sonorant.randomness import generator; print(generator(1, 2, 'räuber', 'room').bytes(16).hex())"
    for seed in ("0", "123"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == known
