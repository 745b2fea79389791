"""The trainer with a recorder: each rank writes down its commits, independently of the ledger.

`CHAOS_RECORDS/<generation>.<rank>.jsonl` begins with where the generation started and goes on with a line a batch: its
epoch, its number, its examples' ordinals and the checksums of the features that the step saw. `arrivals.<rank>` and
`steps.<rank>` have the times of both, monotonic. `CHAOS_PACE`: examples a second of the whole gang, so that a short run
lasts as long as there are faults; once the file `CHAOS_RECORDS/hurry` is there, as many as come.
"""

import json
import os
import struct
import sys
import time
from pathlib import Path

from chaos.checksums import digest
from chaos.variants import EPOCHS
from chaos.windows import hold

from services.coordination.redis_ledger import RedisLedger
from services.trainer import coordination, main, rank
from sonorant.training import building, checkpoints
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress
from sonorant.training.feeder import Feeder

__all__ = ["install"]

_RECORDS = Path(os.environ.get("CHAOS_RECORDS", "."))
_PACE = float(os.environ.get("CHAOS_PACE", "inf"))


class _RecordingFeeder(Feeder):
    def open(self, number, size, start):
        (_RECORDS / f"rank-{number}.pid").write_text(str(os.getpid()))
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self._size = size
        self._lines = os.open(_RECORDS / f"{self._generation:06d}.{number}.jsonl", flags)
        self._arrivals, self._steps = (os.open(_RECORDS / f"{what}.{number}", flags) for what in ("arrivals", "steps"))
        self._note({"start": start, "size": size})

    def _note(self, line):
        os.write(self._lines, (json.dumps(line) + "\n").encode())

    def _labelled(self, examples):
        os.write(self._arrivals, len(examples) * struct.pack("<d", time.monotonic()))
        return super()._labelled(examples)

    def commit(self, batch):
        super().commit(batch)
        os.write(self._steps, struct.pack("<d", time.monotonic()))
        features, lengths = batch.tensors.features.numpy(), batch.tensors.lengths.numpy()
        digests = [digest(f[:n]) for f, n in zip(features, lengths, strict=True)]
        self._note({"epoch": batch.epoch, "number": batch.number, "ordinals": list(batch.ordinals), "digests": digests})
        if not (_RECORDS / "hurry").exists():
            time.sleep(len(batch.ordinals) * self._size / _PACE)


class _RecordingRank(rank.Rank):
    def _begin(self):
        generation, checkpoint = super()._begin()
        begun = checkpoint.progress if checkpoint else Progress()
        # As the checkpoint has it: a gang of another size counts its batches anew.
        self._start = {"epoch": begun.epoch, "batches": list(begun.batches), "step": begun.step}
        return generation, checkpoint

    def _trainer(self, *given):
        trainer = super()._trainer(*given)
        trainer.parts.feeder.open(self._collective.rank, self._collective.size, self._start)
        return trainer


def _held(window, unheld):
    """Return a function whose callers wait before it while there is an aim at `window`."""

    def held(*arguments, **named):
        hold(_RECORDS, window)
        return unheld(*arguments, **named)

    return held


def _hold_windows():
    """Make windows between two writes targets of faults; each is named after the write that ends it."""
    save, write = Checkpoints.save, checkpoints.atomic_write

    def save_held(self, checkpoint: Checkpoint, *rest, **named):
        hold(_RECORDS, "last checkpoint" if checkpoint.progress.epoch >= EPOCHS else "checkpoint")
        return save(self, checkpoint, *rest, **named)

    def write_held(path, *rest, **named):
        if path.name == "latest":
            hold(_RECORDS, "latest")
        write(path, *rest, **named)

    Checkpoints.save, checkpoints.atomic_write = save_held, write_held
    RedisLedger.restore = _held("restore", RedisLedger.restore)
    for window, name in (("start", "start_generation"), ("end", "end_training")):
        unheld = getattr(coordination, name)
        for module in [m for n, m in sys.modules.items() if n.startswith("services.trainer") and hasattr(m, name)]:
            setattr(module, name, _held(window, unheld))


def install():
    """Install the recorder in this process, before its trainer begins."""
    building.Feeder = _RecordingFeeder
    rank.Rank = _RecordingRank
    _hold_windows()


if __name__ == "__main__":
    install()
    main.main()
