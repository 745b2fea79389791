"""The served models: of each name the versions that are in service."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from sonorant.serving.errors import UnknownModel
from sonorant.serving.labels import check_labels
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import NEWEST_VERSION, ModelChoice
from sonorant.serving.model_versions import ModelVersions, VersionChange, VersionState

__all__ = ["ModelStore", "VersionChange", "VersionState"]

_ONLY = ModelChoice()


class ModelStore:
    """Follows a folder `<model>/<version>/`; the folder's number is the version, whatever is in it.

    Of each model, `ModelVersions` says what is in service. A session keeps the version that it began with, so versions
    may change during streams.
    """

    def __init__(
        self, exports: Path, load: Callable[[Path], ServedModel], bring: Callable[[], None] = lambda: None
    ) -> None:
        """bring: called before each poll of the folder, to pull versions into it."""
        self._exports = exports
        self._load = load
        self._bring = bring
        self._models: Mapping[str, ModelVersions] = {}

    @property
    def models(self) -> dict[str, ServedModel]:
        """The default version of each model in service, by name."""
        return {name: model for name, versions in self._models.items() if (model := versions.default) is not None}

    @property
    def unmet_labels(self) -> dict[str, int]:
        """How many labels of each model ask for a version that is not to be had; see `ModelVersions`."""
        return {name: versions.unmet_labels for name, versions in self._models.items()}

    def get(self, choice: ModelChoice = _ONLY) -> ServedModel:
        """Return a version in service; raises UnknownModel."""
        return self._named(choice.name).get(choice)

    def session(
        self, choice: ModelChoice = _ONLY, beside: ServedModel | None = None
    ) -> AbstractContextManager[ServedModel]:
        """Keep a version for a session while the context lasts: see `ModelVersions.session`; raises UnknownModel."""
        return self._named(choice.name if beside is None else beside.name).session(choice, beside)

    def versions(self, name: str = "") -> list[VersionState]:
        """Return the versions of a model that is in service or was refused, newest first; raises UnknownModel."""
        states = self._models[name].states() if name in self._models else []
        return states or self._named(name).states()

    def refresh(self) -> list[VersionChange]:
        """Poll for new versions and labels, load what they ask for, and return the changes; in one thread at a time."""
        self._bring()
        return self._poll()

    def hold(self, labels: Mapping[str, Mapping[str, int]]) -> list[VersionChange]:
        """Let these labels of each model go before its file's, and return the changes; likewise.

        They count until others are held; none: the file's count again. Raises BadLabels or UnknownModel, and holds
        none, if one of them cannot be assigned.
        """
        models = {name: self._named(name) for name in labels}
        for name, model in models.items():
            check_labels(labels[name])
            model.prepare(labels[name])
        for name, model in models.items():
            model.hold(labels[name])
        return self._poll()

    def unload(self) -> list[Path]:
        """Forget the versions out of service that no session has any more, and return their folders; likewise."""
        return [path for model in self._models.values() for path in model.unload()]

    def _poll(self) -> list[VersionChange]:
        folders = {folder.name: folder for folder in _subfolders(self._exports)}
        new = {name: ModelVersions(folder, self._load) for name, folder in folders.items() if name not in self._models}
        self._models = {**self._models, **new}
        changes: list[VersionChange] = []
        for name, model in self._models.items():
            changes += model.poll(_versions(folders[name]) if name in folders else {})
        return changes

    def _named(self, name: str) -> ModelVersions:
        served = self.models
        if not name and len(served) == 1:
            return self._models[next(iter(served))]
        if name not in served:
            raise UnknownModel(f"model {name!r}: not served; served are: {', '.join(sorted(served)) or 'none'}")
        return self._models[name]


def _subfolders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _versions(folder: Path) -> dict[int, Path]:
    """Versions below `folder`, newest first; a name that is no number of the protocols' is that of another folder."""
    names = {path.name: path for path in _subfolders(folder) if path.name.isascii() and path.name.isdecimal()}
    found = {int(name): path for name, path in names.items() if int(name) <= NEWEST_VERSION}
    return dict(sorted(found.items(), reverse=True))
