"""An ensemble: exported models of which the probabilities are averaged (Hannun 2014, section 2.1)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sonorant.decoding import load_scorer
from sonorant.export.manifest import BadExport, Manifest, name_and_version
from sonorant.export.neural_language_model import load_language_model
from sonorant.recipe.loading import load_recipe
from sonorant.serving.model import AcousticModel, ServedModel
from sonorant.serving.posteriors import SingleModel
from sonorant.text.units import Units

__all__ = ["ENSEMBLE", "Ensemble", "check_members", "member_folder", "member_folders"]

ENSEMBLE = "ensemble"  # as a manifest's signature
_MEMBERS = "members"  # folder of the members' exports, 0, 1, …
# Lengths at which the members' numbers of frames are compared.
_CHECKED_SECONDS = tuple(0.5 + 0.013 * i for i in range(20))
_SAME_FRAMES = 1e-9  # difference of two times from frame to frame, in seconds


class Ensemble:
    """A `ServedModel`: units, decoding section and language model are its own, all else its members'."""

    decoder = None

    def __init__(self, folder: Path, manifest: Manifest, members: Sequence[ServedModel]) -> None:
        """members: exports of one model each, which `check_members` has found to agree."""
        self.folder = folder
        self.name, self.version = name_and_version(folder, manifest)
        self.search = manifest.search
        self.sample_rate_hz = manifest.sample_rate_hz
        self.recipe = load_recipe(folder / "recipe.yaml")
        self.units = Units.from_json((folder / "units.json").read_text(encoding="utf-8"))
        self.scorer = load_scorer(self.units, self.recipe.decoding, self.recipe.text, folder, load_language_model)
        self.frame_seconds = members[0].frame_seconds
        self.members: list[AcousticModel] = [member for served in members for member in served.members]


def member_folder(folder: Path, number: int) -> Path:
    """Return the folder of an ensemble's member 0, 1, …."""
    return folder / _MEMBERS / str(number)


def member_folders(folder: Path) -> list[Path]:
    """Return the folders of an ensemble's members, in their order."""
    return sorted((folder / _MEMBERS).iterdir(), key=lambda member: int(member.name))


def check_members(members: Mapping[Path, ServedModel]) -> None:
    """Raise BadExport, naming the export, if a member has other units or frames than the first; members: by folder."""
    first, *_ = members.values()
    frames = _frames(first) if first.search == "ctc" else []
    for folder, member in members.items():
        for key, found, expected in (
            ("search", member.search, "ctc"),
            ("units", member.units.symbols, first.units.symbols),
            ("sample rate in Hz", member.sample_rate_hz, first.sample_rate_hz),
        ):
            if found != expected:
                raise BadExport(
                    f"{folder}: {key} {found}; expected {expected} for an ensemble, which averages probabilities of "
                    "frames"
                )
        if abs(member.frame_seconds - first.frame_seconds) > _SAME_FRAMES or _frames(member) != frames:
            raise BadExport(
                f"{folder}: a frame each {member.frame_seconds:g} s; expected one each {first.frame_seconds:g} s, and "
                "as many of each recording as the ensemble's first member has"
            )


def _frames(served: ServedModel) -> list[int]:
    """Return the number of frames of recordings of several lengths."""
    (model,) = served.members
    counts = []
    for seconds in _CHECKED_SECONDS:
        opened = SingleModel(model)
        silence = np.zeros(round(seconds * served.sample_rate_hz), np.float32)
        counts.append(len(opened.push(silence)) + len(opened.finish()))
    return counts
