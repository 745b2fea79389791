import subprocess
import sys

import pytest


def python(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_loads_neither_matplotlib_nor_scikit_learn_which_load_afterwards_all_the_same():
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    unused = "{'matplotlib', 'sklearn'} & set(sys.modules)"
    program = f"import sys, sonorant.tensorflow; print(len({unused})); import matplotlib, sklearn; print(len({unused}))"
    assert python(program) == ["0", "2"]


def test_what_was_loaded_before_stays_loaded():
    pytest.importorskip("matplotlib")
    program = "import sys, matplotlib, sonorant.tensorflow; print(sys.modules['matplotlib'] is matplotlib)"
    assert python(program) == ["True"]
