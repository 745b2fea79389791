"""Training: text to ARPA, by interpolated modified Kneser-Ney.

Memory: 16 bytes a word of the text, and 28 an n-gram of any order. 10^8 words at order 3, some 6·10^7 n-grams, need 3.5
GB. The text may have 2^32 words and sentence bounds.
"""

import codecs
import gzip
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from sonorant.atomic import atomic_file
from sonorant.errors import BadLanguageModel
from sonorant.file_names import shown
from sonorant.lm import ngrams
from sonorant.lm.model import reading
from sonorant.text_file import open_text

__all__ = ["MAX_ORDER", "Trained", "train"]

MAX_ORDER = 6

_PIECE = 1 << 22


@dataclass(frozen=True)
class Trained:
    """What training found. ngrams: of each order, after pruning; discounts: (D1, D2, D3+) of each order.

    fallen_back: orders whose counts of counts gave no discounts in range, so that 0.5, 1 and 1.5 stand in.
    words: vocabulary with `<unk>`, `<s>` and `</s>`. made_unknown: tokens outside the limited vocabulary.
    """

    sentences: int
    tokens: int
    words: int
    made_unknown: int
    ngrams: tuple[int, ...]
    discounts: tuple[tuple[float, ...], ...]
    fallen_back: tuple[int, ...]


def train(
    texts: Iterable[Path],
    output: Path,
    *,
    order: int,
    prune: Sequence[int] = (),
    most_words: int | None = None,
    progress: Callable[[str], None] = lambda _doing: None,
) -> Trained:
    """Train a model of `order` on text files, a sentence a line, gzipped or not, and write it as ARPA.

    output: gzipped if its name ends with `.gz`. prune: n-grams of order 1, 2, … that occur no more often are left out;
    the last value holds for all higher orders; it starts with 0 and never falls. most_words: the commonest words that
    the vocabulary keeps; others are `<unk>`. progress: called with what is done next. Raises BadLanguageModel, naming
    file and line, and Unavailable if a text cannot be read now or the output cannot be written.
    """
    thresholds = _thresholds(order, prune)
    text = ngrams.Text()
    for path in texts:
        progress(f"reading {path}")
        _read(text, path)
    if text.sentences == 0:
        raise BadLanguageModel("the text has no word; give files with a sentence a line")
    changed = text.limit_words(most_words) if most_words is not None else 0
    model = ngrams.KneserNey(text, thresholds)
    orders = range(1, order + 1)
    for n in orders:
        progress(f"counting {n}-grams")
        model.count(n)
    discounts = []
    for n in orders:
        progress(f"estimating {n}-grams")
        discounts.append(model.estimate(n))
    counts = tuple(model.kept(n) for n in orders)
    with atomic_file(output) as file, _compressed(file, output) as written:
        for piece in _arpa(model, counts, progress):
            written.write(piece)
    fallen_back = tuple(n for n in orders if discounts[n - 1].fallen_back)
    amounts = tuple(tuple(found.amounts) for found in discounts)
    return Trained(text.sentences, text.tokens, text.words, changed, counts, amounts, fallen_back)


def _thresholds(order: int, prune: Sequence[int]) -> list[int]:
    if not 1 <= order <= MAX_ORDER:
        raise BadLanguageModel(f"order {order}: must be 1 to {MAX_ORDER}; 3 is usual")
    values = list(prune) or [0]
    if values[0] != 0 or values != sorted(values) or len(values) > order:
        raise BadLanguageModel(
            f"pruning thresholds {' '.join(map(str, values))}: must start with 0, never fall, and be at most {order} "
            "(one an order); 0 0 1 is usual; to drop rare words, limit the vocabulary"
        )
    return values + [values[-1]] * (order - len(values))


def _read(text: ngrams.Text, path: Path) -> None:
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 0
    with reading(path), open_text(path) as file:
        while True:
            piece = file.read(_PIECE)
            try:
                decoder.decode(piece, final=not piece)
            except UnicodeDecodeError as error:
                number, byte = lines + 1 + error.object.count(b"\n", 0, error.start), error.object[error.start]
                raise BadLanguageModel(f"{shown(path)}: line {number}: no UTF-8, byte 0x{byte:02x}") from error
            if not piece:
                break
            lines += piece.count(b"\n")
            text.feed(piece)
        text.end_file()


def _compressed(file: BinaryIO, output: Path) -> BinaryIO:
    """Return what to write to; without a time in the header, so that the same text gives the same bytes."""
    if output.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile("", "wb", 6, file, mtime=0))
    return cast("BinaryIO", _LeftOpen(file))


class _LeftOpen(io.BufferedIOBase):
    """A file whose owner closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._file.write(data)


def _arpa(model: ngrams.KneserNey, counts: Sequence[int], progress: Callable[[str], None]) -> Iterator[bytes]:
    yield b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % (n, count) for n, count in enumerate(counts, 1))
    for n in range(1, len(counts) + 1):
        progress(f"writing {n}-grams")
        yield b"\n\\%d-grams:\n" % n
        first = 0
        while True:
            piece, first = model.lines(n, first, _PIECE)
            if not piece:
                break
            yield piece
    yield b"\n\\end\\\n"
