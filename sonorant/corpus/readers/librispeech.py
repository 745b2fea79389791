"""LibriSpeech's folders: `speaker/chapter/speaker-chapter.trans.txt` beside `speaker-chapter-number.flac`."""

from pathlib import Path

from sonorant.corpus.readers.text_lines import text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import files_below, path_fault, shown

__all__ = ["read_librispeech"]


def read_librispeech(folder: Path) -> Listing:
    """List the utterances of all transcripts in `folder` and below; what is no text is among the listing's faults."""
    found: list[Utterance] = []
    skipped: list[Skipped] = []
    transcripts, unlisted = files_below(folder, lambda name: name.endswith(".trans.txt"))
    faults = [Skipped(shown(path), reason) for path, reason in unlisted]
    for transcript in transcripts:
        try:
            for line in text_lines(transcript):
                if fault := line.fault or _key_fault(line.text):
                    faults.append(line.left_out(fault))
                elif line.text.strip():
                    entry = _entry(transcript, line.text)
                    if isinstance(entry, Utterance):
                        found.append(entry)
                    else:
                        skipped.append(entry)
        except BadCorpus as error:
            faults.append(Skipped(shown(transcript), str(error).removeprefix(f"{shown(transcript)}: ")))
    return Listing(tuple(found), tuple(skipped), tuple(faults))


def _split(line: str) -> tuple[str, str]:
    key, _, text = line.strip().partition(" ")
    return key, text.strip()


def _key_fault(line: str) -> str:
    key, _ = _split(line)
    return f"begins with {key[:60]!r}; expected the name of a recording beside it" if {"/", "\0"} & set(key) else ""


def _entry(transcript: Path, line: str) -> Utterance | Skipped:
    key, text = _split(line)
    path = transcript.with_name(f"{key}.flac")
    if not text:
        return Skipped(shown(path), f"has no transcript in {shown(transcript.name)}")
    if fault := path_fault(path):
        what = "is missing" if fault == "no such file" else fault
        return Skipped(shown(path), f"{what}, and {shown(transcript.name)} names it")
    return Utterance(key, (Segment(path),), text, key.split("-")[0])
