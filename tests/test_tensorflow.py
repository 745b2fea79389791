import importlib
import json
import subprocess
import sys

import numpy as np
import pytest
from tensorflow.core.protobuf import saved_model_pb2

from sonorant.atomic import atomic_folder
from sonorant.errors import Unavailable
from sonorant.tensorflow import as_if_absent, custom_gradient, graph_function, of_arrays, save_module, tf


def test_it_loads_neither_matplotlib_nor_scikit_learn():
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    program = "import sys, sonorant.tensorflow; print({'matplotlib', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_its_import_looks_for_no_garbage_and_leaves_its_objects_out_of_later_collections():
    program = """
import gc, sys
within = []
def note(phase, info):
    within.append("tensorflow" in sys.modules and not hasattr(sys.modules["sonorant.tensorflow"], "tf"))
gc.callbacks.append(note)
import sonorant.tensorflow
print(any(within), gc.isenabled(), gc.get_freeze_count() > 100_000)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False True True"


def test_who_collects_no_garbage_goes_on_without():
    program = "import gc; gc.disable(); import sonorant.tensorflow; print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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


def test_a_saved_module_has_no_custom_gradients_which_calls_keep(tmp_path):
    @custom_gradient
    def doubled(x):
        return 2 * x, lambda upstream: 7 * upstream

    module = tf.Module()
    module.call = graph_function(doubled, input_signature=[tf.TensorSpec([], tf.float32)])
    save_module(module, tmp_path / "saved", {"call": module.call})
    saved = saved_model_pb2.SavedModel.FromString((tmp_path / "saved/saved_model.pb").read_bytes())
    assert not saved.meta_graphs[0].graph_def.library.registered_gradients
    assert tf.saved_model.load(str(tmp_path / "saved")).call(3.0) == 6
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = doubled(x)
    assert (y, tape.gradient(y, x)) == (6, 7)


def test_a_module_that_the_disk_refuses_is_told_by_its_folder(tmp_path, monkeypatch):
    def full(*_):
        raise tf.errors.ResourceExhaustedError(None, None, "draft/variables: No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    with (
        pytest.raises(Unavailable, match=r"exports/1: cannot be written: draft/variables: No space left on device;"),
        atomic_folder(tmp_path / "exports/1") as draft,
    ):
        save_module(tf.Module(), draft, {})
    assert list((tmp_path / "exports").iterdir()) == []


def test_a_file_beyond_the_largest_size_ends_a_save_as_the_disk_does(tmp_path):
    program = f"""
import resource, sys
from pathlib import Path
from sonorant.tensorflow import graph_function, save_module, tf
module = tf.Module()
module.weights = tf.Variable(tf.zeros(1 << 18))
module.call = graph_function(lambda: {{"sum": tf.reduce_sum(module.weights)}}, [])
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
try:
    save_module(module, Path({str(tmp_path / "saved")!r}), {{"call": module.call}})
except OSError as error:
    print("refused:", error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("refused: ")
    assert "saved/variables" in done.stdout


def test_arrays_are_taken_by_name_in_any_order_and_none_is_written_out(monkeypatch):
    specs = [tf.TensorSpec([None], tf.float32, name) for name in ("first", "second_0", "second_1")]
    body = graph_function(lambda first, *second: {"left": first - second[0] * second[1]}, input_signature=specs)
    call = of_arrays(body)
    monkeypatch.setattr(type(tf.constant(0.0)), "__repr__", lambda tensor: pytest.fail("a tensor is written out"))
    given = {"second_1": [3.0, 4.0], "first": [10.0, 20.0], "second_0": np.array([1, 2], np.float32)}
    np.testing.assert_array_equal(call(**given)["left"].numpy(), [7, 12])
