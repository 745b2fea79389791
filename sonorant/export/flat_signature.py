"""A signature of a SavedModel, without the checks of arguments that take a fifth of a small model's step."""

from typing import Any

from sonorant.tensorflow import tf

__all__ = ["FlatSignature"]


class FlatSignature:
    """Calls a signature with tensors, or what they are made of, by name: all of its inputs, of its types and ranks."""

    def __init__(self, signature: Any) -> None:
        self._function = signature
        self._captured = signature.captured_inputs
        inputs = signature.inputs[: len(signature.inputs) - len(self._captured)]
        self._inputs = [tensor.name.partition(":")[0] for tensor in inputs]
        self._outputs = sorted(signature.structured_outputs)  # as tf.nest flattens a dict
        self._types = [tensor.dtype for tensor in signature.outputs]

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        """Return the outputs by name."""
        args = [*(tf.constant(inputs[name]) for name in self._inputs), *self._captured]
        found = tf.raw_ops.StatefulPartitionedCall(args=args, Tout=self._types, f=self._function)
        return dict(zip(self._outputs, found, strict=True))
