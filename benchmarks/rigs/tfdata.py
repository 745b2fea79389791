"""tf.data on the fleet's shards, in process and as a service, with the toolkits' chain."""

import os
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["serve_by_service", "serve_in_process"]


def serve_in_process(connection: Connection, shards: Path, rate_hz: int) -> None:
    """Answer each number with the CPU seconds per example that taking so many costs; main of a child."""
    _answer(connection, _dataset(shards, rate_hz))


def serve_by_service(connection: Connection, shards: Path, rate_hz: int) -> None:
    """Do the same by tf.data service: dispatcher, worker and client in one process, which Python functions need."""
    from sonorant.tensorflow import tf

    service = tf.data.experimental.service
    dispatcher = service.DispatchServer()
    _, address = dispatcher.target.split("://")
    worker = service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
    distributed = service.distribute(service.ShardingPolicy.OFF, dispatcher.target)
    _answer(connection, _dataset(shards, rate_hz).apply(distributed))
    # Stopping a worker waits, with Python's lock held, for the Python function that it runs ahead: for ever.
    os._exit(0 if worker else 1)


def _answer(connection: Connection, dataset: Any) -> None:
    from benchmarks.rigs import toolkits

    toolkits.keep_to_one_thread()
    examples = iter(dataset)
    while (count := connection.recv()) is not None:
        started_s = time.process_time()
        for _ in range(int(count)):
            next(examples)
        connection.send((time.process_time() - started_s) / int(count))


def _dataset(shards: Path, rate_hz: int) -> Any:
    from benchmarks.rigs import toolkits
    from sonorant.corpus.record import decode_audio
    from sonorant.tensorflow import tf

    rng = np.random.default_rng(1)
    audio = {"audio": tf.io.FixedLenFeature([], tf.string)}

    def augment(flac: bytes) -> object:
        return toolkits.chain(decode_audio(flac, "flac"), rate_hz, rng).astype(np.float32)

    def parse(record: tf.Tensor) -> tf.Tensor:
        return tf.numpy_function(augment, [tf.io.parse_single_example(record, audio)["audio"]], tf.float32)

    files = sorted(str(path) for path in shards.glob("train-*.tfrecord"))
    return tf.data.TFRecordDataset(files).repeat().map(parse)
