"""The digits model as an ONNX graph, for a Python that has onnx: running level and mean, LSTM layers, projection.

tf2onnx has no translation of TensorFlow's fused BlockLSTM, so the graph is written out, with ONNX's own LSTM operator:
the fastest form of it that onnxruntime has. The recurrences of level and mean are in closed form, [T, T] matrices of
decays, as a chunk has two or three vectors.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.parser import parse_model

__all__ = ["write_graph"]

_HEAD = """
<ir_version: 8, opset_import: ["": 17]>
stream (float[B, T, bins] features{inputs}) => (float[B, T, symbols] log_probs{outputs})
"""
_NORMALISED = """
  centred = Sub({heard}, mean)
  normal = Div(centred, deviation)
"""
_TIMES = """
  shape = Shape(features)
  frames = Gather<axis = 0>(shape, one)
  until = Range(zero, frames, one)
  times = Cast<to = 1>(until)
  column = Unsqueeze(times, last)
  row = Unsqueeze(times, first)
  ages = Sub(column, row)
  past = GreaterOrEqual(ages, nothing)
  elapsed = Add(column, unit)
"""
# Equations of sonorant/models/running_level.py: peaks p.
_RUNNING_LEVEL = """
  loudness = ReduceMean<axes = [2], keepdims = 1>(features)
  floored = Max(loudness, floor)
  loudness_across = Transpose<perm = [0, 2, 1]>(floored)
  fading = Pow(kept_peak, ages)
  fading_past = Where(past, fading, nothing)
  faded = Mul(loudness_across, fading_past)
  loudest = ReduceMax<axes = [2], keepdims = 1>(faded)
  loudest_before = Unsqueeze(state_{level}, last)
  fading_since = Pow(kept_peak, elapsed)
  loudest_remembered = Mul(loudest_before, fading_since)
  loudest_so_far = Max(loudest, loudest_remembered)
  relative = Div(features, loudest_so_far)
  after_level = Gather<axis = 1>(loudest_so_far, latest)
  next_{level} = Identity(after_level)
"""
# Equations of sonorant/models/running_mean.py: peaks p, gate w, sums S and N.
_RUNNING_MEAN = """
  level = ReduceMean<axes = [2], keepdims = 1>(normal)
  across = Transpose<perm = [0, 2, 1]>(level)
  fallen = Mul(ages, fall)
  lower = Sub(across, fallen)
  seen = Where(past, lower, never)
  highest = ReduceMax<axes = [2], keepdims = 1>(seen)
  peak_before = Unsqueeze(state_{peak}, last)
  fallen_before = Mul(elapsed, fall)
  remembered = Sub(peak_before, fallen_before)
  peaks = Max(highest, remembered)
  above = Sub(level, peaks)
  raised = Add(above, below_peak)
  steep = Mul(raised, steepness)
  gate = Sigmoid(steep)
  gated = Mul(gate, normal)
  terms = Concat<axis = 2>(gated, gate)
  powers = Pow(decay, ages)
  decays = Where(past, powers, nothing)
  fresh = MatMul(decays, terms)
  before = Concat<axis = 1>(state_{total}, state_{count})
  before_row = Unsqueeze(before, middle)
  kept = Pow(decay, elapsed)
  old = Mul(kept, before_row)
  sums = Add(fresh, old)
  sums_s, sums_n = Split<axis = 2>(sums, sizes)
  running = Div(sums_s, sums_n)
  encoded = Sub(normal, running)
  after_total = Gather<axis = 1>(sums_s, latest)
  after_count = Gather<axis = 1>(sums_n, latest)
  after_peak = Gather<axis = 1>(peaks, latest)
  next_{total} = Identity(after_total)
  next_{count} = Identity(after_count)
  next_{peak} = Identity(after_peak)
