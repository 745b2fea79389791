"""A process' run: in a folder that all mount, or in a folder of its own with a store behind it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from services.storage.checkpoints import (
    CheckpointPusher,
    check_stored_recipe,
    is_trained,
    pull_checkpoints,
    push_generation,
)
from services.storage.exports import pull_exports, push_exports
from services.storage.objects import ObjectStore
from services.storage.shards import LazyShards, fingerprint_of_plan, has_other_plan, pull_shards, push_shards
from sonorant.atomic import atomic_write
from sonorant.corpus.shards import ShardSet
from sonorant.corpus.stored import NOTHING, Stored
from sonorant.errors import BadCorpus, Unavailable
from sonorant.recipe import Recipe
from sonorant.recipe.loading import load_recipe
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoints import check_recipe

__all__ = ["SharedRun", "StoredRun", "open_run"]

_PATIENCE_S = 20.0


def open_run(path: Path, store_url: str) -> "SharedRun":
    """Return the run in the folder `path`, kept in the store at `store_url` if that is not empty.

    Raises BadStore for a URL that cannot be used; makes no request to the store.
    """
    return StoredRun(RunFolder(path), store_url) if store_url else SharedRun(RunFolder(path))


class SharedRun:
    """A run whose folder all processes mount: pulls and pushes do nothing."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def recipe(self, path: Path | None) -> Recipe:
        """Return the recipe at `path`, by default the run's; raises BadRecipe, Unavailable if the run has none."""
        if path is None:
            _must_be_there(self.folder.recipe)
        return load_recipe(path or self.folder.recipe)

    @property
    def is_trained(self) -> bool:
        """Whether the run has a checkpoint."""
        return self.folder.is_trained

    def check_recipe(self, recipe: Recipe, warn: Callable[[str], None]) -> None:
        """Raise BadCheckpoint if training with `recipe` cannot resume from the run's newest complete checkpoint.

        warn: called with the reason for each that is ignored.
        """
        check_recipe(self.folder.checkpoints, recipe, warn)

    def stored(self) -> Stored:
        """Return what a store has of the run, so that it need not be local, and is not replaced unawares."""
        return NOTHING

    def pull_shards(self) -> None:
        """Pull recipe, units, card and indexes of finished shards; raises BadCorpus while they are replaced."""

    def push_shards(self) -> None:
        """Push finished shards, and the recipe."""

    def open_shards(self, split: str) -> ShardSet:
        """Return the shards of `split`; raises Unavailable if any or all are missing: a prepared run has them."""
        nothing = self.folder.shards / f"{split}-*.tfrecord"
        _must_be_there(next(self.folder.shards.glob(nothing.name), nothing))
        return ShardSet.open(self.folder.shards, split)

    def pull_checkpoints(self) -> None:
        """Pull the checkpoints, and the metrics up to them."""

    def push_generation(self) -> None:
        """Push the folder's generation, before anything else of it."""

    def generation(self) -> int:
        """Return the generation of the newest gang; 0 if there was none."""
        path = self.folder.checkpoints / "generation"
        return int(path.read_text()) if path.exists() else 0

    @contextmanager
    def pushing_checkpoints(self) -> Iterator[None]:
        """Push checkpoints as they are saved; all are pushed when the context ends."""
        yield

    def pull_totals(self) -> None:
        """Pull the totals, if training is complete."""

    def pull_results(self) -> None:
        """Pull again all but most shards of train, for what reads the results of training."""

    def push_totals(self) -> None:
        """Push the totals, after the checkpoints."""

    def pull_exports(self) -> None:
        """Pull exported models; raises BadExport for one that does not match its manifest."""

    def push_exports(self) -> None:
        """Push exported models."""


def _must_be_there(path: Path) -> None:
    """Raise Unavailable if there is no such file or folder: the process of a run needs one."""
    if not path.exists():
        raise Unavailable(f"{path}: not there; is the run's folder mounted, and prepared by `sonorant prepare`?")


