"""Files of transcripts, as corpora and recognizers write them, and pairs of reference and hypothesis."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.text.visible import visible

__all__ = [
    "IDS",
    "Format",
    "Transcripts",
    "ids_by_recording",
    "pair_up",
    "read_pair",
    "read_speakers",
    "read_transcripts",
]

Format: TypeAlias = Literal["jsonl", "kaldi", "plain"]

IDS = ("id", "utterance", "audio_filepath")
_RECORDINGS = ("audio_filepath", "file")  # of NeMo's manifests, and of `sonorant transcribe --json`
_SHOWN = 3  # ids that a message names at most
_MANY = 10  # lines; so many texts hardly begin with as many words, every one of them recognized


@dataclass(frozen=True)
class Transcripts:
    """The texts of one file by utterance, and the speakers and recordings that it names.

    In plain files ids are line numbers. doubtful: the format was detected, and kaldi and plain both fit.
    """

    path: Path
    format: Format
    texts: dict[str, str]
    speakers: dict[str, str] = field(default_factory=dict)
    recordings: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False


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
    return _read(path, lines, format or _format(lines))


def read_pair(reference: Path, hypothesis: Path, format: Format | None = None) -> tuple[Transcripts, Transcripts]:
    """Return the transcripts of two files that are compared; without `format`, formats are detected from both.

    Ids are the same in both files, and each comes once. So first words are ids where they are the same, each once, and
    look like ids, or stand in another order, or there are many; else lines are plain. What does not look like ids (a
    digit or "_" in each word, other than a number's) is `doubtful`. A hypothesis of blank lines is plain: nothing was
    recognised. Raises BadCorpus as `read_transcripts`.
    """
    paths, lines = (reference, hypothesis), (_lines(reference), _lines(hypothesis, may_be_blank=True))
    formats, doubtful = ((format, format), False) if format else _formats(*lines)
    first, second = map(_read, paths, lines, formats)
    return replace(first, doubtful=doubtful), replace(second, doubtful=doubtful)


def _read(path: Path, lines: list[str], format: Format) -> Transcripts:
    found = Transcripts(path, format, {})
    for number, entry in _entries(path, lines, format):
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
    if _is_jsonl(lines):
        return "jsonl"
    firsts = _first_words(lines)
    looks_like_ids = all(any(char.isdigit() for char in first) for first in firsts)
    return "kaldi" if looks_like_ids and len(set(firsts)) == len(firsts) else "plain"


def _formats(reference: list[str], hypothesis: list[str]) -> tuple[tuple[Format, Format], bool]:
    """Return the formats of two files, and whether their lines fit both kaldi and plain."""
    said, heard = (_first_words(lines) for lines in (reference, hypothesis))
    if not heard:
        return (_format(reference), "plain"), False
    if _is_jsonl(reference) or _is_jsonl(hypothesis):
        return (_beside_jsonl(reference, said), _beside_jsonl(hypothesis, heard)), False
    if set(said) != set(heard) or len(set(said)) < max(len(said), len(heard)):
        return (_beside_others(said, heard), _beside_others(heard, said)), False
    if _look_like_ids(said) or len(reference) != len(hypothesis):
        return ("kaldi", "kaldi"), False
    if not any(len(line.split()) > 1 for line in (*reference, *hypothesis)):
        return ("plain", "plain"), False
    named = said != heard or (len(said) >= _MANY and not any(first.isdecimal() for first in said))
    return ("kaldi", "kaldi") if named else ("plain", "plain"), True


def _beside_others(firsts: list[str], others: list[str]) -> Format:
    """Return the format of one of two files whose first words are not the same, each once; ids may come twice in it."""
    are_ids = _look_like_ids(firsts) or (_look_like_ids(others) and set(firsts) <= set(others))
    return "kaldi" if are_ids else "plain"


def _beside_jsonl(lines: list[str], firsts: list[str]) -> Format:
    """Return the format of one of two files of which one or both are jsonl, so that the other has ids."""
    if _is_jsonl(lines):
        return "jsonl"
    return "kaldi" if len(set(firsts)) == len(firsts) or _look_like_ids(list(set(firsts))) else "plain"


def _look_like_ids(words: list[str]) -> bool:
    """Return whether each word is another with a digit or "_" in it, and none is a number, unless 0 begins it."""
    return len(set(words)) == len(words) and all(
        any(char.isdigit() or char == "_" for char in word) and not (word.isdecimal() and word.lstrip("0") == word)
        for word in words
    )


def _is_jsonl(lines: list[str]) -> bool:
    return all(line.lstrip().startswith("{") for line in lines if line.strip())


def _first_words(lines: list[str]) -> list[str]:
    return [line.split(maxsplit=1)[0] for line in lines if line.strip()]


def _lines(path: Path, may_be_blank: bool = False) -> list[str]:
    try:
        lines = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadCorpus(f"{shown(path)}: {error}; expected a text file in UTF-8") from error
    if not lines[-1]:
        lines.pop()
    if not (lines if may_be_blank else "".join(lines).strip()):
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
