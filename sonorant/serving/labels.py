"""Labels of a model's versions, such as stable and canary, and the file that sets them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from typing import Any

from sonorant.errors import SonorantError
from sonorant.serving.model_choice import NEWEST_VERSION

__all__ = ["CANARY", "LABELS", "STABLE", "BadLabels", "Labels", "LabelsFile", "check_labels", "parse_labels"]

LABELS = "labels.json"
STABLE = "stable"  # the version of requests that name none
CANARY = "canary"  # the version of a share of them
_SHARE = "canary_share"
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,62}")
_MOST_BYTES = 1 << 16
_MOST = 8


class BadLabels(SonorantError):
    """Labels that cannot be assigned: the message names the label and the fault."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Labels:
    """Versions by label; canary_share: share of the streams without a version that `canary` takes, in [0, 1]."""

    versions: Mapping[str, int] = field(default_factory=dict)
    canary_share: float = 0.0

    def of(self, version: int) -> tuple[str, ...]:
        """Return the labels of a version."""
        return tuple(sorted(label for label, labelled in self.versions.items() if labelled == version))

    def is_canary(self, stream: int) -> bool:
        """Return whether stream 0, 1, … of those without a version is the canary's: as evenly as their share allows."""
        return floor((stream + 1) * self.canary_share) > floor(stream * self.canary_share)


def parse_labels(content: bytes) -> Labels:
    """Return what a labels file says, as `{"stable": 3, "canary": 4, "canary_share": 0.05}`; raises BadLabels."""
    if len(content) > _MOST_BYTES:
        raise BadLabels(f"{len(content)} bytes: expected {_MOST_BYTES} at most")
    try:
        found = json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise BadLabels(f'not JSON ({error}); expected such as {{"{STABLE}": 3}}') from error
    if not isinstance(found, dict):
        raise BadLabels(f"{str(found)[:40]}: expected an object of versions by label")
    share = found.pop(_SHARE, 0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise BadLabels(f"{_SHARE}={str(share)[:40]}: expected a number from 0 to 1")
    check_labels(found)
    if share and not {STABLE, CANARY} <= found.keys():
        raise BadLabels(f"{_SHARE}={share}: expected versions labelled {STABLE} and {CANARY} beside it")
    return Labels(found, float(share))


def check_labels(versions: Mapping[str, Any]) -> None:
    """Raise BadLabels for a label that cannot be one, or whose value is no version, and for too many."""
    if len(versions) > _MOST:
        raise BadLabels(f"{len(versions)} labels: expected {_MOST} at most, as each keeps a version in memory")
    for label, version in versions.items():
        if not _LABEL.fullmatch(label) or label == _SHARE:
            raise BadLabels(f"label {label[:80]!r}: expected a letter, and letters, digits, -, _ or . after it")
        if isinstance(version, bool) or not isinstance(version, int) or not 0 <= version <= NEWEST_VERSION:
            quoted = ", without quotes" if isinstance(version, str) else ""
            raise BadLabels(f"{label}={str(version)[:40]}: expected a version, such as 3{quoted}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadLabels(f"a key occurs twice among {', '.join(name[:40] for name, _ in pairs)}")
    return found


class LabelsFile:
    """The labels file of a model's folder.

    labels: those of its last valid state; none without the file. An absent file is believed when it is absent twice, as
    some programs remove a file before they write it anew. known: False as long as there is a file, and never was valid.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LABELS
        self.labels = Labels()
        self.known = False
        self._read: bytes | str = ""
        self._absent = True

    def poll(self) -> str:
        """Read the file again; return what is wrong with it, once as long as it stays the same, and "" otherwise."""
        read = self._content()
        if read is None or read == self._read:
            return ""
        self._read = read
        if isinstance(read, str):
            return read
        try:
            self.labels, self.known = parse_labels(read), True
        except BadLabels as error:
            return str(error)
        return ""

    def _content(self) -> bytes | str | None:
        """Return the file's content; None: it has gone since the last poll; or what keeps it from being read."""
        was_absent, self._absent = self._absent, False
        try:
            with open(self.path, "rb") as file:
                return file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            self._absent = True
            return b"{}" if was_absent else None
        except OSError as error:
            return f"cannot be read: {error.strerror}"
