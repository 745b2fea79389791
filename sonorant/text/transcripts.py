"""Files of transcripts, as corpora and recognizers write them, and pairs of reference and hypothesis."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.text.visible import visible

__all__ = ["IDS", "Format", "Transcripts", "ids_by_recording", "pair_up", "read_speakers", "read_transcripts"]

Format: TypeAlias = Literal["jsonl", "kaldi", "plain"]

IDS = ("id", "utterance", "audio_filepath")
_RECORDINGS = ("audio_filepath", "file")  # of NeMo's manifests, and of `sonorant transcribe --json`
_SHOWN = 3  # ids that a message names at most


@dataclass(frozen=True)
class Transcripts:
    """The texts of one file by utterance, and the speakers and recordings that it names.

    In plain files ids are line numbers.
    """

    path: Path
    format: Format
    texts: dict[str, str]
    speakers: dict[str, str] = field(default_factory=dict)
    recordings: dict[str, str] = field(default_factory=dict)


class _Entry(NamedTuple):
    """One utterance of a file; speaker and recording are "" if they are unknown."""

    id: str
    text: str
    speaker: str = ""
    recording: str = ""


def read_transcripts(path: Path, format: Format | None = None) -> Transcripts:
    """Return the transcripts of a file; without `format`, the format is detected.

    jsonl: objects with "text" and one of "id", "utterance", "audio_filepath", and perhaps "speaker" and the recording,
    as "audio_filepath" or "file". kaldi: id, space, text; taken for it where each line begins with another word that
    has a digit. plain: one text a line, empty ones included. Raises BadCorpus, naming the line, if a line does not fit,
    an id comes twice or there is no line.
    """
    lines = _lines(path)
    found = Transcripts(path, format or _format(lines), {})
    for number, entry in _entries(path, lines, found.format):
        if entry.id in found.texts:
            raise BadCorpus(
                f"{shown(path)}:{number}: id {entry.id!r} comes a second time; each utterance may stand once"
            )
        found.texts[entry.id] = entry.text
        if entry.speaker:
            found.speakers[entry.id] = entry.speaker
        if entry.recording:
            found.recordings[entry.id] = entry.recording
    return found


def read_speakers(path: Path, utterances: Iterable[str]) -> dict[str, str]:
    """Return the speaker of each of the utterances from a file in the format of Kaldi's utt2spk: id, space, speaker.

    Raises BadCorpus, naming the line, if it does not fit, or the utterances that are not in the file.
    """
    speakers: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        fields = line.split()
        if len(fields) not in (0, 2):
            raise BadCorpus(f"{shown(path)}:{number}: {len(fields)} fields, expected an utterance's id and its speaker")
        if fields:
            speakers[fields[0]] = fields[1]
    wanted = list(utterances)
    if missing := [utterance for utterance in wanted if utterance not in speakers]:
        raise BadCorpus(f"{shown(path)}: no speaker of {len(missing)} of {len(wanted)} utterances: {_named(missing)}")
    return {utterance: speakers[utterance] for utterance in wanted}


def ids_by_recording(reference: Transcripts, hypothesis: Transcripts) -> dict[str, str]:
    """Return the reference's id of each utterance of the hypothesis whose own is another: that of its recording.

    The id `up/ann_1` may be that of the recording `up%2Fann_1.wav`. A recording of the hypothesis is the one of the
    reference whose path its own ends with. Empty where all ids are the same, or two utterances would have the same.
    """
    if reference.texts.keys() == hypothesis.texts.keys():
        return {}
    owners = {Path(recording): utterance for utterance, recording in reference.recordings.items()}
    found: dict[str, str] = {}
    for utterance, recording in hypothesis.recordings.items():
        parts = Path(recording).parts
        ends = (Path(*parts[first:]) for first in range(len(parts)))
        if owner := next((owners[end] for end in ends if end in owners), None):
            found[utterance] = owner
    names = {found.get(utterance, utterance) for utterance in hypothesis.texts}
    return found if len(names) == len(hypothesis.texts) else {}


def pair_up(reference: Transcripts, hypothesis: Transcripts) -> dict[str, tuple[str, str]]:
    """Return (reference, hypothesis) by the reference's id, in its order; where ids differ, by recording.

    Raises BadCorpus, naming ids, if an utterance is in one file only, or if one file has ids and the other has none.
    """
    ids = ids_by_recording(reference, hypothesis)
    hypothesis = replace(hypothesis, texts={ids.get(name, name): text for name, text in hypothesis.texts.items()})
    first, second = shown(reference.path), shown(hypothesis.path)
    if (reference.format == "plain") != (hypothesis.format == "plain"):
        raise BadCorpus(
            f"{first} looks {reference.format} and {second} looks {hypothesis.format}: ids and line "
            "numbers cannot be compared; give --format if one of them is mistaken"
        )
    if reference.format == "plain" and len(reference.texts) != len(hypothesis.texts):
        raise BadCorpus(
            f"{first} has {len(reference.texts)} lines and {second} {len(hypothesis.texts)}: "
            "plain files must be parallel, with an empty line where nothing was recognised"
        )
    for these, those in ((reference, hypothesis), (hypothesis, reference)):
        if missing := [utterance for utterance in these.texts if utterance not in those.texts]:
            raise BadCorpus(
                f"{len(missing)} of {len(these.texts)} utterances of {shown(these.path)} are not in "
                f"{shown(those.path)}: {_named(missing)}; both files must have the same ids, or recordings"
            )
    return {utterance: (text, hypothesis.texts[utterance]) for utterance, text in reference.texts.items()}


def _format(lines: list[str]) -> Format:
    filled = [line for line in lines if line.strip()]
    if all(line.lstrip().startswith("{") for line in filled):
        return "jsonl"
    firsts = [line.split(maxsplit=1)[0] for line in filled]
    looks_like_ids = all(any(char.isdigit() for char in first) for first in firsts)
    return "kaldi" if looks_like_ids and len(set(firsts)) == len(firsts) else "plain"


def _lines(path: Path) -> list[str]:
    try:
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCorpus(f"{shown(path)}: {error}; expected a text file in UTF-8") from error
    if not lines[-1]:
        lines.pop()
    if not any(line.strip() for line in lines):
        raise BadCorpus(f"{shown(path)}: no transcript in it; expected one a line")
    return lines


def _named(utterances: list[str]) -> str:
    return ", ".join(map(visible, utterances[:_SHOWN])) + (", …" if len(utterances) > _SHOWN else "")


def _entries(path: Path, lines: list[str], format: Format) -> Iterator[tuple[int, _Entry]]:
    """Yield line number and utterance."""
    for number, line in enumerate(lines, 1):
        if format == "plain":
            yield number, _Entry(str(number), line.strip())
        elif line.strip():
            yield number, _from_json(path, number, line) if format == "jsonl" else _from_kaldi(line)


def _from_kaldi(line: str) -> _Entry:
    utterance, *text = line.split(maxsplit=1)
    return _Entry(utterance, "".join(text).strip())


def _from_json(path: Path, number: int, line: str) -> _Entry:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits, or 100,000 brackets
        raise BadCorpus(f"{shown(path)}:{number}: {error}; expected a JSON object a line") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise BadCorpus(f'{shown(path)}:{number}: no "text" in it; expected {{"id": "…", "text": "…"}}')
    recording = next((str(entry[key]) for key in _RECORDINGS if entry.get(key)), "")
    for key in IDS:
        if entry.get(key) is not None:
            return _Entry(str(entry[key]), entry["text"], str(entry.get("speaker") or ""), recording)
    raise BadCorpus(f"{shown(path)}:{number}: no id in it; expected one of the keys {', '.join(IDS)}")
