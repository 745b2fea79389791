"""Collective operations of the ranks, behind an interface, so that Horovod can be replaced."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from sonorant.errors import SonorantError
from sonorant.tensorflow import tf

__all__ = ["Collective", "HorovodCollective", "LostRank", "SingleProcess"]

T = TypeVar("T")


class LostRank(SonorantError):
    """Another rank of the gang has ended; all restart from the checkpoint."""

    exit_code = 75

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"another rank has ended ({reason.splitlines()[0]}); see its log; the same command goes on from "
            "the checkpoint"
        )


class Collective(Protocol):
    """The gang of ranks. Every rank must make the same calls in the same order, from one thread."""

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""
        ...

    @property
    def size(self) -> int:
        """Number of ranks."""
        ...

    def sum(self, tensors: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
        """Return each tensor summed over the ranks; works inside `tf.function`, where `name` must be unique."""
        ...

    def broadcast(self, value: T) -> T:
        """Return rank 0's picklable value on every rank."""
        ...

    def gather(self, value: T) -> list[T]:
        """Return all ranks' picklable values, by rank, on every rank; a barrier."""
        ...


class SingleProcess:
    """A gang of one."""

    rank = 0
    size = 1

    def sum(self, tensors: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
        """See `Collective`."""
        return list(tensors)

    def broadcast(self, value: T) -> T:
        """See `Collective`."""
        return value

    def gather(self, value: T) -> list[T]:
        """See `Collective`."""
        return [value]


class HorovodCollective:
    """Horovod (Sergeev 2018), over MPI or Gloo as its environment says.

    `DistributedGradientTape` fails with Keras 3; `grouped_allreduce` on plain tensors suffices.
    """

    def __init__(self) -> None:
        import horovod.tensorflow as hvd  # takes seconds, and a single process does not need it

        try:
            hvd.init()
        except ValueError as error:  # Gloo's, if a rank is missing after its time-out; MPI ends all ranks then
            raise LostRank("before the first step") from error
        self._hvd: Any = hvd
        self.rank: int = hvd.rank()
        self.size: int = hvd.size()

    def sum(self, tensors: Sequence[tf.Tensor], name: str) -> list[tf.Tensor]:
        """See `Collective`."""
        return list(self._hvd.grouped_allreduce(list(tensors), op=self._hvd.Sum, name=name))

    def broadcast(self, value: T) -> T:
        """See `Collective`."""
        with self._noticing_loss("in a broadcast"):
            received: T = self._hvd.broadcast_object(value, root_rank=0, name="sonorant.broadcast")
        return received

    def gather(self, value: T) -> list[T]:
        """See `Collective`."""
        with self._noticing_loss("in a gather"):
            return list(self._hvd.allgather_object(value, name="sonorant.gather"))

    @staticmethod
    @contextmanager
    def _noticing_loss(where: str) -> Iterator[None]:
        try:
            yield
        except tf.errors.UnknownError as error:
            raise LostRank(where) from error
