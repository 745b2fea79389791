"""TensorFlow and Keras, without the optional packages that Keras would import, and without GPUs.

A rank of a training takes one (`sonorant.models.devices`). Exported models, and what else a process computes, have
the operations of a CPU, of which some have no kernel on a GPU, or another one.

For its scikit-learn wrappers and image galleries Keras loads scikit-learn and matplotlib where they are installed: of
the 5.2 s that `import tensorflow` took, on an EPYC, they took 2.0 (`python -X importtime` names them). A good part of
the rest went into looking for garbage among objects that all stay.
"""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any

__all__ = ["as_if_absent", "custom_gradient", "graph_function", "keras", "of_arrays", "save_module", "tf"]


@contextmanager
def as_if_absent(*packages: str) -> Iterator[None]:
    """Make imports of packages fail that have not been imported yet."""
    hidden = [package for package in packages if package not in sys.modules]
    for package in hidden:
        sys.modules[package] = None  # type: ignore[assignment] # marks it as missing for the import system
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]


@contextmanager
def _without_garbage() -> Iterator[None]:
    """Collect no garbage within, and leave all objects that there are then out of later collections: for imports."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


with as_if_absent("matplotlib", "sklearn"), _without_garbage():
    import keras
    import tensorflow as tf

tf.config.set_visible_devices([], "GPU")


def graph_function(body: Callable[..., Any], input_signature: list[Any] | None = None) -> Any:
    """Return `tf.function` of a body whose loops over tensors are `tf.while_loop`.

    AutoGraph, which would make graphs of Python's `if` and `while` on tensors, rewrites each function that is called,
    a quarter of the time of an export. Without it such an `if` raises OperatorNotAllowedInGraphError.
    """
    return tf.function(body, input_signature=input_signature, autograph=False)


def of_arrays(function: Any) -> Callable[..., dict[str, Any]]:
    """Return a function with an input signature, which returns tensors by name, as one that takes arrays by name.

    Its graph takes them in their order: where names do not bind to the body's parameters, TensorFlow first writes a
    message with the values of all, and then tries another way.
    """
    graph = function.get_concrete_function()
    names = [spec.name for spec in function.input_signature]

    def call(**given: Any) -> dict[str, Any]:
        found: dict[str, Any] = graph(*(tf.convert_to_tensor(given[name]) for name in names))
        return found

    return call


_saving = ContextVar("saving", default=False)


def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `tf.custom_gradient` of a function, and in a module that is saved its outputs alone.

    A SavedModel would have a graph of each gradient, which nobody calls and which takes its time to export.
    """
    differentiable = tf.custom_gradient(function)

    @wraps(function)
    def outputs(*args: Any) -> Any:
        return function(*args)[0] if _saving.get() else differentiable(*args)

    return outputs


def save_module(module: Any, folder: Path, signatures: Mapping[str, Any]) -> None:
    """Write a SavedModel to compute with; what has no graph yet gets it without `custom_gradient`.

    Raises OSError when the file system refuses, as `atomic_folder` expects.
    """
    saving = _saving.set(True)
    try:
        tf.saved_model.save(module, str(folder), signatures)
    except tf.errors.OpError as error:  # what TensorFlow makes of errors of files
        raise OSError(error.message) from error
    finally:
        _saving.reset(saving)
