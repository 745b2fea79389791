"""The served models: of each name the newest valid version."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sonorant.errors import SonorantError
from sonorant.serving.errors import UnknownModel
from sonorant.serving.model import ServedModel

__all__ = ["ModelStore", "VersionChange", "VersionState"]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version taken into service, or, with a `refusal`, refused and why."""

    path: Path
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class VersionState:
    """A version that the last poll found: in service, refused and why, or neither, with a newer one in service."""

    version: int
    in_service: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class _Refused:
    stamp: frozenset[tuple[int, int]]
    reason: str


@dataclass(frozen=True, slots=True)
class _InService:
    path: Path
    model: ServedModel


class ModelStore:
    """Follows a folder `<model>/<version>/`; the folder's number is the version, whatever is in it.

    Of each model the newest version that `load` accepts is in service. When its folder is removed, the newest one left
    follows; without any it stays in service, as a volume that is not mounted looks alike. A session keeps the model
    that it began with, so versions may change during streams.
    """

    def __init__(
        self, exports: Path, load: Callable[[Path], ServedModel], bring: Callable[[], None] = lambda: None
    ) -> None:
        """bring: called before each poll of the folder, to pull versions into it."""
        self._exports = exports
        self._load = load
        self._bring = bring
        self._served: dict[str, _InService] = {}
        self._refused: dict[Path, _Refused] = {}
        self._found: dict[str, list[tuple[int, Path]]] = {}

    @property
    def models(self) -> dict[str, ServedModel]:
        """The models in service by name."""
        return {name: served.model for name, served in self._served.items()}

    def get(self, name: str = "") -> ServedModel:
        """Return the model called `name`, or the only one if the name is empty; raises UnknownModel."""
        if not name and len(self._served) == 1:
            return next(iter(self._served.values())).model
        if name not in self._served:
            served = ", ".join(sorted(self._served)) or "none"
            raise UnknownModel(f"model {name!r}: not served; served are: {served}")
        return self._served[name].model

    def versions(self, name: str) -> list[VersionState]:
        """Return the versions of a model that is in service or was refused, newest first; raises UnknownModel."""
        found = self._found.get(name, [])
        if name in self._served and self._served[name].path not in (path for _, path in found):
            found = [(self._served[name].model.version, self._served[name].path), *found]  # its folder is gone
        if not found:
            self.get(name)
        served, refused = self._served.get(name), self._refused
        return [
            VersionState(
                version, served is not None and path == served.path, refused[path].reason if path in refused else ""
            )
            for version, path in found
        ]

    def refresh(self) -> list[VersionChange]:
        """Poll for new versions, load them, and return the changes; in one thread at a time."""
        self._bring()
        changes: list[VersionChange] = []
        found = {folder.name: _versions(folder) for folder in _subfolders(self._exports)}
        for name, versions in found.items():
            changes += self._renew(name, versions)
        paths = {path for versions in found.values() for _, path in versions}
        self._refused = {path: refused for path, refused in self._refused.items() if path in paths}
        self._found = found
        return changes

    def _renew(self, name: str, versions: list[tuple[int, Path]]) -> list[VersionChange]:
        """Take the newest good one of `versions`, newest first, into service, unless it is already."""
        changes: list[VersionChange] = []
        current = self._served.get(name)
        for _, path in versions:
            if current is not None and path == current.path:
                break
            change = self._try(name, path)
            if change is not None:
                changes.append(change)
                if not change.refusal:
                    break
        return changes

    def _try(self, name: str, path: Path) -> VersionChange | None:
        """Load a version, unless it was refused before and is unchanged."""
        stamp = _stamp(path)
        if path in self._refused and self._refused[path].stamp == stamp:
            return None
        try:
            model = self._load(path)
        except SonorantError as error:
            self._refused[path] = _Refused(stamp, str(error))
            return VersionChange(path, str(error))
        self._refused.pop(path, None)
        self._served[name] = _InService(path, model)
        return VersionChange(path)


def _stamp(folder: Path) -> frozenset[tuple[int, int]]:
    """Return a state that changes with every write in `folder`, whatever the writer's clock; empty if it is gone."""
    try:
        found = [path.stat() for path in [folder, *folder.rglob("*")]]
    except OSError:
        return frozenset()
    return frozenset((status.st_ino, status.st_mtime_ns) for status in found)


def _subfolders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _versions(folder: Path) -> list[tuple[int, Path]]:
    """Versions below `folder`, newest first."""
    return sorted(((int(path.name), path) for path in _subfolders(folder) if path.name.isdecimal()), reverse=True)
