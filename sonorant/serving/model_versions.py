"""The versions of one model: which are in service, by which labels, and which drain."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sonorant.errors import SonorantError
from sonorant.serving.errors import UnknownModel
from sonorant.serving.labels import CANARY, STABLE, BadLabels, Labels, LabelsFile
from sonorant.serving.model import ServedModel
from sonorant.serving.model_choice import ModelChoice

__all__ = ["ModelVersions", "VersionChange", "VersionState"]

State = Literal["LOADING", "AVAILABLE", "UNLOADING", "END"]


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version that came into service, or has other labels there; or, with a `refusal`, what was refused and why.

    path: of the version's folder; of the labels file where that was refused.
    """

    path: Path
    refusal: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionState:
    """A version in the model's folder or in memory.

    AVAILABLE: in service. UNLOADING: no longer, but for sessions that began with it. END: not in memory; with a
    `refusal`, why it could not be loaded.
    """

    version: int
    state: State
    refusal: str = ""
    labels: tuple[str, ...] = ()


@dataclass(slots=True)
class _Loaded:
    path: Path
    stamp: frozenset[tuple[int, int]]
    model: ServedModel
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class _Refused:
    stamp: frozenset[tuple[int, int]]
    reason: str


@dataclass(frozen=True, slots=True)
class _Service:
    """What is in service: versions by number, that of requests that name none, and the labels of those."""

    versions: Mapping[int, _Loaded] = field(default_factory=dict)
    default: int = -1
    labels: Labels = field(default_factory=Labels)


