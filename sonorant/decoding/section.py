"""Recipe: decoding."""

from typing import Literal

from pydantic import Field

from sonorant.section import Section

__all__ = ["DecodingRecipe", "EndpointingRecipe", "LanguageModelRecipe", "PriorRecipe"]


class LanguageModelRecipe(Section):
    """Shallow fusion: log P(c|x) + alpha log P_lm(c) + beta word_count(c), natural logarithms.

    A neural model's units are those of the acoustic model; it is added label by label, in every search.
    """

    path: str = Field(
        min_length=1,
        description="An n-gram model in ARPA or kenlm's binary format, or the folder `<model>/<version>` of an "
        "exported neural one; a relative path is below the working directory. An export has a copy.",
    )
    alpha: float = Field(0.5, ge=0, le=10, description="Weight of the language model.")
    beta: float = Field(1.0, ge=-10, le=10, description="Score of each word, against the language model's short ones.")
    tokens: Literal["words", "units"] = Field(
        "words",
        description="Tokens of an n-gram model: words, scored at word boundaries, or units, scored one by one; the "
        "space of characters is the token U+2581.",
    )
    unknown: float = Field(
        0.0, ge=-100, le=0, description="Added to log P_lm of each token outside an n-gram model's vocabulary."
    )


class PriorRecipe(Section):
    """Context-free prior of the labels: weight log P(y) is subtracted (Kim 2019, Eq. 3, and Table 3's weights)."""

    path: str = Field(
        min_length=1,
        description="N-gram model of the units, such as `sonorant lm --order 1` of the training's transcripts spelt in "
        "units; its unigrams are the prior. An export has a copy.",
    )
    weight: float = Field(0.005, ge=0, le=10, description="Weight of the prior, lambda_p.")


class EndpointingRecipe(Section):
    """Voice activity gates model and search, and divides a stream into utterances, each with a final result."""

    silence_ms: float = Field(
        800.0,
        ge=100,
        le=10_000,
        description="An utterance ends after so long without speech, in milliseconds; shorter, and pauses within "
        "sentences end it.",
    )
    pre_roll_ms: float = Field(
        200.0,
        ge=0,
        le=2000,
        description="Audio before the first speech of an utterance, in milliseconds: as much as in the training.",
    )


class DecodingRecipe(Section):
    """Beam search: by frame (CTC) or by label, as the model's family has it."""

    beam: int = Field(8, ge=1, le=1024, description="Hypotheses kept at each frame or label.")
    unit_candidates: int = Field(
        12, ge=1, le=65_536, description="Units per frame that may extend a hypothesis, most probable first."
    )
    length_bonus: float = Field(
        0.0, ge=-100, le=100, description="What each label adds to a hypothesis' score (search by label)."
    )
    end_threshold: float | None = Field(
        1.5,
        ge=1,
        le=1000,
        description="A hypothesis may end only where the model's log-probability of the end is above this many times "
        "that of its most probable other label, unless none ends so (search by label); null: anywhere.",
    )
    coverage_weight: float = Field(
        0.0,
        ge=0,
        le=100,
        description="What each frame that the labels attend to adds to a hypothesis' score (search by label).",
    )
    ctc_weight: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Weight w of joint CTC in the search by label (model.ctc): (1 - w) log P(y|x) by the decoder + w "
        "log P(y|x) by CTC, of prefixes; where the decoder streams (mocha), by the frames so far.",
    )
    jitter_ms: float = Field(
        0.0,
        ge=0,
        le=50,
        description="Probabilities are the mean over the audio as it is and translated by this time either way, in "
        "milliseconds; 0: as it is. Three times the work.",
    )
    stability_ms: float = Field(
        0.0, ge=0, description="An interim result is sent once it has stood this long, in milliseconds."
    )
    endpointing: EndpointingRecipe | None = Field(
        EndpointingRecipe(),
        description="Utterances of a stream; null: the whole stream is one, and all of it is searched.",
    )
    lm: LanguageModelRecipe | None = Field(None, description="Language model; absent: none.")
    prior: PriorRecipe | None = Field(
        None, description="Context-free prior of the labels (search by label); absent: none."
    )
    phrases: tuple[str, ...] = Field((), description="Contextual biasing: phrases whose score is boosted.")
    phrase_boost: float = Field(
        2.0, gt=0, le=50, description="Score of each word of a phrase, where the whole phrase occurs."
    )
