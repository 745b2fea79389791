"""Files of transcripts, as corpora and recognizers write them, and pairs of reference and hypothesis."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from sonorant.errors import BadCorpus
from sonorant.file_names import shown
from sonorant.text.transcript_formats import Format, entries, format_of, formats_of
from sonorant.text.visible import visible

__all__ = [
    "Transcripts",
    "ids_by_recording",
    "pair_up",
    "read_pair",
    "read_speakers",
    "read_transcripts",
]

_SHOWN = 3  # ids that a message names at most


@dataclass(frozen=True)
class Transcripts:
    """The texts of one file by utterance, and the speakers and recordings that it names.

    In plain files ids are line numbers. doubtful: the format was detected, and plain and kaldi or trn both fit.
    """

    path: Path
    format: Format
    texts: dict[str, str]
    speakers: dict[str, str] = field(default_factory=dict)
    recordings: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False


def read_transcripts(path: Path, format: Format | None = None) -> Transcripts:
    """Return the transcripts of a file; without `format`, the format is detected.

    jsonl: objects with "text" and one of "id", "utterance", "audio_filepath", and perhaps "speaker" and the recording,
    as "audio_filepath" or "file". kaldi: id, space, text; taken for it where each line begins with another word that
    has a digit. trn: text, then the id in parentheses, as sclite's. plain: one text a line, empty ones included. Raises
    BadCorpus, naming the line, if a line does not fit, an id comes twice or there is no line.
    """
    lines = _lines(path)
    return _read(path, lines, format or format_of(lines))


def read_pair(reference: Path, hypothesis: Path, format: Format | None = None) -> tuple[Transcripts, Transcripts]:
    """Return the transcripts of two files that are compared; without `format`, formats are detected from both.

    Files are trn where most lines of both end with an id in parentheses; then all must, but comments (`;;`). One file
    alone is trn where each of its lines ends so, and these look like ids. Other ids are the same in both files, and
    each comes once. So first words are ids where they are the same, each once, and look like ids, or stand in another
    order, or there are many; else lines are plain. What does not look like ids (a digit or "_" in each word, other than
    a number's) is `doubtful`, of trn too. A hypothesis of blank lines is plain: nothing was recognised. Raises
    BadCorpus as `read_transcripts`.
    """
    paths, lines = (reference, hypothesis), (_lines(reference), _lines(hypothesis, may_be_blank=True))
    formats, doubtful = ((format, format), False) if format else formats_of(*lines)
    first, second = map(_read, paths, lines, formats)
    return replace(first, doubtful=doubtful), replace(second, doubtful=doubtful)


def _read(path: Path, lines: list[str], format: Format) -> Transcripts:
    found = Transcripts(path, format, {})
    for number, entry in entries(path, lines, format):
        if entry.id in found.texts:
            raise BadCorpus(
                f"{shown(path)}:{number}: id {entry.id!r} comes a second time (format: {format}); each utterance may "
                "stand once; --format plain, if there are no ids"
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
    lines = _lines(path, none="no speaker in it; expected an utterance's id and its speaker a line")
    for number, line in enumerate(lines, 1):
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


def _lines(path: Path, may_be_blank: bool = False, none: str = "no transcript in it; expected one a line") -> list[str]:
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except OSError as error:
        raise BadCorpus(f"{shown(path)}: {error}; expected a text file in UTF-8") from error
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise BadCorpus(f"{shown(path)}:{number}: {error.reason}; expected a text file in UTF-8") from error
    if not lines[-1]:
        lines.pop()
    if not (lines if may_be_blank else "".join(lines).strip()):
        raise BadCorpus(f"{shown(path)}: {none}")
    return lines


def _named(utterances: list[str]) -> str:
    return ", ".join(map(visible, utterances[:_SHOWN])) + (", …" if len(utterances) > _SHOWN else "")