class ModelVersions:
    """The versions of the model in `folder`: those with a label, and the default one, are in service.

    The default is the version labelled stable, or without one the newest that `load` accepts, and the canary only if
    there is no other. With a labels file that never was valid nothing comes into service. A label is moved when its new
    version is in service; until then it stays where it is. A version that goes out of service stays in memory for its
    sessions, until `unload`. One thread at a time polls; others may choose versions meanwhile.
    """

    def __init__(self, folder: Path, load: Callable[[Path], ServedModel]) -> None:
        self._name = folder.name
        self._load = load
        self._file = LabelsFile(folder)
        self._held: Mapping[str, int] = {}  # labels before those of the file
        self._found: Mapping[int, Path] = {}
        self._loaded: dict[int, _Loaded] = {}
        self._replaced: list[_Loaded] = []  # out of service, and other files have their number now
        self._loading: int | None = None
        self._refused: dict[int, _Refused] = {}
        self._faults: list[str] = []  # of labels, told already
        self._service = _Service()
        self._unversioned = 0  # streams so far that named no version
        self._lock = threading.Lock()  # of what pollers and sessions share; never held for long

    @property
    def default(self) -> ServedModel | None:
        """The version of requests that name none; None: there is no good one yet."""
        service = self._service
        return service.versions[service.default].model if service.versions else None

    @property
    def unmet_labels(self) -> int:
        """How many labels ask for a version that is not to be had: each stays where it was, or is no version's."""
        return len(self._faults)

    def get(self, choice: ModelChoice) -> ServedModel:
        """Return the version that is chosen, or the default; raises UnknownModel."""
        return self._chosen(self._service, choice).model

    @contextmanager
    def session(self, choice: ModelChoice, beside: ServedModel | None = None) -> Iterator[ServedModel]:
        """Keep a version in memory while the context lasts: the chosen one, or that of a session; raises UnknownModel.

        Where none is chosen, the canary's share of all such sessions has that version.
        """
        with self._lock:
            loaded = self._of(beside) if beside is not None else self._next(choice)
            loaded.sessions += 1
        try:
            yield loaded.model
        finally:
            with self._lock:
                loaded.sessions -= 1

    def states(self) -> list[VersionState]:
        """Return the state of each version, newest first."""
        with self._lock:
            numbers = sorted({*self._found, *self._loaded}, reverse=True)
            return [
                VersionState(number, self._state(number), self._refusal(number), self._service.labels.of(number))
                for number in numbers
            ]

    def poll(self, found: Mapping[int, Path]) -> list[VersionChange]:
        """Load what `found`, newest first, and the labels ask for, put it in service, and return the changes.

        Nothing changes where no version is left, as a volume that is not mounted looks alike.
        """
        with self._lock:
            self._found = found
            self._refused = {number: refused for number, refused in self._refused.items() if number in found}
        if not found:
            return []
        fault = self._file.poll()
        changes = [VersionChange(self._file.path, fault)] if fault else []
        if not self._file.known:
            return changes  # the newest version may be one that nobody has released
        labels, faults = self._assigned(self._wanted(), changes)
        changes += [VersionChange(self._file.path, fault) for fault in faults if fault not in self._faults]
        self._faults = faults
        default = labels.versions.get(STABLE)
        if default is None:
            default = self._newest(found, labels.versions.get(CANARY), changes)
        if default is not None:
            changes += self._serve(default, labels)
        return changes

    def prepare(self, versions: Mapping[str, int]) -> None:
        """Load the versions of labels, so that `hold` can assign them; raises BadLabels if one is not to be had."""
        for label, number in versions.items():
            if not self._take(number, []):
                raise BadLabels(f"model {self._name!r}: label {label!r}: {self._why_not(number)}")

    def hold(self, versions: Mapping[str, int]) -> None:
        """Let these labels go before those of the file, from the next `poll` on; none: the file's count again."""
        self._held = versions

    def unload(self) -> list[Path]:
        """Forget the versions out of service that no session has any more, and return their folders."""
        with self._lock:
            old = [number for number in self._loaded if number not in self._service.versions]
            ended = [self._loaded.pop(number).path for number in old if not self._loaded[number].sessions]
            ended += [loaded.path for loaded in self._replaced if not loaded.sessions]
            self._replaced = [loaded for loaded in self._replaced if loaded.sessions]
            return ended

    def _next(self, choice: ModelChoice) -> _Loaded:
        service = self._service
        loaded = self._chosen(service, choice)
        if choice.version is not None or choice.label:
            return loaded
        is_canary = service.labels.is_canary(self._unversioned)
        self._unversioned += 1
        return service.versions[service.labels.versions[CANARY]] if is_canary else loaded

    def _of(self, model: ServedModel) -> _Loaded:
        return next(loaded for loaded in (*self._loaded.values(), *self._replaced) if loaded.model is model)

    def _chosen(self, service: _Service, choice: ModelChoice) -> _Loaded:
        number = choice.version
        if choice.label:
            number = service.labels.versions.get(choice.label)
        elif number is None:
            number = service.default
        if number is None or number not in service.versions:
            wanted = f"label {choice.label!r}" if choice.label else f"version {number}"
            here = ", ".join(
                " ".join([str(version), *(f"({label})" for label in service.labels.of(version))])
                for version in sorted(service.versions, reverse=True)
            )
            raise UnknownModel(f"model {self._name!r}: {wanted} is not in service; in service are: {here or 'none'}")
        return service.versions[number]

    def _state(self, number: int) -> State:
        if number in self._service.versions:
            return "AVAILABLE"
        if number == self._loading:
            return "LOADING"
        return "UNLOADING" if number in self._loaded else "END"

    def _refusal(self, number: int) -> str:
        return self._refused[number].reason if number in self._refused else ""

    def _wanted(self) -> Labels:
        return Labels({**self._file.labels.versions, **self._held}, self._file.labels.canary_share)

    def _assigned(self, wanted: Labels, changes: list[VersionChange]) -> tuple[Labels, list[str]]:
        """Return the labels that can be assigned, and what is wrong with others."""
        versions, faults = {}, []
        for label, number in wanted.versions.items():
            before = self._service.labels.versions.get(label)
            if self._take(number, changes):
                versions[label] = number
            elif before is not None and self._take(before, changes):
                versions[label] = before
                faults.append(f"{label}={number}: {self._why_not(number)}; the label stays at version {before}")
            else:
                instead = ", requests without a version get the newest good one" if label == STABLE else ""
                faults.append(f"{label}={number}: {self._why_not(number)}; no version has the label{instead}")
        share = wanted.canary_share if {STABLE, CANARY} <= versions.keys() else 0.0
        return Labels(versions, share), faults

    def _why_not(self, number: int) -> str:
        return f"version {number} is not available: {self._refusal(number) or 'not in the folder of the model'}"

    def _newest(self, found: Iterable[int], canary: int | None, changes: list[VersionChange]) -> int | None:
        """Return the newest good version; the canary if there is no other."""
        ordered = sorted(found, key=lambda number: (number != canary, number), reverse=True)
        return next((number for number in ordered if self._take(number, changes)), None)

    def _take(self, number: int, changes: list[VersionChange]) -> bool:
        """Return whether a version of the folder is in memory, or can be loaded; one once refused if it has changed."""
        if number not in self._found:
            return False
        if number in self._service.versions:
            return True
        path = self._found[number]
        stamp = _stamp(path)
        if number in self._loaded and self._loaded[number].stamp == stamp:
            return True
        if number in self._refused and self._refused[number].stamp == stamp:
            return False
        self._loading = number
        try:
            loaded = _Loaded(path, stamp, self._load(path))
        except SonorantError as error:
            with self._lock:
                self._refused[number] = _Refused(stamp, str(error))
            changes.append(VersionChange(path, str(error)))
            return False
        finally:
            self._loading = None
        with self._lock:
            self._refused.pop(number, None)
            if number in self._loaded:
                self._replaced.append(self._loaded[number])
            self._loaded[number] = loaded
        return True

    def _serve(self, default: int, labels: Labels) -> list[VersionChange]:
        """Put the default and the labelled versions into service; all others go out of it."""
        before = self._service
        with self._lock:
            versions = {number: self._loaded[number] for number in {default, *labels.versions.values()}}
            self._service = _Service(versions, default, labels)
        return [
            VersionChange(loaded.path, labels=labels.of(number))
            for number, loaded in sorted(versions.items())
            if number not in before.versions or labels.of(number) != before.labels.of(number)
        ]


def _stamp(folder: Path) -> frozenset[tuple[int, int]]:
    """Return a state that changes with every write in `folder`, whatever the writer's clock; empty if it is gone."""
    try:
        found = [path.stat() for path in [folder, *folder.rglob("*")]]
    except OSError:
        return frozenset()
    return frozenset((status.st_ino, status.st_mtime_ns) for status in found)
