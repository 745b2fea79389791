import importlib
import json
import subprocess
import sys

import pytest

from sonorant.tensorflow import as_if_absent, graph_function, tf


def test_it_loads_neither_matplotlib_nor_scikit_learn():
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    program = "import sys, sonorant.tensorflow; print({'matplotlib', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_process_leaves_gpus_alone_until_it_takes_one():
    program = "import tensorflow as tf; said = []; tf.config.set_visible_devices = lambda *given: said.append(given)"
    program += "; import sonorant.tensorflow; print(said)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[([], 'GPU')]"


def test_what_is_hidden_can_be_loaded_afterwards_and_what_was_loaded_stays(monkeypatch):
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with as_if_absent("wave", "json"):
        assert sys.modules["json"] is json
        with pytest.raises(ImportError):
            importlib.import_module("wave")
    assert importlib.import_module("wave").__name__ == "wave"


def test_a_graph_is_traced_without_autograph():
    assert float(graph_function(lambda x: 2 * x, [tf.TensorSpec([], tf.float32)])(3.0)) == 6
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        graph_function(lambda x: x if x > 0 else -x)(tf.constant(1.0))
