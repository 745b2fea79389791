"""The trainer itself, with a notary: each rank writes down what it commits, beside the ledger and independently of it.

`CHAOS_RECORDS/<generation>.<rank>.jsonl` begins with where the generation started and goes on with a line a batch: its
epoch, its number, its examples' ordinals and the checksums of the features that the step saw. `CHAOS_PACE`: examples a
second of the whole gang, so that a short run lasts as long as there are blows.
"""

import json
import os
import struct
import time
from pathlib import Path

from chaos.checksums import digest

from services.trainer import main, rank
from sonorant.training.checkpoints import Progress
from sonorant.training.feeder import Feeder

__all__: list[str] = []

_RECORDS = Path(os.environ.get("CHAOS_RECORDS", "."))
_PACE = float(os.environ.get("CHAOS_PACE", "inf"))


class _RecordingFeeder(Feeder):
    def open(self, number, size, start):
        (_RECORDS / f"rank-{number}.pid").write_text(str(os.getpid()))
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self._size = size
        self._lines = os.open(_RECORDS / f"{self._generation:06d}.{number}.jsonl", flags)
        self._arrivals = os.open(_RECORDS / f"arrivals.{number}", flags)
        self._note({"start": start, "size": size})

    def _note(self, line):
        os.write(self._lines, (json.dumps(line) + "\n").encode())

    def _add(self, example):
        os.write(self._arrivals, struct.pack("<d", time.monotonic()))
        super()._add(example)

    def commit(self, batch):
        super().commit(batch)
        features, lengths = batch.tensors.features.numpy(), batch.tensors.lengths.numpy()
        digests = [digest(f[:n]) for f, n in zip(features, lengths, strict=True)]
        self._note({"epoch": batch.epoch, "number": batch.number, "ordinals": list(batch.ordinals), "digests": digests})
        time.sleep(len(batch.ordinals) * self._size / _PACE)


class _RecordingRank(rank.Rank):
    def _begin(self):
        generation, checkpoint = super()._begin()
        begun = checkpoint.progress if checkpoint else Progress()
        # As the checkpoint has it: a gang of another size counts its batches anew.
        self._start = {"epoch": begun.epoch, "batches": list(begun.batches), "step": begun.step}
        return generation, checkpoint

    def _feeder(self, source, generation, progress: Progress):
        feeder = super()._feeder(source, generation, progress)
        feeder.open(self._collective.rank, self._collective.size, self._start)
        return feeder


if __name__ == "__main__":
    rank.Feeder = _RecordingFeeder
    rank.Rank = _RecordingRank
    main.main()
