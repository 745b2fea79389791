"""Common Voice: `validated.tsv` with the columns `client_id`, `path` and `sentence`, and `clips/`.

`train.tsv`, `dev.tsv` and `test.tsv` are its own splits: a part of what is validated, without a speaker in common.
Releases and delta segments differ in their other columns, which are not read. There is no quoting: a quotation mark is
a character of its sentence (unlike in `csv`'s dialect excel-tab). A clip may have any format that `audio.py` reads.
"""

from pathlib import Path

from sonorant.corpus.readers.own_splits import OWN_SPLITS, in_splits
from sonorant.corpus.readers.text_lines import Line, text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import path_fault, shown

__all__ = ["read_common_voice", "read_common_voice_splits"]

_COLUMNS = ("client_id", "path", "sentence")


def read_common_voice_splits(folder: Path) -> Listing:
    """List the clips of `train.tsv`, `dev.tsv` and `test.tsv`, each in its table's split; see `read_common_voice`."""
    return in_splits((split, read_common_voice(folder, f"{split}.tsv")) for split in OWN_SPLITS)


def read_common_voice(folder: Path, name: str = "validated.tsv") -> Listing:
    """List the clips of a table; an utterance's id is its clip's name without suffix, its speaker the client.

    Skipped are lines whose clip is missing or whose sentence is empty. Faults are lines that are no text, have more or
    fewer fields than the first, or a path that is no name. Raises BadCorpus if the table or one of the columns is
    missing.
    """
    table = folder / name
    lines = text_lines(table)
    header = next(lines, Line(table, 1, ""))
    names = header.text.split("\t")
    if reason := header.fault or _header_fault(header.text):
        raise BadCorpus(f"{shown(table)}: {reason}; expected Common Voice's columns, separated by tabs")
    utterances: list[Utterance] = []
    skipped: list[Skipped] = []
    faults: list[Skipped] = []
    for line in lines:
        if not line.fault and not line.text:
            continue
        fields = line.text.split("\t")
        if fault := line.fault or _fault(fields, names):
            faults.append(line.left_out(fault))
            continue
        entry = _entry(line, dict(zip(names, fields, strict=True)), folder / "clips")
        if isinstance(entry, Utterance):
            utterances.append(entry)
        else:
            skipped.append(entry)
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))


def _header_fault(header: str) -> str:
    names = header.split("\t")
    if missing := [column for column in _COLUMNS if column not in names]:
        return f"lacks the column(s) {', '.join(missing)}; its first line is {header[:100]!r}"
    if twice := [column for column in _COLUMNS if names.count(column) > 1]:
        return f"has the column(s) {', '.join(twice)} more than once; its first line is {header[:100]!r}"
    return ""


def _fault(fields: list[str], names: list[str]) -> str:
    if len(fields) != len(names):
        return f"has {len(fields)} field(s), and the first line {len(names)}"
    clip = fields[names.index("path")]
    if not clip or {"/", "\0"} & set(clip) or clip in (".", ".."):
        return f"path={clip[:60]!r}: must be the name of a file in clips/"
    return ""


def _entry(line: Line, row: dict[str, str], clips: Path) -> Utterance | Skipped:
    clip = clips / row["path"]
    if not row["sentence"].strip():
        return line.left_out(f"{row['path']} has an empty sentence")
    if fault := path_fault(clip):
        return line.left_out(f"clips/{row['path']}: {fault}")
    return Utterance(clip.stem, (Segment(clip),), row["sentence"], row["client_id"], line=line.position)
