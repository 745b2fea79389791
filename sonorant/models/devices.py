"""Which devices TensorFlow computes on."""

from collections.abc import Sequence
from typing import Protocol

from sonorant.tensorflow import tf

__all__ = ["Device", "has_gpu"]


class Device(Protocol):
    """What `tf.config` says of a device."""

    @property
    def device_type(self) -> str:
        """Such as CPU or GPU."""
        ...


def has_gpu(devices: Sequence[Device] | None = None) -> bool:
    """Return whether a GPU is among the devices; by default those that TensorFlow may use."""
    found: Sequence[Device] = tf.config.get_visible_devices() if devices is None else devices
    return any(device.device_type == "GPU" for device in found)
