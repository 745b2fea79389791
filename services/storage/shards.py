"""Shards in a store: `plan.json` names them all, comes last and goes first, so that who finds it finds them whole."""

import json
import threading
from pathlib import Path
from queue import SimpleQueue

import structlog

from services.storage.objects import MissingObject, ObjectStore
from sonorant.corpus.index import index_path
from sonorant.errors import BadCorpus, Unavailable
from sonorant.run_folder import RunFolder

__all__ = ["LazyShards", "has_other_plan", "pull_shards", "push_shards"]

log = structlog.get_logger()

_PLAN = "shards/plan.json"
_RECIPE = "recipe.yaml"
_ABOUT = ("units.json", "card.md", "card.json")
_MADE_FOR_RESUMING = ".summary.json"


def push_shards(store: ObjectStore, run: RunFolder) -> None:
    """Make the store's shards and recipe those of `run`, which are finished; nothing is done if they are already."""
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


def has_other_plan(store: ObjectStore, run: RunFolder) -> bool:
    """Return whether `run` has the beginning or the whole of other shards than the store has."""
    here = run.shards / "plan.json"
    return here.exists() and here.read_bytes() != store.read(_PLAN)


def pull_shards(store: ObjectStore, run: RunFolder) -> tuple[str, ...]:
    """Bring what there is to know about finished shards: recipe, units, card, indexes; not the shards themselves.

    Shards of another plan that are here are removed. Returns the names of all shards that the store has; none if they
    are not finished. Raises BadCorpus when they are replaced meanwhile: try again.
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
    """Remove a plan and its shards; without a plan there are none, but another process may just be bringing them."""
    plan = folder / "plan.json"
    if plan.exists():
        for path in folder.glob("[!.]*"):
            if path != plan:
                path.unlink(missing_ok=True)
        plan.unlink(missing_ok=True)


class LazyShards:
    """Shards that come when they are first read: the record at once, the whole shard behind the reader's back.

    A record alone is one short request; so a replica never falls silent for as long as a shard takes, hundreds of
    megabytes perhaps. What has come stays: in the end as much as the split's shards have bytes.
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
                self._thread = threading.Thread(target=self._bring, name="shards", daemon=True)
                self._thread.start()

    def _bring(self) -> None:
        while True:
            name = self._wanted.get()
            try:
                self._store.download(f"shards/{name}", self._folder / name)
            except Unavailable as error:  # its records are still read one by one, and the next one asks again
                log.warning("shard_not_brought", shard=name, reason=str(error))
                with self._lock:
                    self._asked.discard(name)
