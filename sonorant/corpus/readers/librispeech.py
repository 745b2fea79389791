"""LibriSpeech's folders: `speaker/chapter/speaker-chapter.trans.txt` beside `speaker-chapter-number.flac`."""

from collections.abc import Iterator
from pathlib import Path

from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus

__all__ = ["read_librispeech"]


def read_librispeech(folder: Path) -> Listing:
    """List the utterances of all transcripts in `folder` and below; raises BadCorpus for one that is not text."""
    found: list[Utterance] = []
    skipped: list[Skipped] = []
    for transcript in sorted(folder.rglob("*.trans.txt")):
        for key, text in _lines(transcript):
            path = transcript.with_name(f"{key}.flac")
            if not text:
                skipped.append(Skipped(str(path), f"has no transcript in {transcript.name}"))
            elif not path.is_file():
                skipped.append(Skipped(str(path), f"is missing, and {transcript.name} names it"))
            else:
                found.append(Utterance(key, (Segment(path),), text, key.split("-")[0]))
    return Listing(tuple(found), tuple(skipped))


def _lines(transcript: Path) -> Iterator[tuple[str, str]]:
    try:
        content = transcript.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError) as error:
        raise BadCorpus(f"{transcript}: cannot be read as UTF-8 text: {error}") from error
    for line in content.splitlines():
        key, _, text = line.strip().partition(" ")
        if key:
            yield key, text.strip()
