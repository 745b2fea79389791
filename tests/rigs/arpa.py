"""A small n-gram model in ARPA format, and its scores by the definition of back-off (Katz 1987)."""

import math

__all__ = ["ARPA", "MODEL", "log_probability"]

UNIGRAMS = {
    "<unk>": (-1.6, 0.0), "<s>": (-99.0, -0.3), "</s>": (-0.9, 0.0), "a": (-0.7, -0.25), "b": (-0.8, -0.4),
    "ab": (-1.1, -0.15), "ba": (-1.3, 0.0), "\u2581": (-1.0, -0.2), "\u2581a": (-0.9, -0.35), "\u2581b": (-1.2, -0.1),
}  # fmt: skip
BIGRAMS = {
    "<s> a": (-0.4, -0.2), "<s> b": (-0.9, -0.3), "a b": (-0.3, -0.1), "b a": (-0.6, -0.45), "a </s>": (-0.5, 0.0),
    "ab a": (-0.2, 0.0), "\u2581a b": (-0.25, -0.2), "b b": (-1.4, 0.0), "a \u2581": (-0.35, -0.15),
}  # fmt: skip
TRIGRAMS = {"<s> a b": -0.15, "a b a": -0.2, "b a </s>": -0.3, "b a b": -0.9, "a \u2581 b": -0.5}
MODEL = UNIGRAMS | BIGRAMS | {ngram: (p, 0.0) for ngram, p in TRIGRAMS.items()}

ARPA = "\n".join(
    [
        "\\data\\",
        *(f"ngram {n + 1}={len(t)}" for n, t in enumerate((UNIGRAMS, BIGRAMS, TRIGRAMS))),
        *("", "\\1-grams:", *(f"{p}\t{w}\t{b}" for w, (p, b) in UNIGRAMS.items())),
        *("", "\\2-grams:", *(f"{p}\t{w}\t{b}" for w, (p, b) in BIGRAMS.items())),
        *("", "\\3-grams:", *(f"{p}\t{w}" for w, p in TRIGRAMS.items())),
        *("", "\\end\\", ""),
    ]
)


def log_probability(tokens: list[str], unknown: float = 0.0) -> float:
    """Return the natural logarithm of the tokens' probability after <s>; `unknown` is added for each unknown one."""
    history, total = ["<s>"], 0.0
    for token in tokens:
        known = token if token in UNIGRAMS else "<unk>"
        total += _log10(history[-2:], known) * math.log(10) + (unknown if known == "<unk>" else 0.0)
        history.append(known)
    return total


def _log10(history: list[str], token: str) -> float:
    ngram = " ".join([*history, token])
    if ngram in MODEL:
        return MODEL[ngram][0]
    return MODEL.get(" ".join(history), (0.0, 0.0))[1] + _log10(history[1:], token)