class StoredRun(SharedRun):
    """A run in a shared store; the folder is this process' cache. All methods raise Unavailable."""

    def __init__(self, folder: RunFolder, url: str) -> None:
        super().__init__(folder)
        self._url = url
        self._store = ObjectStore(url, _PATIENCE_S)

    def recipe(self, path: Path | None) -> Recipe:
        """Return the recipe at `path`, or the run's if that is None; raises BadRecipe."""
        if path is None:
            self._pull_file(self.folder.recipe)
        return super().recipe(path)

    @property
    def is_trained(self) -> bool:
        """Whether the folder or the store has a checkpoint."""
        return self.folder.is_trained or is_trained(self._store)

    def check_recipe(self, recipe: Recipe, warn: Callable[[str], None]) -> None:
        """Check the folder's newest checkpoint, and the store's, of which no weights are pulled."""
        super().check_recipe(recipe, warn)
        check_stored_recipe(self._store, recipe)

    def stored(self) -> Stored:
        """Pull indexes of the store's shards, unless the folder has another plan; their names are those it has."""
        trained_on = fingerprint_of_plan(self._store) if is_trained(self._store) else None
        shards = () if has_other_plan(self._store, self.folder) else pull_shards(self._store, self.folder)
        return Stored(self._store.url, shards, trained_on)

    def pull_shards(self) -> None:
        """Pull recipe, units, card and indexes."""
        pull_shards(self._store, self.folder)

    def push_shards(self) -> None:
        """Push shards, and last the plan, which marks them as finished."""
        push_shards(self._store, self.folder)

    def open_shards(self, split: str) -> ShardSet:
        """Return the shards of `split`, each of which is pulled when it is first read."""
        return ShardSet.open(self.folder.shards, split, LazyShards(self._store, self.folder.shards).read)

    def pull_checkpoints(self) -> None:
        """Pull the checkpoints of the newest gang, and the metrics up to them."""
        pull_checkpoints(self._store, self.folder)

    def push_generation(self) -> None:
        """Push the folder's generation: from now on older gangs are fenced."""
        push_generation(self._store, self.folder)

    @contextmanager
    def pushing_checkpoints(self) -> Iterator[None]:
        """Push checkpoints in a thread as they are saved; raises Unavailable if the last push fails."""
        with CheckpointPusher(ObjectStore(self._url, patience_s=0), self.folder).following():
            yield

    def pull_totals(self) -> None:
        """Pull the totals, if training is complete; the store's may be newer than the folder's."""
        if (content := self._store.read(self.folder.totals.name)) is not None:
            atomic_write(self.folder.totals, content)

    def pull_results(self) -> None:
        """Pull again all that `sonorant report`, `tune` and `audit` read; of the shards of train, only the first.

        Raises BadCorpus if the store has no finished shards.
        """
        if not (names := pull_shards(self._store, self.folder)):
            raise BadCorpus(f"{self._url}: there are no finished shards; give the URL that the run was prepared with")
        unread = sorted(name for name in names if name.startswith("train-"))[1:]
        for name in names:
            if name not in unread and not (self.folder.shards / name).exists():
                self._store.download(f"shards/{name}", self.folder.shards / name)
        for mark in (self.folder.checkpoints / "generation", self.folder.totals):
            mark.unlink(missing_ok=True)
        self.pull_checkpoints()
        self.pull_totals()
        self.pull_exports()

    def push_totals(self) -> None:
        """Push the metrics to their end, then the totals."""
        tracking = (self.folder.tracking,) if self.folder.tracking.exists() else ()
        for path in (self.folder.metrics, *tracking, self.folder.totals):
            self._store.upload(path, path.name)

    def pull_exports(self) -> None:
        """Pull exported models that the folder lacks."""
        pull_exports(self._store, self.folder.exports)

    def push_exports(self) -> None:
        """Push exported models that the store lacks."""
        push_exports(self._store, self.folder.exports)

    def _pull_file(self, path: Path) -> None:
        if not path.exists() and (content := self._store.read(path.name)) is not None:
            atomic_write(path, content)