"""
_LAYER = """
  cell_{i} = Unsqueeze(state_{cell}, first)
  hidden_{i} = Unsqueeze(state_{hidden}, first)
  all_{i}, last_hidden_{i}, last_cell_{i} =
    LSTM<hidden_size = {cells}>(below_{i}, w_{i}, r_{i}, b_{i}, , hidden_{i}, cell_{i})
  below_{above} = Squeeze(all_{i}, middle)
  next_{cell} = Squeeze(last_cell_{i}, first)
  next_{hidden} = Squeeze(last_hidden_{i}, first)
"""
_TOP = """
  products = MatMul(below_{layers}, kernel)
  logits = Add(products, bias)
  frame_log_probs = LogSoftmax<axis = -1>(logits)
  log_probs = Transpose<perm = [1, 0, 2]>(frame_log_probs)
"""
_ORDER = (0, 3, 2, 1)  # ONNX's input, output, forget gate, candidate; TensorFlow's: input, candidate, forget, output


def write_graph(arrays: "dict[str, NDArray[Any]]", layers: int, running: bool, decay: float, path: str) -> None:
    """Write the graph of an `lstm_ctc` model to `path`.

    arrays: mean, deviation, weight_i [inputs + cells, 4 cells] and bias_i of each layer, kernel, bias, and floor where
    the level is a running one. Inputs are features and state_i, outputs log_probs and next_i, as those of the signature
    `stream`. running: whether the mean is a running one, of this decay from vector to vector.
    """
    cells, levelled = len(arrays["bias_0"]) // 4, "floor" in arrays
    states = [cells] * (2 * layers) + [1] * levelled + ([len(arrays["mean"]), 1, 1] if running else [])
    inputs = "".join(f", float[B, {size}] state_{i}" for i, size in enumerate(states))
    outputs = "".join(f", float[B, {size}] next_{i}" for i, size in enumerate(states))
    level, total = 2 * layers, 2 * layers + levelled
    body = _TIMES if levelled or running else ""
    body += _RUNNING_LEVEL.format(level=level) if levelled else ""
    body += _NORMALISED.format(heard="relative" if levelled else "features")
    if running:
        body += _RUNNING_MEAN.format(total=total, count=total + 1, peak=total + 2)
    body += f"  below_0 = Transpose<perm = [1, 0, 2]>({'encoded' if running else 'normal'})\n"
    for i in range(layers):
        body += _LAYER.format(i=i, above=i + 1, cell=2 * i, hidden=2 * i + 1, cells=cells)
    model = parse_model(_HEAD.format(inputs=inputs, outputs=outputs) + "{" + body + _TOP.format(layers=layers) + "}")
    for name, array in _constants(arrays, layers, decay).items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _constants(arrays: "dict[str, NDArray[Any]]", layers: int, decay: float) -> "dict[str, NDArray[Any]]":
    bins = len(arrays["mean"])
    floats = {"nothing": 0.0, "unit": 1.0, "fall": 0.01, "below_peak": 0.8, "steepness": 6.0, "never": -1e9}
    floats |= {"decay": decay, "kept_peak": decay**0.1}
    found = {name: np.array(value, np.float32) for name, value in floats.items()}
    axes = {"first": [0], "middle": [1], "last": [-1], "sizes": [bins, 1]}
    found |= {name: np.array(value, np.int64) for name, value in axes.items()}
    found |= {name: np.array(value, np.int64) for name, value in {"zero": 0, "one": 1, "latest": -1}.items()}
    found |= {name: arrays[name] for name in ("mean", "deviation", "kernel", "bias", "floor") if name in arrays}
    for i in range(layers):
        weight, bias = arrays[f"weight_{i}"], arrays[f"bias_{i}"]
        cells = len(bias) // 4
        gates = weight.reshape(-1, 4, cells)[:, _ORDER].reshape(-1, 4 * cells)
        found[f"w_{i}"] = np.ascontiguousarray(gates[:-cells].T[None])
        found[f"r_{i}"] = np.ascontiguousarray(gates[-cells:].T[None])
        ordered = bias.reshape(4, cells)[_ORDER, :].reshape(1, -1)
        found[f"b_{i}"] = np.concatenate([ordered, np.zeros_like(ordered)], axis=1)
    return found
