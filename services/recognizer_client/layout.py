"""The layouts of transcripts: text, JSON, and captions."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

from services.recognizer_client.outputs import Output
from services.recognizer_client.transcript import StreamedTranscript
from sonorant.captions import cues, srt, vtt
from sonorant.file_names import shown

__all__ = ["Format", "Layout", "render"]

Format = Literal["text", "srt", "vtt", "json"]


@dataclass(frozen=True, slots=True)
class Layout:
    """A format; of text also: words with times, and how many alternatives."""

    format: Format = "text"
    words: bool = False
    nbest: int = 1

    @property
    def suffix(self) -> str:
        """Suffix of a file with a transcript."""
        return ".txt" if self.format == "text" else f".{self.format}"


def render(output: Output, transcript: StreamedTranscript, layout: Layout, *, named: bool) -> str:
    """Return a recording's transcript, with its name in front of lines of text if `named`."""
    if layout.format == "json":
        return json.dumps({"id": output.id, "file": str(output.recording), **_fields(transcript)}) + "\n"
    if captions := _CAPTIONS.get(layout.format):
        return captions(transcript)
    return _text(f"{shown(output.recording)}: " if named else "", transcript, layout)


_CAPTIONS: dict[Format, Callable[[StreamedTranscript], str]] = {
    "srt": lambda transcript: srt(cues(transcript.words, transcript.audio_s)),
    "vtt": lambda transcript: vtt(cues(transcript.words, transcript.audio_s)),
}


def _text(prefix: str, transcript: StreamedTranscript, layout: Layout) -> str:
    if layout.nbest > 1:
        lines = [f"{prefix}{one.text}  ({one.confidence:.3f})" for one in transcript.alternatives]
    else:
        lines = [f"{prefix}{transcript.text}"]
    if layout.words:
        lines += [f"  {w.start_s:7.2f} {w.end_s:7.2f}  {w.confidence:.3f}  {w.word}" for w in transcript.words]
    return "".join(f"{line}\n" for line in lines)


def _fields(transcript: StreamedTranscript) -> dict[str, object]:
    """Return a transcript as JSON has it: of its interim results only the first one's arrival."""
    interim = [event.arrival_s for event in transcript.events if not event.is_final]
    return {
        "text": transcript.text,
        "words": [asdict(word) for word in transcript.words],
        "alternatives": [asdict(one) for one in transcript.alternatives],
        "model": transcript.model,
        "audio_s": transcript.audio_s,
        "first_interim_s": interim[0] if interim else None,
        "final_after_audio_s": transcript.final_s - transcript.audio_end_s,
    }
