"""Shards in a store: `plan.json` names them, is written last and removed first, so a reader of it finds all of them."""

import json
import threading
from pathlib import Path
from queue import SimpleQueue

import structlog

from services.storage.objects import MissingObject, ObjectStore
from sonorant.corpus.index import index_path
from sonorant.errors import BadCorpus, Unavailable
from sonorant.run_folder import RunFolder

__all__ = ["LazyShards", "fingerprint_of_plan", "has_other_plan", "pull_shards", "push_shards"]

log = structlog.get_logger()

_PLAN = "shards/plan.json"
_RECIPE = "recipe.yaml"
_ABOUT = ("units.json", "card.md", "card.json")
_MADE_FOR_RESUMING = ".summary.json"


def push_shards(store: ObjectStore, run: RunFolder) -> None:
    """Write the finished shards and recipe of `run` to the store, unless it has them."""
    plan = (run.shards / "plan.json").read_bytes()
    if (stored := store.read(_PLAN)) != plan:
        if stored is not None:
            store.remove([_PLAN])
        store.remove(store.names("shards"))
        for path in sorted(run.shards.glob("[!.]*")):
            if path.name != "plan.json" and not path.name.endswith(_MADE_FOR_RESUMING):
                store.upload(path, f"shards/{path.name}")
    recipe = run.recipe.read_bytes()
    if store.read(_RECIPE) != recipe:
        store.write(_RECIPE, recipe)
    store.write(_PLAN, plan)


def fingerprint_of_plan(store: ObjectStore) -> str | None:
    """Return the fingerprint of all that the store's shards depend on; None if it has no plan."""
    content = store.read(_PLAN)
    return str(json.loads(content)["fingerprint"]) if content is not None else None


def has_other_plan(store: ObjectStore, run: RunFolder) -> bool:
    """Return whether `run` has shards of another plan than the store, finished or not."""
    here = run.shards / "plan.json"
    return here.exists() and here.read_bytes() != store.read(_PLAN)


def pull_shards(store: ObjectStore, run: RunFolder) -> tuple[str, ...]:
    """Pull recipe, units, card and indexes of finished shards, not the shards themselves.

    Local shards of another plan are removed. Returns the names of all shards in the store; none if they are not
    finished. Raises BadCorpus when they are replaced meanwhile: retry.
    """
    content = store.read(_PLAN)
    names = tuple(json.loads(content)["shards"]) if content is not None else ()
    if content is None:
        return ()
    here = run.shards / "plan.json"
    if not here.exists() or here.read_bytes() != content:
        _clear(run.shards)
        try:
            for name in (*_ABOUT, *(index_path(Path(name)).name for name in names)):
                store.download(f"shards/{name}", run.shards / name)
        except MissingObject as error:
            raise BadCorpus(f"{error}; the shards are just being replaced") from error
    store.download(_RECIPE, run.recipe)
    if store.read(_PLAN) != content:
        raise BadCorpus(f"{store.url}/{_PLAN}: the shards are just being replaced")
    if not here.exists() or here.read_bytes() != content:
        store.download(_PLAN, here)
    return names


def _clear(folder: Path) -> None:
    """Remove a plan and its shards; without a plan another process may be pulling them, so all stay."""
    plan = folder / "plan.json"
    if plan.exists():
        for path in folder.glob("[!.]*"):
            if path != plan:
                path.unlink(missing_ok=True)
        plan.unlink(missing_ok=True)


class LazyShards:
    """Shards that are pulled when they are first read: the record at once, the whole shard in a thread.

    A record is one short request, so a replica's heartbeats never wait for a shard of hundreds of megabytes. Pulled
    shards stay: in the end the whole split is on disk.
    """

    def __init__(self, store: ObjectStore, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._wanted: SimpleQueue[str] = SimpleQueue()
        self._asked: set[str] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def read(self, shard: Path, offset: int, length: int) -> bytes:
        """Return `length` bytes of a shard from `offset` on; raises Unavailable."""
        self._want(shard.name)
        return self._store.read_range(f"shards/{shard.name}", offset, length)

    def _want(self, name: str) -> None:
        with self._lock:
            if name in self._asked:
                return
            self._asked.add(name)
            self._wanted.put(name)
            if self._thread is None:
                self._thread = threading.Thread(target=self._pull, name="shards", daemon=True)
                self._thread.start()

    def _pull(self) -> None:
        while True:
            name = self._wanted.get()
            try:
                self._store.download(f"shards/{name}", self._folder / name)
            except Unavailable as error:  # its records are still read one by one, and the next one retries
                log.warning("shard_not_pulled", shard=name, reason=str(error))
                with self._lock:
                    self._asked.discard(name)
