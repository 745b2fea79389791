import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from training.by_frame import frame_recipe, labelled, normalised_model, objective_of

from sonorant.tensorflow import tf
from sonorant.training.collective import LostRank, SingleProcess
from sonorant.training.step import Notes
from sonorant.training.unrolling import batch_layout, build_step

HERE = Path(__file__).parent


def train(folder, ranks):
    folder.mkdir()
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks)]
    paths = os.pathsep.join([str(HERE.parent), str(HERE.parent.parent)])
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [*command, sys.executable, str(HERE / "gang.py"), str(folder)],
        env=environment,
        capture_output=True,
        timeout=300,  # two ranks that start on a busy machine
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    outcomes = [json.loads((folder / f"outcome-{rank}.json").read_text()) for rank in range(ranks)]
    return outcomes, [dict(np.load(folder / f"weights-{rank}.npz")) for rank in range(ranks)]


@pytest.fixture(scope="module")
def gangs(tmp_path_factory):
    pytest.importorskip("horovod.tensorflow")
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    folder = tmp_path_factory.mktemp("gangs")
    return train(folder / "one", 1), train(folder / "two", 2)


class Failing(SingleProcess):
    """Collective operations fail in the graph, as a kernel does."""

    def __init__(self, message):
        self.message = message

    def sum(self, tensors, name):
        def fail(*given):
            raise RuntimeError(self.message)

        summed = tf.numpy_function(fail, tensors, [tensor.dtype for tensor in tensors])
        for total, tensor in zip(summed, tensors, strict=True):
            total.set_shape(tensor.shape)
        return summed


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("Horovod has been shut down. This was caused by an exception on one of the ranks", LostRank),
        ("a kernel found a fault of its own", tf.errors.UnknownError),
    ],
)
def test_a_step_tells_a_lost_rank_from_a_fault_of_its_own(message, error):
    recipe = frame_recipe()
    step = build_step(normalised_model(recipe), objective_of(recipe), recipe, Failing(message))
    batch = batch_layout(objective_of(recipe), recipe)(0, 0, labelled(recipe, [4])).tensors
    with pytest.raises(error, match="another rank has ended" if error is LostRank else message):
        step(batch, 0, Notes())


def test_one_and_two_ranks_make_the_same_updates_of_the_same_examples(gangs):
    ((_, (one,)), (_, (first, second))) = gangs
    for name in one:
        np.testing.assert_allclose(first[name], one[name], atol=1e-5, err_msg=name)
        np.testing.assert_array_equal(second[name], first[name])
    assert one["t"] == 3  # of six steps, one had no example, one was not finite, and for one a rank was late


def test_every_rank_sees_the_same_loss_norm_and_decision(gangs):
    ((one,), _), (two, _) = gangs
    assert [o["size"] for o in (one, *two)] == [1, 2, 2]
    assert [r[2:4] for r in one["results"]] == [[7, True], [1, True], [0, False], [4, True], [6, False], [0, False]]
    np.testing.assert_array_equal(two[0]["results"], two[1]["results"])
    for single, double in zip(one["results"], two[0]["results"], strict=True):
        np.testing.assert_allclose(double[:4], single[:4], rtol=1e-4)
        assert double[4] == 2 * single[4]


def test_a_gradient_that_is_too_long_is_cut_to_clip_norm_before_the_optimizer_sees_it(gangs):
    (one,), _ = gangs[0]
    assert one["results"][0][1] > 0.5  # as the step reports it, before clipping
    assert one["first_moment"] == pytest.approx((1 - 0.9) * 0.5, rel=1e-4)  # Kingma's m after one step


def test_objects_reach_every_rank(gangs):
    _, (two, _) = gangs
    assert [(o["broadcast"], o["gathered"]) for o in two] == [("from 0", [0, 1])] * 2
