import importlib
import json
import subprocess
import sys

import pytest

from sonorant.tensorflow import as_if_absent


def test_it_loads_neither_matplotlib_nor_scikit_learn():
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    program = "import sys, sonorant.tensorflow; print({'matplotlib', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_what_is_hidden_can_be_loaded_afterwards_and_what_was_loaded_stays(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with as_if_absent("wave", "json"):
        assert sys.modules["json"] is json
        with pytest.raises(ImportError):
            importlib.import_module("wave")
    assert importlib.import_module("wave").__name__ == "wave"
