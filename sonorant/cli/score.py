"""`sonorant score`: scores hypotheses against references."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import click

from sonorant.atomic import atomic_write
from sonorant.cli.output_path import check_output
from sonorant.cli.score_view import Scored, show_json, show_text
from sonorant.file_names import shown
from sonorant.text.alignment import align
from sonorant.text.bleu import bleu
from sonorant.text.formatting import LANGUAGES, formatter
from sonorant.text.normalisation import normalise
from sonorant.text.scoring import error_rate
from sonorant.text.section import Language, TextRecipe
from sonorant.text.side_by_side import page
from sonorant.text.spacing import respace
from sonorant.text.transcript_formats import Format
from sonorant.text.transcripts import Transcripts, ids_by_recording, pair_up, read_pair, read_speakers
from sonorant.text.word_times import WordTimes, compare_times, read_word_times, respelt
from sonorant.text.written_figures import respell_figures

__all__ = ["command"]

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("score")
@click.argument("reference", type=_file)
@click.argument("hypothesis", type=_file)
@click.option("--format", type=click.Choice(get_args(Format)), help="Format of both files; default: detected.")
@click.option("--characters", is_flag=True, help="Score characters (CER) instead of words.")
@click.option("--normalise", "normalised", is_flag=True, help="Lower-case both and strip punctuation before comparing.")
@click.option("--language", type=click.Choice(get_args(Language)), help="Normalise both by the rules of a language.")
@click.option(
    "--written",
    type=click.Choice(sorted(LANGUAGES)),
    help="Compare written forms of both, by the rules of a language: five dollars is $5.",
)
@click.option(
    "--ignore-spaces", is_flag=True, help="Give the hypothesis the reference's word spacing first (sWER, for Korean)."
)
@click.option(
    "--bleu", "with_bleu", is_flag=True,
    help="Add BLEU of words and of characters, smoothing 7, which gives short identical texts more than 1.",
)  # fmt: skip
@click.option(
    "--utt2spk", type=_file, help="Speakers, a line each: id, speaker; else as the reference's JSON has them."
)
@click.option("--alignments", is_flag=True, help="Show each utterance's alignment.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the alignments as a page.")
@click.option(
    "--confusions", "top", type=click.IntRange(0), default=0, metavar="N", help="Show the N commonest errors."
)
@click.option("--times", is_flag=True, help="Add how far words' times are from the reference's (JSON lines, words).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, rates as fractions.")
def command(
    reference: Path,
    hypothesis: Path,
    format: Format | None,
    characters: bool,
    normalised: bool,
    language: Language | None,
    written: str | None,
    ignore_spaces: bool,
    with_bleu: bool,
    utt2spk: Path | None,
    alignments: bool,
    html: Path | None,
    top: int,
    times: bool,
    as_json: bool,
) -> None:
    """Print error rates of HYPOTHESIS against REFERENCE: of words, with a 95 % bootstrap interval, and of sentences.

    Both files hold JSON lines with id and text, or Kaldi's `id text`, or sclite's trn, `text (id)`, or plain parallel
    lines. JSON lines whose ids differ are paired by their recordings: audio_filepath or file. The interval resamples
    speakers where all utterances have one and there are at least ten, else utterances.

    Exit codes: 0 scored, whatever the rates; 65 a file cannot be used, or the two are not of the same utterances; 69
    the output cannot be written.
    """
    if language and written and language != written:
        raise click.UsageError(f"--language {language} with --written {written}: expected one language")
    _check_times(times, written, ignore_spaces)
    check_output(html, (reference, hypothesis, utt2spk))
    references, hypotheses = _pair(reference, hypothesis, format)
    spelling = _spelling(normalised, language, written)
    pairs = _spelt(pair_up(references, hypotheses), spelling)
    if ignore_spaces:
        pairs = {name: _spaces_ignored(said, heard, characters) for name, (said, heard) in pairs.items()}
    aligned = {name: align(said, heard, "character" if characters else "word") for name, (said, heard) in pairs.items()}
    scored = Scored(
        metric="CER" if characters else "sWER" if ignore_spaces else "WER",
        unit="character" if characters else "word",
        rate=error_rate(list(aligned.values()), _speakers(references, utt2spk)),
        aligned=aligned,
        bleu=_bleu(list(pairs.values())) if with_bleu else None,
        formats=(references.format, hypotheses.format),
        times=_times(references, hypotheses, spelling) if times else None,
    )
    if html is not None:
        atomic_write(html, page(f"{hypothesis} against {reference}", scored.summary(), aligned))
    (show_json if as_json else show_text)(scored, alignments, top)


def _pair(reference: Path, hypothesis: Path, format: Format | None) -> tuple[Transcripts, Transcripts]:
    """Return the transcripts of both; a line tells of lines that fit two formats."""
    references, hypotheses = read_pair(reference, hypothesis, format)
    read = references.format
    if references.doubtful:
        named = "trn" if read == "trn" else "kaldi"
        other, part = ("kaldi", "an id") if read == "plain" else ("plain", "part of the text")
        click.echo(
            f"{shown(reference)} and {shown(hypothesis)} fit {named} and plain, and are read as {read}; give --format "
            f"{other} if the {'last' if read == 'trn' else 'first'} word of each line is {part}, else --format {read}",
            err=True,
        )
    return references, hypotheses


def _spelling(normalised: bool, language: Language | None, written: str | None) -> Callable[[str], str]:
    """Return what gives two texts one spelling, at least one Unicode form; of written forms punctuation goes last."""

    def plain(text: str) -> str:
        if not (normalised or language):
            return unicodedata.normalize("NFC", text)
        return normalise(respell_figures(text, written) if written else text, TextRecipe(language=language))

    def as_figures(text: str) -> str:
        return plain(formatter(written, words_below=0).text(plain(text))) if written else plain(text)

    return as_figures


def _spelt(pairs: dict[str, tuple[str, str]], spelling: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    return {name: (spelling(said), spelling(heard)) for name, (said, heard) in pairs.items()}


def _check_times(times: bool, written: str | None, ignore_spaces: bool) -> None:
    if times and (written or ignore_spaces):
        other = "--written" if written else "--ignore-spaces"
        raise click.UsageError(f"--times with {other}: expected one of them; words that {other} makes have no times")


def _times(references: Transcripts, hypotheses: Transcripts, spelling: Callable[[str], str]) -> WordTimes:
    said, heard = (respelt(read_word_times(one.path), spelling) for one in (references, hypotheses))
    ids = ids_by_recording(references, hypotheses)
    return compare_times(said, {ids.get(name, name): words for name, words in heard.items()})


def _spaces_ignored(reference: str, hypothesis: str, characters: bool) -> tuple[str, str]:
    if characters:
        return "".join(reference.split()), "".join(hypothesis.split())
    return reference, respace(reference, hypothesis)


def _speakers(references: Transcripts, utt2spk: Path | None) -> list[str]:
    speakers = read_speakers(utt2spk, references.texts) if utt2spk is not None else references.speakers
    return [speakers.get(utterance, "") for utterance in references.texts]


def _bleu(pairs: list[tuple[str, str]]) -> dict[str, float]:
    return {
        "words": bleu((reference.split(), hypothesis.split()) for reference, hypothesis in pairs),
        "characters": bleu((" ".join(r.split()), " ".join(h.split())) for r, h in pairs),
    }
