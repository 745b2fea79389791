"""What a client calls a model: its name alone, or one of its versions, by label or by number."""

from dataclasses import dataclass

from sonorant.serving.errors import BadRequest

__all__ = ["NEWEST_VERSION", "ModelChoice", "is_version", "parse_choice"]

NEWEST_VERSION = 2**63 - 1
"""The largest number of a version: an int64 in the protocols."""
_MOST_DIGITS = len(str(NEWEST_VERSION))


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model, and a version of it: by number, or by label; without either the recognizer chooses.

    name: empty: the only model.
    """

    name: str = ""
    version: int | None = None
    label: str = ""

    def __str__(self) -> str:
        if self.version is not None:
            return f"{self.name}@{self.version}"
        return f"{self.name}@{self.label}" if self.label else self.name


def parse_choice(text: str) -> ModelChoice:
    """Return what `MODEL`, `MODEL@LABEL`, `MODEL@VERSION` or `MODEL/VERSION` means; raises BadRequest.

    `MODEL/VERSION` is how answers name a version.
    """
    name, at, which = text.rpartition("@")
    if not at:
        name, slash, version = text.rpartition("/")
        return ModelChoice(name, int(version)) if slash and is_version(version) else ModelChoice(text)
    if is_version(which):
        return ModelChoice(name, int(which))
    if not which or which.isdecimal():
        raise BadRequest(f"model={text[:80]!r}: expected MODEL, MODEL@LABEL or MODEL@VERSION")
    return ModelChoice(name, label=which)


def is_version(text: str) -> bool:
    """Return whether it is the number of a version."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) <= NEWEST_VERSION
