"""Formats of transcripts: what lines look like, and what they hold."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from sonorant.errors import BadCorpus
from sonorant.file_names import shown

__all__ = ["IDS", "Entry", "Format", "entries", "format_of", "formats_of"]

Format: TypeAlias = Literal["jsonl", "kaldi", "trn", "plain"]

IDS = ("id", "utterance", "audio_filepath")
_RECORDINGS = ("audio_filepath", "file")  # of NeMo's manifests, and of `sonorant transcribe --json`
_MANY = 10  # lines; so many texts hardly begin with as many words, every one of them recognized
_TRN = re.compile(r"(?P<text>.*)\((?P<id>[^()\s]+)\)\s*", re.DOTALL)  # sclite's: good morning (ann-1)
_COMMENT = ";;"  # begins lines of trn that say nothing of an utterance


class Entry(NamedTuple):
    """One utterance of a file; speaker and recording are "" if they are unknown."""

    id: str
    text: str
    speaker: str = ""
    recording: str = ""


def format_of(lines: list[str]) -> Format:
    """Return the format of a file by its lines alone."""
    if own := _own_format(lines):
        return own
    firsts = _first_words(lines)
    looks_like_ids = all(any(char.isdigit() for char in first) for first in firsts)
    return "kaldi" if looks_like_ids and len(set(firsts)) == len(firsts) else "plain"


def formats_of(reference: list[str], hypothesis: list[str]) -> tuple[tuple[Format, Format], bool]:
    """Return the formats of two files, and whether their lines fit plain, too."""
    said, heard = (_first_words(lines) for lines in (reference, hypothesis))
    if not heard:
        return (format_of(reference), "plain"), False
    if _own_format(reference) == _own_format(hypothesis) == "trn":
        return ("trn", "trn"), not (_is_trn(reference) and _is_trn(hypothesis))
    if _is_mostly_trn(reference) and _is_mostly_trn(hypothesis):
        return ("trn", "trn"), False  # reading them names the line that lacks its id
    if _is_jsonl(reference) or _is_jsonl(hypothesis):
        return (_beside_jsonl(reference, said), _beside_jsonl(hypothesis, heard)), False
    if _is_trn(reference):
        return ("trn", _beside_others(heard, _trn_ids(reference))), False
    if _is_trn(hypothesis):
        return (_beside_others(said, _trn_ids(hypothesis)), "trn"), False
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
    distinct = [*set(firsts)]
    alone = 2 * len(distinct) > len(firsts) and _look_like_ids(distinct)
    are_ids = alone or (_look_like_ids(others) and set(firsts) <= set(others))
    return "kaldi" if are_ids else "plain"


def _beside_jsonl(lines: list[str], firsts: list[str]) -> Format:
    """Return the format of one of two files of which one or both are jsonl, so that the other has ids."""
    if own := _own_format(lines):
        return own
    return "kaldi" if len(set(firsts)) == len(firsts) or _look_like_ids(list(set(firsts))) else "plain"


def _look_like_ids(words: list[str]) -> bool:
    """Return whether each word is another with a digit or "_" in it, and none is a number, unless 0 begins it."""
    return len(set(words)) == len(words) and all(
        any(char.isdigit() or char == "_" for char in word) and not (word.isdecimal() and word.lstrip("0") == word)
        for word in words
    )


def _own_format(lines: list[str]) -> Format | None:
    """Return the format that all lines show by themselves, jsonl or trn; None if they show none."""
    if _is_jsonl(lines):
        return "jsonl"
    texts = [line for line in lines if _has_text(line)]
    return "trn" if texts and all(map(_TRN.fullmatch, texts)) else None


def _is_mostly_trn(lines: list[str]) -> bool:
    """Return whether more than half of the lines have an id in parentheses at their end, and these look like ids."""
    ids = _trn_ids(lines)
    return 2 * len(ids) > sum(map(_has_text, lines)) and _look_like_ids([*set(ids)])


def _is_trn(lines: list[str]) -> bool:
    """Return whether each line has an id in parentheses at its end, and these look like ids."""
    return _own_format(lines) == "trn" and _look_like_ids(_trn_ids(lines))


def _has_text(line: str) -> bool:
    """Return whether a line is neither blank nor a comment of sclite's."""
    return bool(line.strip()) and not line.startswith(_COMMENT)


def _trn_ids(lines: list[str]) -> list[str]:
    return [found["id"] for line in lines if (found := _TRN.fullmatch(line))]


def _is_jsonl(lines: list[str]) -> bool:
    return all(line.lstrip().startswith("{") for line in lines if line.strip())


def _first_words(lines: list[str]) -> list[str]:
    return [line.split(maxsplit=1)[0] for line in lines if line.strip()]


def entries(path: Path, lines: list[str], format: Format) -> Iterator[tuple[int, Entry]]:
    """Yield line number and utterance; raises BadCorpus for a line that does not fit the format."""
    for number, line in enumerate(lines, 1):
        if format == "plain":
            yield number, Entry(str(number), line.strip())
        elif line.strip() and not (format == "trn" and line.startswith(_COMMENT)):
            yield number, _entry(path, number, line, format)


def _entry(path: Path, number: int, line: str, format: Format) -> Entry:
    match format:
        case "jsonl":
            return _from_json(path, number, line)
        case "trn":
            return _from_trn(path, number, line)
        case _:
            return _from_kaldi(line)


def _from_kaldi(line: str) -> Entry:
    utterance, *text = line.split(maxsplit=1)
    return Entry(utterance, "".join(text).strip())


def _from_trn(path: Path, number: int, line: str) -> Entry:
    if (found := _TRN.fullmatch(line)) is None:
        raise BadCorpus(f"{shown(path)}:{number}: no id in parentheses at its end; expected a text, then (id)")
    return Entry(found["id"], found["text"].strip())


def _from_json(path: Path, number: int, line: str) -> Entry:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:  # also an integer of 5,000 digits, or 100,000 brackets
        raise BadCorpus(f"{shown(path)}:{number}: {error}; expected a JSON object a line") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise BadCorpus(f'{shown(path)}:{number}: no "text" in it; expected {{"id": "…", "text": "…"}}')
    recording = next((str(entry[key]) for key in _RECORDINGS if entry.get(key)), "")
    for key in IDS:
        if entry.get(key) is not None:
            return Entry(str(entry[key]), entry["text"], str(entry.get("speaker") or ""), recording)
    raise BadCorpus(f"{shown(path)}:{number}: no id in it; expected one of the keys {', '.join(IDS)}")
