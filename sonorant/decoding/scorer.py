"""Scores beside the model's: a language model, and phrases to boost.

All searches of a model share a `Scorer`, which is immutable.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.kernels import LabelScorer
from sonorant.decoding.kernels import Scorer as Kernel
from sonorant.decoding.label_decoder import Fusion
from sonorant.decoding.neural_fusion import FusedLabels, NeuralFusion, NeuralModel
from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import BadRecipe, BadRun, SonorantError
from sonorant.file_names import shown
from sonorant.lm.model import NgramModel
from sonorant.text import hangul
from sonorant.text.normalisation import normalise
from sonorant.text.pieces import WORD_START
from sonorant.text.section import SUBWORDS, TextRecipe
from sonorant.text.units import Units

__all__ = ["NgramFusion", "Prior", "Scorer", "WrongVocabulary", "load_scorer"]

_SHOWN = 5  # tokens that an error names
_SHARED = 0.5  # less of the tokens in common is another vocabulary
_OF_UNITS = "one of units and sentence ends, of `sonorant lm --order 1` from transcripts spelt in units"
_REMEDY = (
    "train the language model on transcripts that are normalised like the corpus (jamo: decomposed likewise), and give "
    "decoding.lm.tokens: words or units"
)
# Of a phrase: search by frame limits what a step may gain, or take back, to 300.
_MOST_BOOST = 200.0
_NOTHING = -99.0  # log10 that stands for probability 0, or for that of an `<unk>` that a model has not


class WrongVocabulary(SonorantError):
    """A language model or phrase that the units of the acoustic model do not spell."""

    exit_code = 65


@dataclass(frozen=True)
class NgramFusion:
    """Shallow fusion with an n-gram model (Hannun et al. 2014, "Deep Speech", section 2.2).

    alpha: weight of its log-probability. beta: score of each word. unknown: added to the log-probability of a token
    outside its vocabulary. tokens: what its tokens are; with words as units both are the same. Raises BadRecipe for
    weights out of range.
    """

    model: NgramModel
    alpha: float
    beta: float
    unknown: float = 0.0
    tokens: Literal["words", "units"] = "words"

    def __post_init__(self) -> None:
        if not (0 <= self.alpha < math.inf and math.isfinite(self.beta) and -math.inf < self.unknown <= 0):
            raise BadRecipe(
                f"alpha={self.alpha}, beta={self.beta}, unknown={self.unknown}: must be finite, alpha >= 0, "
                "unknown <= 0"
            )


@dataclass(frozen=True)
class Prior:
    """Context-free prior of labels: the unigrams of an n-gram model of units; `weight` log P(y) is subtracted."""

    model: NgramModel
    weight: float


class Scorer:
    """Scores of units: those of a language model, if there is one, and boosts of phrases.

    fusion: the n-gram language model and its weights, neural: the neural one; None: none. kernel: the compiled form,
    but for the neural model itself. by_label: the same for the search by label, of both, less the prior.
    """

    def __init__(
        self,
        units: Units,
        fusion: NgramFusion | None = None,
        prior: Prior | None = None,
        neural: NeuralFusion | None = None,
    ) -> None:
        """Raise WrongVocabulary if less than half the vocabularies of units and language model or prior agree.

        That of a neural language model must have the same units, and a prior a probability for each label.
        """
        if neural is not None:
            _check_units(units, neural.units)
        self._units = units
        self.fusion = fusion
        self.neural = neural
        self._prior = prior
        spelling = [(_spelling(units, unit), units.starts_word(unit)) for unit in range(units.size)]
        if neural is not None:
            self.kernel = Kernel(spelling, neural.alpha, neural.beta)
        elif fusion is None:
            self.kernel = Kernel(spelling, None, 0.0, 0.0, 0.0, [])
        else:
            tokens = _tokens(units, fusion)
            self.kernel = Kernel(spelling, fusion.model, fusion.alpha, fusion.beta, fusion.unknown, tokens)
        self.by_label = self._fusion_by_label(is_scored=fusion is not None or neural is not None)
        self._phrases: dict[str, float] = {}

    def with_phrases(self, phrases: Mapping[str, float]) -> "Scorer":
        """Return a scorer that adds each phrase's boost, a natural logarithm, for each occurrence as whole words.

        More than 200 count as 200, which no audio outweighs. It has no other phrases, and shares the language model.
        Raises WrongVocabulary if the units do not spell a phrase, BadRecipe if a boost is not above 0 and finite.
        """
        boosts = []
        known = _known_parts(self._units)
        for phrase, boost in phrases.items():
            if not 0 < boost < math.inf:
                raise BadRecipe(f"phrase {phrase!r}: boost {boost}: must be > 0 and finite; 2 for each word is usual")
            words = " ".join((hangul.decompose(phrase) if self._units.jamo else phrase).split())
            _check_phrase(words, phrase, self._units, known)
            boosts.append((words, min(boost, _MOST_BOOST)))
        scorer = Scorer.__new__(Scorer)
        scorer._units, scorer.fusion, scorer._prior = self._units, self.fusion, self._prior
        scorer.neural = self.neural
        scorer.kernel = Kernel(self.kernel, boosts)
        is_scored = bool(boosts) or self.fusion is not None or self.neural is not None
        scorer.by_label = scorer._fusion_by_label(is_scored=is_scored)
        scorer._phrases = dict(phrases)
        return scorer

    @cached_property
    def without_language_model(self) -> "Scorer":
        """The scorer of the phrases alone: the prior, which a language model takes the place of, goes with it."""
        scorer = Scorer(self._units)
        return scorer.with_phrases(self._phrases) if self._phrases else scorer

    def with_weights(self, decoding: DecodingRecipe) -> "Scorer":
        """Return a scorer of the same models and phrases, with the weights of a section that names these too."""
        lm, prior = decoding.lm, decoding.prior
        scorer = Scorer(
            self._units,
            replace(self.fusion, alpha=lm.alpha, beta=lm.beta) if self.fusion and lm else None,
            replace(self._prior, weight=prior.weight) if self._prior and prior else None,
            replace(self.neural, alpha=lm.alpha, beta=lm.beta) if self.neural and lm else None,
        )
        boosts = {words: decoding.phrase_boost * len(words.split()) for words in self._phrases}
        return scorer.with_phrases(boosts) if boosts else scorer

    def _fusion_by_label(self, *, is_scored: bool) -> Fusion:
        fusion = Fusion()
        if is_scored:
            kernel = LabelScorer(self.kernel)
            model = kernel if self.neural is None else FusedLabels(self.neural, kernel)
            fusion = Fusion(model=model, weight=1.0, most_gain=kernel.most_gain, most_ahead=kernel.most_ahead)
        if self._prior is None:
            return fusion
        return fusion._replace(prior=_log_prior(self._prior.model, self._units), prior_weight=self._prior.weight)


def load_scorer(
    units: Units,
    decoding: DecodingRecipe,
    text: TextRecipe,
    folder: Path,
    load_neural: Callable[[Path], NeuralModel],
) -> Scorer:
    """Return the scorer of a recipe, whose language model lies below `folder`.

    load_neural: loads one that is the folder of an export, which takes TensorFlow; its errors pass. Raises BadRecipe
    for a language model that is missing, BadLanguageModel for one that is damaged, WrongVocabulary for one of another
    vocabulary, or a phrase that the units do not spell.
    """
    lm, fusion, prior, neural = decoding.lm, None, None, None
    if lm is not None and (folder / lm.path).is_dir():
        if lm.unknown:
            raise BadRecipe(f"decoding.lm.unknown={lm.unknown}: {lm.path} knows all units; leave it out")
        model = load_neural(folder / lm.path)
        neural = NeuralFusion(model, model.units, lm.alpha, lm.beta)
    elif lm is not None:
        fusion = NgramFusion(_read(folder / lm.path, "lm"), lm.alpha, lm.beta, lm.unknown, lm.tokens)
    if decoding.prior is not None:
        prior = Prior(_read(folder / decoding.prior.path, "prior"), decoding.prior.weight)
    try:
        scorer = Scorer(units, fusion, prior, neural)
    except WrongVocabulary as error:
        named = {"decoding.lm": lm, "decoding.prior": decoding.prior}
        files = [f"{key}={shown(folder / section.path)}" for key, section in named.items() if section is not None]
        raise WrongVocabulary(f"{', '.join(files)}: {error}") from error
    boosts = {}
    for phrase in decoding.phrases:
        words = normalise(phrase, text)
        boosts[words] = decoding.phrase_boost * len(words.split())
        if not words:
            raise BadRecipe(f"decoding.phrases: {phrase!r} has no word left after normalisation; leave it out")
    return scorer.with_phrases(boosts) if boosts else scorer


def _read(path: Path, key: str) -> NgramModel:
    if not path.is_file():
        exported = ", and `sonorant export` of a language model's run a folder of its version" if key == "lm" else ""
        raise BadRecipe(f"decoding.{key}.path={path}: no such file; `sonorant lm` makes one from text{exported}")
    return NgramModel.read(path)


def _check_units(units: Units, others: Units) -> None:
    try:
        units.check_same(others, "the model", "the language model")
    except BadRun as error:
        raise WrongVocabulary(str(error)) from error


def _spelling(units: Units, unit: int) -> str:
    """Return what a unit writes, without the space before it; jamo stay apart, so that they join across units."""
    symbol = units.symbols[unit]
    return (symbol.replace(WORD_START, " ") if units.kind in SUBWORDS else symbol).lstrip()


def _known_parts(units: Units) -> set[str]:
    """Return what a phrase may consist of: words, or characters."""
    return set(units.symbols if units.kind == "words" else "".join(units.symbols))


def _check_phrase(words: str, phrase: str, units: Units, known: set[str]) -> None:
    if not words:
        raise WrongVocabulary(f"phrase {phrase!r}: is empty; leave it out")
    parts = words.split() if units.kind == "words" else words.replace(" ", "")
    for part in parts:
        if part not in known:
            raise WrongVocabulary(f"phrase {phrase!r}: {part!r} is not among the {units}; correct it, or leave it out")


def _tokens(units: Units, fusion: NgramFusion) -> list[int]:
    """Return the language model's token for each unit; none if its words consist of several units."""
    if units.kind == "words" or fusion.tokens == "units":
        return [fusion.model.index(token) for token in _known(units, fusion.model, "language model", _REMEDY)]
    letters = set("".join(units.symbols))
    words = [word for word in map(fusion.model.word, range(fusion.model.size)) if not word.startswith("<")]
    marked = [word for word in words if WORD_START in word]
    if marked and set(words) <= {_token(symbol) for symbol in units.symbols}:
        raise WrongVocabulary(
            f"all {len(words)} words of the language model are {units.kind} of the model, such as {marked[0]!r}: it is "
            "one of units; give decoding.lm.tokens: units"
        )
    foreign = [word for word in words if not letters.issuperset(word)]
    _agree(
        foreign, len(words), "words of the language model", f"cannot be spelled by the model's {units.kind}", _REMEDY
    )
    return []


