"""What a rank takes of its machine: TensorFlow's list of devices is the edge that stands in for several GPUs."""

import subprocess
import sys

import pytest

from services.trainer import gang
from sonorant.models import devices
from sonorant.tensorflow import tf


@pytest.fixture
def machine(monkeypatch):
    """Two GPUs; records what is made visible, and whose memory grows."""
    said = {}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [f"{kind}:0", f"{kind}:1"])
    monkeypatch.setattr(tf.config, "set_visible_devices", lambda device, kind: said.update({kind: device}))
    grow = tf.config.experimental
    monkeypatch.setattr(grow, "set_memory_growth", lambda device, enable: said.update(grows=(device, enable)))
    monkeypatch.setattr(gang, "_limit_threads", lambda count: None)
    return said


@pytest.mark.parametrize(("local_rank", "gpu"), [(None, "GPU:0"), ("1", "GPU:1"), ("2", "GPU:0")])
def test_a_rank_takes_one_gpu_by_its_number_on_the_machine(machine, monkeypatch, local_rank, gpu):
    if local_rank:
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", local_rank)
    gang.join_gang(launched=False, threads=1)
    assert machine == {"GPU": gpu, "grows": (gpu, True)}


@pytest.mark.parametrize(("ranks", "threads"), [(1, 3), (2, 1), (4, 1)])
def test_ranks_share_the_cores_that_they_may_use_whatever_the_machine_has(machine, monkeypatch, ranks, threads):
    limits = []
    monkeypatch.setattr(gang, "_limit_threads", limits.append)
    monkeypatch.setattr(gang.os, "sched_getaffinity", lambda process: {0, 4, 5})
    monkeypatch.setattr(gang.os, "cpu_count", lambda: 64)
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", str(ranks))
    gang.join_gang(launched=False, threads=0)
    assert limits == [threads]


def test_without_a_gpu_nothing_is_taken(machine, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    devices.take_gpu(0)
    assert machine == {}


_MEETING = """
import threading
import tensorflow as tf
from services.trainer import gang

gang._limit_threads(1)
meeting = threading.Barrier(2)


def meet(x):
    meeting.wait(timeout=20)
    return x


@tf.function
def step(x):
    one, other = (tf.numpy_function(meet, [value], tf.float32, stateful=False) for value in (x, x + 1))
    return one + other


print(float(step(tf.constant(1.0))))
"""


def test_operations_that_do_not_need_each_other_run_at_a_time_with_one_thread_each():
    """In a process of its own: threads are limited before TensorFlow's first operation."""
    done = subprocess.run([sys.executable, "-c", _MEETING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 3.0
