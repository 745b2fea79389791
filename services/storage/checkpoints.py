"""Checkpoints in a store: a manifest names each one's files and is written last; then `latest` and `best`.

The object `checkpoints/generation` is the fencing token: the generation of the gang that owns them. If two gangs'
ranks 0 run at once, one of them partitioned say, only the newer can save, since Redis refuses the other's ledger; and
the older stops pushing at a newer generation, which it checks before every checkpoint and before pointers and removals.
An upload under way may still complete: a valid checkpoint, or a mixture of two, which fails its manifest's checksums
and is skipped for the one before.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from services.process.backoff import Backoff
from services.storage.objects import MissingObject, ObjectStore
from sonorant.atomic import atomic_folder, atomic_write
from sonorant.errors import Unavailable
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.training.checkpoint_files import identity_of
from sonorant.training.checkpoints import check_identity
from sonorant.training.identity import identity

__all__ = ["CheckpointPusher", "check_stored_recipe", "is_trained", "pull_checkpoints", "push_generation"]

log = structlog.get_logger()

_GENERATION = "checkpoints/generation"
_BESIDE = ("metrics.jsonl", "tracking.json")  # files of the run that go with its checkpoints
_MANIFEST = "manifest.json"
_POINTERS = ("best", "latest")
_LOOK_EVERY_S = 0.5
_FLUSH_S = 60.0  # half of the trainer's time between Kubernetes' SIGTERM and SIGKILL
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


def pull_checkpoints(store: ObjectStore, run: RunFolder) -> None:
    """Pull complete checkpoints, generation, and what goes with them, replacing those of an older gang."""
    stored = store.read(_GENERATION)
    if stored is None:
        return
    here = run.checkpoints / "generation"
    if here.exists() and int(here.read_bytes()) >= int(stored):
        return
    for path in run.checkpoints.glob("step-*"):
        shutil.rmtree(path)
    for path in (run.checkpoints / pointer for pointer in _POINTERS):
        path.unlink(missing_ok=True)
    for step in _whole(store):
        try:
            _pull(store, run.checkpoints, step)
        except MissingObject as error:
            log.warning("checkpoint_not_brought", reason=str(error))
    for name in (*(f"checkpoints/{pointer}" for pointer in _POINTERS), *_BESIDE):
        if (content := store.read(name)) is not None:
            atomic_write(run.path / name, content)
    atomic_write(here, stored)  # last: it marks the pull as complete


def is_trained(store: ObjectStore) -> bool:
    """Return whether the store has a complete checkpoint."""
    return store.read("checkpoints/latest") is not None


def check_stored_recipe(store: ObjectStore, recipe: Recipe) -> None:
    """Raise BadCheckpoint if training with `recipe` cannot resume from the store's newest checkpoint.

    Reads no weights. One whose state is damaged is passed over, as a trainer does.
    """
    states = {step: _state_of(store, f"checkpoints/{step}") for step in _whole(store)}
    if known := [step for step, state in states.items() if state]:
        newest = max(known, key=lambda step: (_generation(states[step]), step))
        check_identity(f"{store.url}/checkpoints/{newest}", identity_of(states[newest]), identity(recipe))


def push_generation(store: ObjectStore, run: RunFolder) -> None:
    """Write the generation of `run` to the store."""
    store.write(_GENERATION, (run.checkpoints / "generation").read_bytes())


def _whole(store: ObjectStore) -> list[str]:
    return [name.split("/")[1] for name in store.names("checkpoints") if name.endswith(f"/{_MANIFEST}")]


def _pull(store: ObjectStore, folder: Path, step: str) -> None:
    manifest = store.read(f"checkpoints/{step}/{_MANIFEST}")
    if manifest is None:
        raise MissingObject(f"{store.url}/checkpoints/{step}: removed meanwhile")
    with atomic_folder(folder / step) as draft:
        for name in json.loads(manifest):
            store.download(f"checkpoints/{step}/{Path(name).name}", draft / Path(name).name)
        (draft / _MANIFEST).write_bytes(manifest)


def _state_of(store: ObjectStore, checkpoint: str) -> dict[str, Any]:
    """Return state.json of a stored checkpoint; empty if it has none, or is damaged."""
    try:
        state = json.loads(store.read(f"{checkpoint}/state.json") or b"{}")
    except ValueError:
        return {}
    return state if isinstance(state, dict) else {}


class CheckpointPusher:
    """Mirrors a folder's checkpoints to the store, in a thread, after each save and prune.

    A failure of the store does not stop training: it is logged, and the push is retried with the next checkpoint.
    """

    def __init__(self, store: ObjectStore, run: RunFolder) -> None:
        """store: with patience_s 0, as the next checkpoint retries."""
        self._store = store
        self._run = run
        self._folder = run.checkpoints
        self._generation = 0
        self._pushed: dict[str, bytes] = {}  # manifests by step
        self._seen: tuple[object, ...] | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="checkpoints", daemon=True)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Push while the context lasts, and once more at its end.

        Raises Unavailable if the context ends without an error and the last push fails for a minute.
        """
        self._generation = int((self._folder / "generation").read_bytes())
        self._thread.start()
        try:
            yield
        except BaseException:
            self._stop()
            self._try()
            raise
        self._stop()
        self._flush()

    def _stop(self) -> None:
        self._closing.set()
        self._thread.join()

    def _flush(self) -> None:
        deadline_s, backoff = time.monotonic() + _FLUSH_S, Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while True:
            trouble = self._try()
            if trouble is None:
                return
            if time.monotonic() + backoff.next_s > deadline_s:
                raise Unavailable(f"the last checkpoint is in {self._folder} only: {trouble}") from trouble
            time.sleep(backoff.pause_s())

    def _follow(self) -> None:
        backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        while not self._closing.wait(_LOOK_EVERY_S):
            trouble = self._try()
            if trouble is None:
                backoff.reset()
            else:
                log.warning("checkpoint_not_pushed", reason=str(trouble), again_in_s=backoff.next_s)
                self._closing.wait(backoff.pause_s())

    def _try(self) -> Exception | None:
        """Push once, if the folder has changed; return the error."""
        seen = self._signature()
        if seen is None or seen == self._seen:
            return None
        try:
            self._push()
        except _Fenced as error:
            log.warning("checkpoints_fenced", reason=str(error))
        except (Unavailable, OSError) as error:  # the latter: pruned or rewritten while read, or unreadable
            return error
        self._seen = seen
        return None

    def _signature(self) -> tuple[object, ...] | None:
        """Return a state that each save and prune changes: `latest` and the steps; None before any."""
        try:
            status = (self._folder / "latest").stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, *sorted(path.name for path in self._folder.glob("step-*"))

    def _push(self) -> None:
        """Push what is new, oldest first; raises _Fenced, Unavailable or FileNotFoundError."""
        pointers = {p: (self._folder / p).read_bytes() for p in _POINTERS if (self._folder / p).exists()}
        steps = sorted(path.name for path in self._folder.glob("step-*"))
        for name in _BESIDE:  # after the list was made, before its steps: they may have more, never less
            if (self._run.path / name).exists():
                self._store.upload(self._run.path / name, name)
        for step in steps:
            try:
                manifest = (self._folder / step / _MANIFEST).read_bytes()
                if self._pushed.get(step) != manifest:
                    self._fence()
                    self._push_step(step, manifest)
            except FileNotFoundError:
                if (self._folder / step).exists():
                    raise
                # pruned meanwhile; with short epochs each older one may be, and the newest still has to be pushed
        self._fence()
        for pointer, step in ((p, content.decode().strip()) for p, content in pointers.items()):
            if step in self._pushed:
                self._store.write(f"checkpoints/{pointer}", step.encode())
        names = self._store.names("checkpoints")
        gone = {step for step in {name.split("/")[1] for name in names} if self._is_pruned(step, steps)}
        self._store.remove([name for name in names if name.split("/")[1] in gone])

    def _push_step(self, step: str, manifest: bytes) -> None:
        if (old := self._store.read(f"checkpoints/{step}/{_MANIFEST}")) == manifest:
            self._pushed[step] = manifest
            return
        if old is not None:
            self._store.remove([f"checkpoints/{step}/{_MANIFEST}"])
        for name in json.loads(manifest):
            self._store.upload(self._folder / step / name, f"checkpoints/{step}/{name}")
        if (self._folder / step / _MANIFEST).read_bytes() != manifest:
            raise FileNotFoundError(f"{self._folder / step}: rewritten meanwhile")
        self._store.write(f"checkpoints/{step}/{_MANIFEST}", manifest)
        self._pushed[step] = manifest

    def _is_pruned(self, step: str, steps: list[str]) -> bool:
        """Whether the folder has pruned a step; one past its last could be a newer gang's."""
        if not step.startswith("step-") or step in steps:
            return False
        return step < steps[-1] or self._generation_of(step) < self._generation

    def _generation_of(self, step: str) -> int:
        return _generation(_state_of(self._store, f"checkpoints/{step}"))

    def _fence(self) -> None:
        newest = int(self._store.read(_GENERATION) or b"0")
        if newest > self._generation:
            raise _Fenced(f"generation {newest} trains now; this one, {self._generation}, pushes nothing more")


class _Fenced(Exception):
    """A newer gang pushes to this store."""


def _generation(state: dict[str, Any]) -> int:
    """Return the generation in a checkpoint's state.json; 0 if it has none, or is damaged."""
    found = state.get("generation")
    return found if isinstance(found, int) else 0
