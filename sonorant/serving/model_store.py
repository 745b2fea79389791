"""The served models: of each name the newest valid version."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sonorant.errors import SonorantError
from sonorant.serving.errors import UnknownModel
from sonorant.serving.model import ServedModel

__all__ = ["ModelStore", "VersionChange"]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version taken into service, or, with a `refusal`, refused and why."""

    path: Path
    refusal: str = ""


class ModelStore:
    """Follows a folder `<model>/<version>/`.

    A version that `load` refuses is skipped, and the one before stays in service. A session keeps the model that it
    began with, so versions may change during streams.
    """

    def __init__(
        self, exports: Path, load: Callable[[Path], ServedModel], bring: Callable[[], None] = lambda: None
    ) -> None:
        """bring: called before each poll of the folder, to pull versions into it."""
        self._exports = exports
        self._load = load
        self._bring = bring
        self._models: dict[str, ServedModel] = {}
        self._refused: dict[Path, frozenset[tuple[int, int]]] = {}

    @property
    def models(self) -> dict[str, ServedModel]:
        """The models in service by name."""
        return dict(self._models)

    def get(self, name: str = "") -> ServedModel:
        """Return the model called `name`, or the only one if the name is empty; raises UnknownModel."""
        if not name and len(self._models) == 1:
            return next(iter(self._models.values()))
        if name not in self._models:
            served = ", ".join(sorted(self._models)) or "none"
            raise UnknownModel(f"model {name!r}: not served; served are: {served}")
        return self._models[name]

    def refresh(self) -> list[VersionChange]:
        """Poll for new versions, load them, and return the changes."""
        self._bring()
        changes: list[VersionChange] = []
        for folder in _subfolders(self._exports):
            current = self._models.get(folder.name)
            for version, path in _versions(folder):
                if current is not None and version <= current.version:
                    break
                change = self._try(path)
                if change is not None:
                    changes.append(change)
                    if not change.refusal:
                        break
        return changes

    def _try(self, path: Path) -> VersionChange | None:
        """Load a version, unless it was refused before and is unchanged."""
        stamp = _stamp(path)
        if self._refused.get(path) == stamp:
            return None
        try:
            model = self._load(path)
        except SonorantError as error:
            self._refused[path] = stamp
            return VersionChange(path, str(error))
        self._models[path.parent.name] = model
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
