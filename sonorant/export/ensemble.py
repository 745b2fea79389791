"""An ensemble: exported models whose probabilities are averaged, by frame or by label (Hannun 2014, section 2.1)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sonorant.decoding import MeanDecoder, MeanMonotonicDecoder, load_scorer
from sonorant.export.described import Described
from sonorant.export.manifest import BadExport, Manifest
from sonorant.export.neural_language_model import load_language_model
from sonorant.serving.model import AcousticModel, ServedModel
from sonorant.serving.posteriors import SingleModel, whole_posteriors

__all__ = ["Ensemble", "check_members"]

# Lengths at which the members' numbers of frames are compared.
_CHECKED_SECONDS = tuple(0.5 + 0.013 * i for i in range(20))
_SAME_FRAMES = 1e-9  # difference of two times from frame to frame, in seconds


class Ensemble(Described):
    """A `ServedModel`: units, decoding section and language model are its own, all else its members'."""

    def __init__(self, folder: Path, manifest: Manifest, members: Sequence[ServedModel]) -> None:
        """members: exports of one model each, which `check_members` has found to agree."""
        super().__init__(folder, manifest)
        self.scorer = load_scorer(self.units, self.recipe.decoding, self.recipe.text, folder, load_language_model)
        self.frame_seconds = members[0].frame_seconds
        self.frame_lag_s = min(member.frame_lag_s for member in members)  # of the one that tells latest
        self.members: list[AcousticModel] = [member for served in members for member in served.members]
        self.decoder = None if members[0].decoder is None else _mean_decoder(members)


def _mean_decoder(members: Sequence[ServedModel]) -> MeanDecoder | MeanMonotonicDecoder:
    decoders = [member.decoder for member in members]
    sizes = [model.no_frames.shape[1] for member in members for model in member.members]
    joint_ctc = all(decoder.joint_ctc for decoder in decoders)
    if members[0].search == "labels":
        return MeanDecoder(decoders, sizes, joint_ctc=joint_ctc)
    return MeanMonotonicDecoder(decoders, sizes, members[0].units.size + 1, joint_ctc=joint_ctc)


def check_members(members: Mapping[Path, ServedModel]) -> None:
    """Raise BadExport, naming the export, if a member has another search, other units or frames than the first.

    With attention all have joint CTC or none has, since it is averaged too. members: by folder.
    """
    folder, first = next(iter(members.items()))
    frames = _frames(first)
    for folder, member in members.items():
        for key, found, expected in (
            ("search", member.search, first.search),
            ("model.ctc", _has_ctc(member), _has_ctc(first)),
            ("units", member.units.symbols, first.units.symbols),
            ("sample rate in Hz", member.sample_rate_hz, first.sample_rate_hz),
        ):
            if found != expected:
                raise BadExport(f"{folder}: {key} {found}; expected {expected}, that of the ensemble's first member")
        if abs(member.frame_seconds - first.frame_seconds) > _SAME_FRAMES or _frames(member) != frames:
            raise BadExport(
                f"{folder}: a frame each {member.frame_seconds:g} s; expected one each {first.frame_seconds:g} s, and "
                "as many of each recording as the ensemble's first member has"
            )


def _has_ctc(served: ServedModel) -> bool:
    return getattr(served.decoder, "joint_ctc", False)


def _frames(served: ServedModel) -> list[int]:
    """Return the number of frames of recordings of several lengths."""
    (model,) = served.members
    counts = []
    for seconds in _CHECKED_SECONDS:
        silence = np.zeros(round(seconds * served.sample_rate_hz), np.float32)
        counts.append(len(whole_posteriors(SingleModel(model), silence)))
    return counts
