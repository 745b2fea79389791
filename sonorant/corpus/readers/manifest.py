"""JSON-lines manifests with NeMo's keys: `audio_filepath`, `duration` and `text`.

Optional are `speaker`, `offset`, `id` and `split`.
"""

from pathlib import Path
from typing import Any

from sonorant.corpus.readers.json_fields import audio_path, name, object_of, seconds, shortened, string
from sonorant.corpus.readers.own_splits import OWN_SPLITS
from sonorant.corpus.readers.text_lines import Line, text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance

__all__ = ["read_manifest"]


def read_manifest(path: Path) -> Listing:
    """List the utterances of a manifest; `audio_filepath` is relative to the manifest's folder, other keys are ignored.

    null is as good as absent. Without an `id` it is the path without suffix, with the offset if one is given. Lines
    that cannot be used are the listing's faults, and so are those whose id an earlier line has.
    Raises BadCorpus if there is no such file, Unavailable if it cannot be read.
    """
    utterances: list[Utterance] = []
    faults: list[Skipped] = []
    line_of: dict[str, int] = {}
    for line in text_lines(path):
        if line.fault:
            faults.append(line.left_out(line.fault))
            continue
        if not line.text.strip():
            continue
        try:
            utterance = _utterance(line, path.parent)
        except ValueError as error:
            faults.append(line.left_out(str(error)))
            continue
        if (first := line_of.setdefault(utterance.id, line.number)) != line.number:
            faults.append(line.left_out(f"id {shortened(utterance.id)} is already used in line {first}"))
        else:
            utterances.append(utterance)
    return Listing(tuple(utterances), faults=tuple(faults))


def _utterance(line: Line, folder: Path) -> Utterance:
    entry = object_of(line.text, "audio_filepath, duration and text")
    audio = string(entry, "audio_filepath")
    path = audio_path("audio_filepath", audio, folder)
    duration_s = seconds(entry, "duration")
    if duration_s <= 0:
        raise ValueError(f"duration={duration_s}: must be above 0 seconds")
    offset_s = seconds(entry, "offset") if entry.get("offset") is not None else None
    if offset_s is not None and offset_s < 0:
        raise ValueError(f"offset={offset_s}: must be 0 seconds or more")
    stem = Path(audio).with_suffix("").as_posix()
    key = name(entry, "id") or (stem if offset_s is None else f"{stem}@{offset_s:.15g}")
    segment = Segment(path, offset_s or 0.0, duration_s)
    speaker, split = name(entry, "speaker"), _split(entry)
    return Utterance(key, (segment,), string(entry, "text"), speaker, split=split, line=line.position)


def _split(entry: dict[str, Any]) -> str | None:
    value: str | None = entry.get("split")
    if value is not None and value not in OWN_SPLITS:
        raise ValueError(f"split={shortened(value)}: must be train, dev or test")
    return value
