"""What a text costs under a language model."""

from dataclasses import dataclass

__all__ = ["Perplexity"]


@dataclass(frozen=True)
class Perplexity:
    """Sums over a text; the ends of sentences are tokens, their beginnings are not.

    log10: log10 probability of all tokens. log10_unknown: the share of those that are not in the vocabulary.
    tokens: words and sentence ends; unknown: those of them that are not in the vocabulary.
    """

    log10: float
    log10_unknown: float
    tokens: int
    unknown: int
    sentences: int

    @property
    def value(self) -> float:
        """Perplexity, 10^(-log10 / tokens); NaN of an empty text."""
        return _perplexity(self.log10, self.tokens)

    @property
    def value_known(self) -> float:
        """Perplexity of the tokens that are in the vocabulary."""
        return _perplexity(self.log10 - self.log10_unknown, self.tokens - self.unknown)

    def __str__(self) -> str:
        text = f"perplexity {self.value:.2f} ({self.tokens} tokens of {self.sentences} sentences"
        if self.unknown:
            text += f"; {self.unknown} unknown, {self.value_known:.2f} without them"
        return text + ")"


def _perplexity(log10: float, tokens: int) -> float:
    if tokens == 0:
        return float("nan")
    exponent = -log10 / tokens
    return float("inf") if exponent > 300 else 10**exponent
