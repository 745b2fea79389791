"""N-gram models from files."""

import codecs
import gzip
import io
import mmap
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadLanguageModel
from sonorant.file_names import fault_of, shown
from sonorant.lm import ngrams
from sonorant.lm.perplexity import Perplexity
from sonorant.text_file import GZIP

__all__ = ["NgramModel", "reading"]

_PIECE = 1 << 22
_KENLM = b"mmap lm http://kheafield.com/code"
_MOST_COMPRESSED = 30  # gzip makes ARPA files smaller by 3 to 6, and by no more than this


def _nothing(_fraction: float) -> None:
    return None


class NgramModel(ngrams.NgramModel):
    """A back-off n-gram model of order 1 to 6; compiled searches take it as what it is in C++.

    `score(state, word)` gives (log10 p(word | state), next state), where `word` is from `index`, 0 for unknown words,
    and `state` from `begin` (after `<s>`), `null` (no history) or another `score`.
    """

    @classmethod
    def read(cls, path: Path, progress: Callable[[float], None] = _nothing) -> "NgramModel":
        """Read an ARPA file, plain or gzipped, or kenlm's binary: probing or any trie.

        progress is called with the fraction of an ARPA file that is read. Raises BadLanguageModel, naming the file and
        the line; Unavailable if the file system fails.
        """
        with reading(path), open(path, "rb") as file:
            head = file.read(len(_KENLM))
            file.seek(0)
            if head == _KENLM:
                return cls._read_kenlm(file)
            return cls._read_arpa(file, head.startswith(GZIP), path.stat().st_size, progress)

    @classmethod
    def _read_arpa(cls, file: BinaryIO, compressed: bool, size: int, progress: Callable[[float], None]) -> "NgramModel":
        reader = ngrams.ArpaReader(size * (_MOST_COMPRESSED if compressed else 1))
        text = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if compressed else file
        piece = text.read(_PIECE).removeprefix(codecs.BOM_UTF8)
        while piece:
            reader.feed(piece)
            progress(file.tell() / max(1, size))
            piece = text.read(_PIECE)
        return cls(reader)

    @classmethod
    def _read_kenlm(cls, file: BinaryIO) -> "NgramModel":
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return cls(np.frombuffer(mapped, np.uint8))

    def perplexity(self, sentences: Iterable[str]) -> Perplexity:
        """Score sentences, words apart by white space, each between `<s>` and `</s>`; empty ones are passed over."""
        log10 = log10_unknown = 0.0
        tokens = unknown = count = 0
        for sentence in sentences:
            if not sentence.strip():
                continue
            scored = self.score_sentence(sentence)
            log10, log10_unknown = log10 + scored.log10, log10_unknown + scored.log10_unknown
            tokens, unknown, count = tokens + scored.tokens, unknown + scored.unknown, count + 1
        return Perplexity(log10, log10_unknown, tokens, unknown, count)

    def unigrams(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return log10 p(word) without history, Float32[words]: of labels, their context-free prior."""
        null = self.null()
        return np.array([self.score(null, self.index(word))[0] for word in words], np.float32)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise BadLanguageModel, naming the file, for what is wrong with it; Unavailable if the file system fails."""
    try:
        yield
    except EOFError as error:
        raise BadLanguageModel(f"{shown(path)}: the compressed file is cut off: expected its end mark") from error
    except io.UnsupportedOperation as error:
        raise BadLanguageModel(
            f"{shown(path)}: is a pipe; expected a file, which is read twice: save it first"
        ) from error
    except (ngrams.BadLine, ngrams.BadBinary, zlib.error, gzip.BadGzipFile) as error:
        raise BadLanguageModel(f"{shown(path)}: {error}") from error
    except OSError as error:
        raise BadLanguageModel(f"{shown(path)}: {fault_of(path, error)}") from error
