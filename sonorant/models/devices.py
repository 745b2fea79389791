"""Which devices TensorFlow computes on."""

from collections.abc import Sequence
from typing import Protocol

from sonorant.tensorflow import tf

__all__ = ["Device", "has_gpu", "take_gpu"]


class Device(Protocol):
    """What `tf.config` says of a device."""

    @property
    def device_type(self) -> str:
        """Such as CPU or GPU."""
        ...


def has_gpu(devices: Sequence[Device] | None = None) -> bool:
    """Return whether a GPU is among the devices; by default those that this process may use (see `take_gpu`)."""
    found: Sequence[Device] = tf.config.get_visible_devices() if devices is None else devices
    return any(device.device_type == "GPU" for device in found)


def take_gpu(local_rank: int) -> None:
    """Let this process use one GPU of the machine, if it has any; several ranks use one if there are too few.

    local_rank: of the ranks on this machine, from 0. Its memory is taken as it is needed: by default TensorFlow takes
    all of every GPU. Raises RuntimeError if TensorFlow computes already.
    """
    if gpus := tf.config.list_physical_devices("GPU"):
        own = gpus[local_rank % len(gpus)]
        tf.config.set_visible_devices(own, "GPU")
        tf.config.experimental.set_memory_growth(own, enable=True)