def _known(units: Units, model: NgramModel, name: str, remedy: str) -> list[str]:
    """Return the token of each unit; raises WrongVocabulary if the model lacks most of them."""
    tokens = [_token(symbol) for symbol in units.symbols]
    foreign = [token for token in tokens if not model.index(token)]
    _agree(foreign, units.size, f"{units.kind} of the model", f"are not in the {name}", remedy)
    return tokens


def _token(symbol: str) -> str:
    """Return a unit's name in a language model, whose tokens white space parts."""
    return symbol.replace(" ", WORD_START)


def _log_prior(model: NgramModel, units: Units) -> NDArray[np.float64]:
    """Return log P(y), natural, Float64[units + 1], of units and end.

    Raises WrongVocabulary for a label without probability, which would gain more by the subtraction than any other.
    """
    labels = [*_known(units, model, "prior", f"expected {_OF_UNITS}"), "</s>"]
    prior: NDArray[np.float64] = model.unigrams(labels).astype(np.float64)
    if without := [labels[i] for i in np.flatnonzero(prior <= _NOTHING)]:
        raise WrongVocabulary(
            f"{len(without)} of {len(labels)} labels have no probability in the prior, such as "
            f"{', '.join(map(repr, without[:_SHOWN]))}, and neither has <unk>: expected {_OF_UNITS}"
        )
    return prior * math.log(10)


def _agree(foreign: list[str], total: int, what: str, fault: str, remedy: str) -> None:
    if total - len(foreign) < _SHARED * total:
        shown = ", ".join(map(repr, foreign[:_SHOWN]))
        raise WrongVocabulary(
            f"{len(foreign)} of {total} {what} {fault}, such as {shown}: one was made for another vocabulary; {remedy}"
        )
