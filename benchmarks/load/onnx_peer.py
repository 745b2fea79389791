"""The peer of `serve`: the same model through onnxruntime, behind a minimal server, in a Python of its own.

`python -m benchmarks.load.onnx_peer EXPORT FOLDER` writes what `onnx_recognizer` needs of an export, which loads
TensorFlow; `onnx_recognizer` starts the server.
"""

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, duration_pb2
from numpy.typing import NDArray

from benchmarks.load.recordings import murmurs
from benchmarks.load.server import Target, started
from sonorant.audio.pcm import from_int16
from sonorant.audio.windows import hann
from sonorant.errors import Unavailable
from sonorant.features.mel import recipe_filters
from sonorant.v1 import recognizer_pb2

__all__ = ["MODES", "onnx_recognizer", "write_peer"]

MODES = ("single", "batched")
_PROGRAM = Path(__file__).with_name("onnx_recognizer.py")


@contextmanager
def onnx_recognizer(python: str, folder: Path, mode: str) -> Iterator[Target]:
    """Serve what `write_peer` wrote to `folder`, by the Python `python`, on the first core; mode: one of `MODES`."""
    with started(lambda port_file: [python, str(_PROGRAM), str(folder), str(port_file), mode]) as target:
        yield target


def write_peer(export: Path, folder: Path) -> None:
    """Write an export's weights, constants and messages to `folder`; raises Unavailable for a model of another kind."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", __name__, str(export), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{export}: the peer cannot have this model: {done.stderr.strip()[-300:]}")


def main(export: Path, folder: Path) -> None:
    """Write them, and log-probabilities of a recording that the peer's must equal; loads TensorFlow."""
    from sonorant.export.loading import load_exported
    from sonorant.tensorflow import tf

    model = load_exported(export)
    recipe = model.recipe
    if recipe.model.family != "lstm_ctc" or recipe.features.kind != "power_mel":
        raise SystemExit(f"expected lstm_ctc on power_mel, found {recipe.model.family} on {recipe.features.kind}")
    (member,) = model.members
    module = tf.saved_model.load(str(export))  # owns the variables
    arrays = {_array_name(each.name): each.numpy() for each in module.signatures["stream"].variables}
    start = module.signatures["start"](streams=tf.constant(1))
    states = {name: tensor.numpy() for name, tensor in start.items() if name.startswith("state_")}
    arrays |= states
    extractor, rate_hz = member.extractor, model.sample_rate_hz
    window = recipe.features.window_samples(rate_hz)
    fft_size, filters = recipe_filters(recipe.features, rate_hz)
    arrays |= {
        "hann": hann(window),
        "filters": filters.T.astype(np.float32),
        **_check(member, rate_hz),
    }
    facts = {
        "rate_hz": rate_hz,
        "hop": extractor.hop,
        "fft_size": fft_size,
        "frame_bins": extractor.frame_bins,
        "power": recipe.features.power,
        "stack": recipe.features.stack,
        "stride": recipe.features.stride,
        "layers": recipe.model.layers,
        "running": recipe.model.normalisation == "running",
        "decay": math.exp(-1 / recipe.model.memory_vectors),
        "states": len(states),
        "units": list(model.units.symbols),
    }
    np.savez(folder / "arrays.npz", **arrays)
    (folder / "model.json").write_text(json.dumps(facts))
    (folder / "messages.pb").write_bytes(_descriptors())


def _check(member: Any, rate_hz: int) -> dict[str, NDArray[Any]]:
    """Return a recording, and the log-probabilities that the model has for it."""
    audio = np.frombuffer(murmurs(rate_hz, 1)[0].audio, "<i2")
    log_probs, _ = member.step(member.extractor(from_int16(audio)), member.initial_state())
    return {"check_audio": audio, "check_log_probs": log_probs}


def _array_name(variable: str) -> str:
    """Return `weight_0` of `lstm_0/weight:0`, and the last part of other names."""
    layer, _, name = variable.partition(":")[0].rpartition("/")
    return f"{name}_{layer.rpartition('_')[2]}" if "lstm_" in layer else name


def _descriptors() -> bytes:
    files = descriptor_pb2.FileDescriptorSet()
    for module in (duration_pb2, recognizer_pb2):
        module.DESCRIPTOR.CopyToProto(files.file.add())
    return files.SerializeToString()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
