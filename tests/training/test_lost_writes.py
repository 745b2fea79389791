"""A ledger that lost writes: no checkpoint is written with it, and no epoch ends by it."""

import copy
import dataclasses

import pytest
from training.harness import run, tiny_trainer
from training.tiny import tiny_example, tiny_recipe

from services.process.restarts import FINAL_CODES
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.ledger import LedgerLost
from sonorant.training.collective import SingleProcess
from sonorant.training.identity import identity
from sonorant.training.loop import Reason


class _Losing(SingleProcess):
    """A gang in which, while the ranks meet before a checkpoint, the ledger's store loses what `lose` makes it lose."""

    def __init__(self, lose):
        self._lose = lose

    def gather(self, value):
        self._lose()
        return super().gather(value)


def test_no_checkpoint_is_written_with_a_ledger_that_lost_the_last_commit(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer.iterate()
    trainer.parts.feeder.close()
    before = copy.deepcopy(ledger.store)
    trainer.ports = dataclasses.replace(
        trainer.ports, collective=_Losing(lambda: setattr(ledger, "store", copy.deepcopy(before)))
    )
    with pytest.raises(LedgerLost, match=r"1 of \d+ acknowledged writes"):
        trainer.save(best=False)
    trainer.ports.reporter.close()
    assert trainer.ports.checkpoints.latest(identity(recipe)) is None
    again = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert run(again) is Reason.EPOCHS
    assert again.progress.examples == ledger.progress(0).committed == 22


class _WithAnother(SingleProcess):
    """A gang with a second rank, which has flushed something that the ledger's store has lost."""

    def gather(self, value):
        batches, receipt = value
        return [value, (batches, receipt._replace(client="the other rank", writes=1))]


def test_no_checkpoint_is_written_with_a_ledger_that_lost_what_another_rank_flushed(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer.iterate()
    trainer.ports = dataclasses.replace(trainer.ports, collective=_WithAnother())
    with pytest.raises(LedgerLost, match="1 of 1 acknowledged writes of the other rank are lost"):
        trainer.save(best=False)
    trainer.parts.feeder.close()
    trainer.ports.reporter.close()
    assert trainer.ports.checkpoints.latest(identity(recipe)) is None


def test_an_epoch_is_not_over_while_the_ledger_lacks_an_example(ledger, tmp_path):
    """A rejection that the coordinator wrote is lost: no rank misses it, only the sum."""

    def make(ordinal, epoch=0):
        return tiny_example(ordinal, epoch)._replace(text="five" if ordinal == 3 else "one")

    def lose():
        ledger.store.state.put(0, ledger.store.state.committed(0), Bitmap(22))

    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22, make=make)
    trainer.ports = dataclasses.replace(trainer.ports, collective=_Losing(lose))
    with pytest.raises(LedgerLost, match="epoch 0 is over, but 1 of its 22 examples are not settled") as caught:
        run(trainer)
    assert caught.value.exit_code not in FINAL_CODES
    assert run(tiny_trainer(recipe, tmp_path, ledger, total=22, make=make)) is Reason.EPOCHS
    assert (ledger.progress(0).committed, ledger.progress(0).rejected) == (21, 1)
