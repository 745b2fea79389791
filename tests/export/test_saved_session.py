"""Functions by TensorFlow's C API give what its Python gives of the same SavedModel, without it."""

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest

from sonorant.export.c_library import TensorFlowError, version
from sonorant.export.saved_session import load_signatures
from sonorant.tensorflow import graph_function, save_module, tf


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    module = tf.Module()
    module.weight = tf.Variable(np.random.default_rng(0).standard_normal((3, 4)), dtype=tf.float32)

    def mix(rows, scale, on):
        product = tf.matmul(rows, module.weight) * scale
        return {"product": product, "count": tf.shape(rows)[0], "on": tf.logical_not(on)}

    def nothing():
        return {"weight": tf.identity(module.weight)}

    specs = [tf.TensorSpec([None, 3], tf.float32, "rows"), tf.TensorSpec([], tf.float32, "scale")]
    module.mix = graph_function(mix, input_signature=[*specs, tf.TensorSpec([None], tf.bool, "on")])
    module.nothing = graph_function(nothing, input_signature=[])
    folder = tmp_path_factory.mktemp("saved")
    save_module(module, folder, {"mix": module.mix, "nothing": module.nothing})
    return folder


@pytest.fixture(scope="module")
def signatures(folder):
    return load_signatures(folder)


ON = np.array([True, False, True])


def rows(count, seed=1):
    return np.random.default_rng(seed).standard_normal((count, 3)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 16, 257])
def test_a_function_gives_the_bits_that_it_gives_in_python(folder, signatures, count):
    expected = tf.saved_model.load(str(folder)).signatures["mix"](
        rows=tf.constant(rows(count)), scale=tf.constant(0.3), on=tf.constant(ON)
    )
    found = signatures["mix"](rows=rows(count), scale=0.3, on=ON)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        np.testing.assert_array_equal(found[name], tensor.numpy())
        assert found[name].dtype == tensor.numpy().dtype
        assert found[name].shape == tensor.shape


def test_names_and_shapes_are_the_saved_model_s(signatures):
    assert set(signatures) == {"mix", "nothing"}
    assert signatures["mix"].shapes == {"product": [-1, 4], "count": [], "on": [-1]}


@pytest.mark.parametrize(
    "laid", [np.asfortranarray, lambda a: a[::-1][::-1], lambda a: a.astype(np.float64), lambda a: a.tolist()]
)
def test_arrays_of_any_layout_and_type_are_taken(signatures, laid):
    given = rows(5)
    np.testing.assert_array_equal(
        signatures["mix"](rows=laid(given), scale=1, on=ON)["product"],
        signatures["mix"](rows=given, scale=1, on=ON)["product"],
    )


def test_no_rows_are_no_rows(signatures):
    found = signatures["mix"](rows=rows(0), scale=1, on=ON[:0])
    assert found["product"].shape == (0, 4)
    assert found["on"].shape == (0,)
    assert found["count"] == 0


def test_a_function_without_inputs_is_called_without(signatures):
    assert signatures["nothing"]()["weight"].shape == (3, 4)


def test_results_outlive_the_model_and_can_be_given_again(folder):
    signatures = load_signatures(folder)
    weight = signatures["nothing"]()["weight"]
    again = signatures["mix"](rows=weight.T, scale=1, on=ON)["product"]
    expected = weight.T @ weight
    del signatures
    gc.collect()
    np.testing.assert_allclose(again, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="read-only"):
        weight[0] = 1


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"rows": np.zeros((2, 5)), "scale": 1, "on": ON}, TensorFlowError, "size-incompatible"),
        ({"scale": 1, "on": ON}, TensorFlowError, "rows"),
        ({"rows": rows(1), "scale": 1, "on": ON, "loud": 1}, KeyError, "loud"),
        ({"rows": "three", "scale": 1, "on": ON}, ValueError, "three"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_and_the_next_call_goes_on(signatures, given, error, said):
    with pytest.raises(error, match=said):
        signatures["mix"](**given)
    assert signatures["mix"](rows=rows(2), scale=1, on=ON)["count"] == 2


@pytest.mark.parametrize("content", [None, b"", b"no graph"])
def test_what_is_no_saved_model_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(TensorFlowError):
        load_signatures(tmp_path)


def test_threads_share_a_function(signatures):
    def product(seed):
        return signatures["mix"](rows=rows(16, seed), scale=1, on=ON)["product"]

    alone = [product(seed) for seed in range(40)]
    with ThreadPoolExecutor(8) as threads:
        for one, other in zip(alone, threads.map(product, range(40)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_neither_calls_nor_models_leave_memory(tmp_path):
    module = tf.Module()
    module.weight = tf.Variable(tf.ones((2_500_000, 2)))  # 20 MB
    specs = [tf.TensorSpec([None, 2], tf.float32, "rows")]
    module.total = graph_function(lambda rows: {"of": rows + tf.reduce_sum(module.weight, 0)}, specs)
    save_module(module, tmp_path, {"total": module.total})

    def work():
        signatures = load_signatures(tmp_path)
        for _ in range(5):
            signatures["total"](rows=np.zeros((1_000_000, 2), np.float32))  # 8 MB in, as many out

    for _ in range(3):
        work()
    before = psutil.Process().memory_info().rss
    for _ in range(10):
        work()
    assert psutil.Process().memory_info().rss - before < 60e6


def test_denormals_are_zeros_in_a_call_as_they_are_in_python_and_stay_outside_of_it(folder, signatures):
    tiny = np.full((16, 3), 1e-40, np.float32)
    found = signatures["mix"](rows=tiny, scale=1, on=ON)["product"]
    tensors = {"rows": tf.constant(tiny), "scale": tf.constant(1.0), "on": tf.constant(ON)}
    np.testing.assert_array_equal(found, tf.saved_model.load(str(folder)).signatures["mix"](**tensors)["product"])
    assert not found.any()
    assert (tiny * np.float32(0.5)).all()


def test_a_process_whose_stderr_is_closed_loads_all_the_same(folder):
    program = f"""
import os
from pathlib import Path
from sonorant.export.saved_session import load_signatures
os.close(2)
print(load_signatures(Path({str(folder)!r}))["nothing"]()["weight"].shape)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split("\n")[0] == "(3, 4)"


def test_a_process_that_calls_functions_has_no_python_of_tensorflow_and_a_quiet_log(folder):
    program = f"""
import sys
from pathlib import Path
from sonorant.export.saved_session import load_signatures
print(load_signatures(Path({str(folder)!r}))["nothing"]()["weight"].shape, "tensorflow" in sys.modules)
"""
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=quiet)
    assert done.stdout.split("\n")[0] == "(3, 4) False"
    assert done.stderr == ""


def test_the_version_is_the_package_s():
    assert version() == tf.__version__
