"""Recipe: training, and how the model is evaluated."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sonorant.augment.room import RoomRecipe
from sonorant.section import Fraction, Section

__all__ = ["EvaluationRecipe", "TestSetRecipe", "TrainingRecipe"]


class TrainingRecipe(Section):
    """Optimisation. Steps count optimizer updates of the whole gang, times are in seconds."""

    ranks: int = Field(1, ge=1, le=4096, description="Horovod ranks; each has a process.")
    batch_examples: int = Field(32, ge=1, description="Most examples in one rank's batch.")
    batch_vectors: int = Field(
        0, ge=0, description="Most feature vectors in one rank's batch, padding counted; 0: only examples count."
    )
    pool_examples: int = Field(
        256, ge=1, description="Examples a rank holds to sort by length before it forms batches."
    )
    init_from: str = Field(
        "",
        description="Folder of a run (best checkpoint), a checkpoint or an exported model, whose weights of the same "
        "name and shape, and units where they have a part for each, a new run starts with; `sonorant train` and the "
        "report list the others.",
    )
    accumulate_batches: int = Field(
        1, ge=1, description="Batches of each rank whose gradients are summed up for one step (gradient accumulation)."
    )
    unroll_vectors: int = Field(
        0,
        ge=0,
        le=1_000_000,
        description="Truncated unrolling: vectors of a chunk, within which gradients run; each chunk makes a step, and "
        "the state is carried to the next one (lstm_ctc and delayed_lstm). With CTC a forward pass over whole "
        "utterances precedes a batch's chunks, for the posteriors that they are trained towards. 0: full unrolling, of "
        "whole utterances with others of like length (bucketing).",
    )
    unroll_rows: int = Field(
        32,
        ge=1,
        description="Rows of a chunk (truncated unrolling only). A batch's utterances fill them one after another, so "
        "batch_examples should be several times as many; with CTC about as many, drawn by pool_examples to be of like "
        "length: its posteriors are of the weights before the batch, and age with every chunk.",
    )
    epochs: int = Field(10, ge=1, lt=2**31, description="Most passes over the corpus.")
    max_minutes: float = Field(0.0, ge=0, description="Stop training after this time, in minutes; 0: no limit.")
    optimizer: Literal["adam", "nesterov"] = Field(
        "adam", description="Adam, or stochastic gradient descent with Nesterov's accelerated gradient."
    )
    momentum: float = Field(0.99, ge=0, lt=1, description="Share of its last step that nesterov goes on.")
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32",
        description="Operands of the products of LSTM, dense and convolutional layers in training; weights, losses and "
        "exports are float32 (mixed precision). float16 scales the loss.",
    )
    schedule: Literal["cosine", "newbob"] = Field(
        "cosine", description="Learning rate after the warm-up: a cosine, or newbob, which decays when dev stagnates."
    )
    newbob_decay: float = Field(0.5, gt=0, lt=1, description="Factor of the learning rate at a decay (newbob only).")
    newbob_threshold: float = Field(
        0.01,
        ge=0,
        lt=1,
        description="Relative improvement of the figure on dev between two evaluations below which newbob decays.",
    )
    learning_rate: float = Field(1e-3, gt=0, description="Highest learning rate.")
    warmup_steps: int = Field(200, ge=0, description="Steps in which the learning rate rises to its highest.")
    decay_steps: int = Field(
        2000, ge=1, description="Steps after the warm-up in which it falls, by a cosine, to its lowest."
    )
    final_learning_rate: float = Field(
        1e-5, ge=0, description="Lowest learning rate; at most learning_rate, to which the default is lowered."
    )
    clip_norm: float = Field(5.0, gt=0, description="Largest global norm of the gradient.")
    max_bad_steps: int = Field(5, ge=1, description="Non-finite steps in a row that stop the run.")
    max_rejected: Fraction = Field(
        0.5, description="Share of an epoch's examples; if more of them are rejected, training ends and says why."
    )
    weight_average: Fraction = Field(
        0.0, description="Decay of the weights' moving average that is evaluated and exported; 0: none."
    )
    objective: Literal["ctc", "frame_cross_entropy"] = Field(
        "ctc", description="Loss of frames: CTC, or cross-entropy with the symbols of the aligner's paths."
    )
    aligner: str = Field(
        "",
        description="Folder `<model>/<version>` of an exported CTC model with the same features and units, whose most "
        "probable path is each utterance's alignment (frame_cross_entropy only).",
    )
    alignment_weight: float = Field(
        0.0,
        ge=0,
        description="Weight, at the first step, of a frame-wise loss towards the ends of units, in equal parts of the "
        "known times of words; 0: none.",
    )
    alignment_steps: int = Field(200, ge=1, description="Steps in which that weight falls to 0.")
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Probability spread evenly over all symbols in targets (label-synchronous families).",
    )
    sampling: Fraction = Field(
        0.0,
        description="Scheduled sampling: share of preceding labels drawn from the model (label-synchronous families).",
    )
    sampling_steps: int = Field(1000, ge=1, description="Steps in which that share rises from 0.")
    ctc_weight: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Weight w of joint CTC: (1 - w) cross-entropy + w CTC (label-synchronous families).",
    )
    quantity_weight: float = Field(
        0.0,
        ge=0,
        description="Weight of the quantity loss: difference between the number of labels, the end among them unless "
        "heads are aligned (head_weight), and the sum of their attention weights (mocha).",
    )
    head_weight: float = Field(
        0.0,
        ge=0,
        description="Weight of the alignment of heads: minus the log-probability that each label's head stops where "
        "the label is on the most probable path of joint CTC (mocha, with ctc_weight).",
    )
    head_delay_frames: int = Field(
        0,
        ge=0,
        le=64,
        description="How many encoded frames behind their labels heads are to stop (with head_weight), so that each "
        "label is told after what comes next was heard, and as much later; model.chunk should reach back to it.",
    )
    head_after_steps: int = Field(
        0,
        ge=0,
        description="Steps before heads are aligned (with head_weight), in which joint CTC finds where labels are. "
        "Long texts of many units need them: heads that follow a CTC which knows nothing keep it from learning.",
    )
    mwer_hypotheses: int = Field(
        0,
        ge=0,
        le=64,
        description="Size of the N-best lists whose expected word errors are minimised (mWER), from weights that are "
        "trained already; 0: none.",
    )
    mwer_base_weight: float = Field(
        0.01, ge=0, description="Weight of the loss without mwer_hypotheses, beside the expected word errors."
    )
    clean_epochs: int = Field(
        0,
        ge=0,
        description="Epochs at first in which stages change nothing, so that the model learns what is said before it "
        "hears it in all guises.",
    )
    dev_every_epochs: int = Field(1, ge=1, description="Epochs between two evaluations on dev.")
    patience: int = Field(
        5,
        ge=1,
        description="Evaluations on dev without a lower WER or perplexity that end training, once all layers train.",
    )
    pretrain_layers: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        (),
        description="Layer-wise pretraining: layers of the encoder in its first stages, the top one among them; then "
        "all. Dev is compared within a stage.",
    )
    pretrain_epochs: int = Field(1, ge=1, description="Epochs of each of those stages.")
    anneal_dropout: tuple[Annotated[float, Field(ge=0, lt=1)], ...] = Field(
        (),
        description="Dropout rates after the model's own, each from the best checkpoint on, when dev is no better in "
        "anneal_patience evaluations.",
    )
    anneal_patience: int = Field(2, ge=1, description="Evaluations on dev without a lower WER that anneal dropout.")
    checkpoint_every_steps: int = Field(100, ge=1, description="Steps between two checkpoints.")
    keep_checkpoints: int = Field(3, ge=1, description="Newest checkpoints to keep, beside the best.")
    keep_best_checkpoints: int = Field(
        1,
        ge=1,
        description="Checkpoints with the lowest WER or perplexity on dev to keep, as for `sonorant export --average`.",
    )

    @model_validator(mode="after")
    def _falling(self) -> Self:
        unset = type(self).model_fields["final_learning_rate"].default  # nobody chose it, not even in a dumped recipe
        if self.final_learning_rate > self.learning_rate and self.final_learning_rate != unset:
            raise ValueError(
                f"final_learning_rate={self.final_learning_rate:g} is above learning_rate={self.learning_rate:g}; "
                "lower the first, or raise the second"
            )
        return self

    @model_validator(mode="after")
    def _annealing(self) -> Self:
        if self.anneal_dropout and self.anneal_patience > self.patience:
            raise ValueError(
                f"anneal_dropout={list(self.anneal_dropout)} with anneal_patience={self.anneal_patience} above "
                f"patience={self.patience}: training ends before dropout is annealed; lower the one, or raise the other"
            )
        return self


class TestSetRecipe(Section):
    """A set to measure word error rates on."""

    __test__ = False

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="Name in reports.")
    split: Literal["dev", "test", "unseen_speaker"] = Field(description="Split that its utterances come from.")
    run: str | None = Field(
        None, description="Folder of another prepared run whose split it is, of any sample rate; absent: this run."
    )
    room: RoomRecipe | None = Field(None, description="Room and noise to put every utterance into.")
    seed: int = Field(0, description="Seed of room and noise; training's generators never have it.")
    gain_db: float = Field(
        0.0,
        ge=-90,
        le=30,
        description="Gain in decibels, after the room, or less, up to full scale: -20 makes a set of soft voices.",
    )


class EvaluationRecipe(Section):
    """What the finished model is measured on."""

    sets: tuple[TestSetRecipe, ...] = Field(
        (TestSetRecipe(name="heldout", split="test"),), min_length=1, description="Sets to measure on."
    )
    streams: int = Field(8, ge=1, le=1024, description="Clients that stream at once.")
    paced: bool = Field(
        True, description="Stream in real time, which measures latency; false: as fast as the recognizer reads."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [s.name for s in self.sets]
        if len(set(names)) < len(names):
            raise ValueError(f"sets {names} must have distinct names")
        return self
