"""The recipe: the whole configuration of a run, in one tree."""

from itertools import pairwise
from typing import Literal, Self

from pydantic import Field, model_validator

from sonorant.augment.table import StageRecipe
from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import BadRecipe
from sonorant.features.section import FeaturesRecipe
from sonorant.models.section import LstmCtcRecipe, ModelRecipe
from sonorant.recipe.corpus import CorpusRecipe
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.recipe.serving import ServingRecipe
from sonorant.recipe.training import EvaluationRecipe, TrainingRecipe
from sonorant.section import Section
from sonorant.text.section import TextRecipe
from sonorant.tracking.section import TrackingRecipe

__all__ = ["VERSION", "Recipe"]

VERSION = 1

# Options of training that are for recordings alone.
_OF_SPEECH = (
    "aligner",
    "alignment_weight",
    "label_smoothing",
    "sampling",
    "ctc_weight",
    "quantity_weight",
    "mwer_hypotheses",
    "pretrain_layers",
)

# Options of a search, which text has none of.
_OF_SEARCH = ("lm", "prior", "phrases", "length_bonus", "coverage_weight")


class Recipe(Section):
    """One run, from recordings to recognizer."""

    version: Literal[1] = Field(description="Version of this schema.")
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Name of the run and of the exported model.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of all random numbers.")
    corpus: CorpusRecipe = Field(description="Recordings and transcripts.")
    text: TextRecipe = Field(TextRecipe(), description="Transcripts and units.")
    stages: tuple[StageRecipe, ...] = Field(
        (),
        description="Augmentation, in the order in which an utterance passes it; stages on features come last, after "
        "the featurizer.",
    )
    features: FeaturesRecipe = Field(FeaturesRecipe(), description="Features.")
    pipeline: PipelineRecipe = Field(PipelineRecipe(), description="How the stages are run and linked.")
    model: ModelRecipe = Field(LstmCtcRecipe(), description="The model.")
    training: TrainingRecipe = Field(TrainingRecipe(), description="Optimisation.")
    evaluation: EvaluationRecipe = Field(EvaluationRecipe(), description="What the finished model is measured on.")
    decoding: DecodingRecipe = Field(DecodingRecipe(), description="Beam search.")
    serving: ServingRecipe = Field(ServingRecipe(), description="The recognizer.")
    tracking: TrackingRecipe = Field(TrackingRecipe(), description="The experiment tracker.")

    @property
    def of_text(self) -> bool:
        """Whether a language model is trained, on text without recordings."""
        return self.model.of_text

    @property
    def vector_bins(self) -> int:
        """Values in a feature vector; those of text have none."""
        return 0 if self.of_text else self.features.stack * self.features.frame_bins(self.corpus.sample_rate_hz)

    def require_speech(self, purpose: str) -> None:
        """Raise BadRecipe if a language model is trained: without recordings there is nothing to `purpose`."""
        if self.of_text:
            raise BadRecipe(
                f"model.family={self.model.family}: a language model is trained on text, so there is nothing to "
                f"{purpose}; its perplexity on dev is in the run's metrics.jsonl"
            )

    @model_validator(mode="after")
    def _text_or_speech(self) -> Self:
        reader, family = self.corpus.reader, self.model.family
        if (reader == "text") != self.of_text:
            raise ValueError(
                f"corpus.reader={reader} with model.family={family}: language models, such as lstm_lm, are trained on "
                "reader text, and all other families on recordings"
            )
        if not self.of_text:
            return self
        unused = {
            **{f"training.{name}": getattr(self.training, name) for name in _OF_SPEECH},
            **{f"decoding.{name}": getattr(self.decoding, name) for name in _OF_SEARCH},
            "corpus.strings": self.corpus.strings,
            "stages": [stage.stage for stage in self.stages],
        }
        for name, value in unused.items():
            if value:
                raise ValueError(f"{name}={value}: text has no use for it, found model.family={family}; leave it out")
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        nyquist_hz = self.corpus.sample_rate_hz / 2
        high_hz = self.features.high_hz if self.features.high_hz is not None else nyquist_hz
        if not self.features.low_hz < high_hz <= nyquist_hz:
            raise ValueError(
                f"features.low_hz={self.features.low_hz} and features.high_hz={high_hz}: need "
                f"low_hz < high_hz <= {nyquist_hz}, half of corpus.sample_rate_hz"
            )
        self.model.check(self.features, self.features.frame_bins(self.corpus.sample_rate_hz))
        if (self.training.objective == "frame_cross_entropy") != bool(self.training.aligner):
            raise ValueError(
                f"training.objective={self.training.objective} with training.aligner={self.training.aligner!r}: "
                "frame_cross_entropy needs the folder of an exported CTC model, and ctc none"
            )
        if self.training.alignment_weight and self.training.objective != "ctc":
            raise ValueError(
                f"training.alignment_weight={self.training.alignment_weight} with training.objective="
                f"{self.training.objective}: guides CTC alone; set it to 0"
            )
        if self.training.anneal_dropout and not self.model.anneals_dropout:
            raise ValueError(
                f"training.anneal_dropout={list(self.training.anneal_dropout)}: the dropout of model.family="
                f"{self.model.family} is fixed; remove it, or take a family whose dropout can change, such as "
                "conv_lstm_ctc"
            )
        if self.pipeline.order == "strict" and self.training.ranks > 1 and self.training.batch_vectors:
            raise ValueError(
                f"training.batch_vectors={self.training.batch_vectors} with pipeline.order: strict and training.ranks: "
                f"{self.training.ranks}: must be 0, because each rank trains on its own part of the order, and with "
                "batches of unlike numbers of examples one would run out of them early"
            )
        return self

    @model_validator(mode="after")
    def _trainable(self) -> Self:
        training, family = self.training, self.model.family
        by_label = {name: getattr(training, name) for name in ("label_smoothing", "sampling", "ctc_weight")}
        for name, value in by_label.items():
            if value and not self.model.label_synchronous:
                raise ValueError(
                    f"training.{name}={value}: is for models with a label-synchronous decoder, such as bfa or mocha; "
                    f"model.family={family} predicts frame by frame; set it to 0, or take one of them"
                )
        if training.quantity_weight and not self.model.monotonic:
            raise ValueError(
                f"training.quantity_weight={training.quantity_weight}: model.family={family} has no attention that may "
                "go past the last frame; set it to 0, or take mocha"
            )
        if training.head_weight and not (self.model.monotonic and training.ctc_weight):
            raise ValueError(
                f"training.head_weight={training.head_weight}: aligns heads of monotonic attention with joint CTC; "
                f"found model.family={family}, training.ctc_weight={training.ctc_weight}; set it to 0, or take mocha "
                "and a ctc_weight above 0, such as 0.3"
            )
        for name in ("head_delay_frames", "head_after_steps"):
            if (value := getattr(training, name)) and not training.head_weight:
                raise ValueError(
                    f"training.{name}={value} with training.head_weight=0: nothing aligns heads; set it to 0, or "
                    "head_weight above 0, such as 0.5"
                )
        if self.model.label_synchronous and (training.objective != "ctc" or self.decoding.jitter_ms):
            raise ValueError(
                f"training.objective={training.objective}, decoding.jitter_ms={self.decoding.jitter_ms}: model.family="
                f"{family} has outputs by label; leave both at their defaults, ctc and 0"
            )
        if training.alignment_weight and self.model.label_synchronous and not training.ctc_weight:
            raise ValueError(
                f"training.alignment_weight={training.alignment_weight}: model.family={family} has outputs by frame "
                "with training.ctc_weight only; set that too, or set it to 0"
            )
        if self.model.label_synchronous and self.model.joint_ctc != bool(training.ctc_weight):
            raise ValueError(
                f"model.ctc={str(self.model.joint_ctc).lower()} with training.ctc_weight={training.ctc_weight}: the "
                "projection is trained by that weight alone; set both, or neither"
            )
        return self

    @model_validator(mode="after")
    def _searchable(self) -> Self:
        family = self.model.family
        if self.model.monotonic and self.decoding.coverage_weight:
            raise ValueError(
                f"decoding.coverage_weight={self.decoding.coverage_weight}: model.family={family} is searched while "
                "frames arrive, and never attends twice; set it to 0"
            )
        if self.decoding.ctc_weight and not self.model.joint_ctc:
            raise ValueError(
                f"decoding.ctc_weight={self.decoding.ctc_weight}: model.family={family} with model.ctc="
                f"{str(self.model.joint_ctc).lower()} has no CTC beside a search by label; set it to 0, or take "
                "bfa or mocha with model.ctc: true"
            )
        if self.decoding.prior is not None and not self.model.label_synchronous:
            raise ValueError(
                f"decoding.prior: model.family={family} has outputs by frame, from which no prior of labels is "
                "subtracted; leave it out, or take a label-synchronous family, such as bfa"
            )
        usual = DecodingRecipe()
        for name in ("length_bonus", "coverage_weight", "end_threshold"):
            value, unset = getattr(self.decoding, name), getattr(usual, name)
            if value != unset and not self.model.label_synchronous:
                raise ValueError(
                    f"decoding.{name}={value}: model.family={family} is searched frame by frame, without a score of "
                    f"labels; set it to {unset:g}, or take a label-synchronous family, such as bfa"
                )
        return self

    @model_validator(mode="after")
    def _of_word_errors(self) -> Self:
        if self.training.mwer_hypotheses == 1 or (self.training.mwer_hypotheses and self.training.objective != "ctc"):
            raise ValueError(
                f"training.mwer_hypotheses={self.training.mwer_hypotheses} with training.objective="
                f"{self.training.objective}: expected 0, or at least 2 hypotheses to choose from, and the objective "
                "ctc, whose model has transcripts of its own"
            )
        if self.training.mwer_hypotheses and self.training.pretrain_layers:
            raise ValueError(
                f"training.mwer_hypotheses={self.training.mwer_hypotheses} with training.pretrain_layers="
                f"{list(self.training.pretrain_layers)}: mWER starts from a trained encoder with all its layers; "
                "remove one of the two"
            )
        return self

    @model_validator(mode="after")
    def _unrolled(self) -> Self:
        training, model = self.training, self.model
        if not training.unroll_vectors:
            return self
        found = f"training.unroll_vectors={training.unroll_vectors}: truncated unrolling "
        if not model.carries_state:
            raise ValueError(
                f"{found}needs a family whose state is carried from chunk to chunk, lstm_ctc or delayed_lstm; found "
                f"model.family={model.family}; set it to 0, or take one of them"
            )
        if training.mwer_hypotheses:
            raise ValueError(
                f"{found}needs the loss of one transcript, and training.mwer_hypotheses={training.mwer_hypotheses} "
                "compares several; set one of them to 0"
            )
        if training.unroll_rows > training.batch_examples:
            raise ValueError(
                f"training.unroll_rows={training.unroll_rows} with training.batch_examples={training.batch_examples}: "
                "each row needs an utterance, and several keep padding low; lower the first or raise the second"
            )
        if training.accumulate_batches > 1:
            raise ValueError(
                f"{found}makes several steps of a batch, and training.accumulate_batches="
                f"{training.accumulate_batches} a step of several batches; set one of them to its default"
            )
        convolution = getattr(model, "convolution_2d", None)
        if model.framing.tail and convolution is not None and convolution.batch_normalisation:
            raise ValueError(
                f"{found}would normalise the padding behind utterances of model.family={model.family}; set "
                "model.convolution_2d.batch_normalisation to false, or unroll_vectors to 0"
            )
        if (over := getattr(model, "dropout_over", "frame")) != "frame":
            raise ValueError(
                f"{found}draws dropout chunk by chunk; found model.dropout_over={over}, whose mask lasts for an "
                "utterance; set it to frame"
            )
        return self

    @model_validator(mode="after")
    def _growing(self) -> Self:
        stages, fewest = self.training.pretrain_layers, self.model.fewest_layers
        if not stages:
            return self
        if fewest is None:
            raise ValueError(
                f"training.pretrain_layers={list(stages)}: this model of model.family={self.model.family} cannot grow; "
                "remove it, or take one that can, such as bfa, or mocha without look_ahead"
            )
        numbers = [*stages, self.model.encoder_layers]
        if numbers[0] < fewest or any(after <= before for before, after in pairwise(numbers)):
            raise ValueError(
                f"training.pretrain_layers={list(stages)} with model.layers={self.model.encoder_layers}: must rise "
                f"from at least {fewest}, which this model needs, and stay below model.layers"
            )
        return self

    @model_validator(mode="after")
    def _chained(self) -> Self:
        names = [stage.stage for stage in self.stages]
        if len(set(names)) < len(names):
            raise ValueError(f"stages {names}: each stage may stand once")
        frame_bins = self.features.frame_bins(self.corpus.sample_rate_hz)
        for i, stage in enumerate(self.stages):
            before = self.stages[i - 1] if i else stage
            if before.works_on == "features" and stage.works_on == "waveform":
                raise ValueError(
                    f"stages[{i - 1}].stage={before.stage} works on features and stages[{i}].stage={stage.stage} on "
                    f"waveforms: put {before.stage} after all stages on waveforms"
                )
            stage.check(self.stages[:i], frame_bins)
        behind = () if self.of_text else (*names, "featurizer")
        chain = {"example_server"} if self.pipeline.layout == "fused" else {"shard_reader", *behind}
        if unknown := set(self.pipeline.replicas) - chain:
            raise ValueError(f"pipeline.replicas names {sorted(unknown)}, but this recipe's stages are {sorted(chain)}")
        return self
