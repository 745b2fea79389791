"""A family's contract with training, export and recognition: the seam behind which models are built.

- A *family* is one file of this package with a subclass of `Model`, made of `(recipe, bins, units, seed)`; its section
  in `sonorant/models/section.py`; and one line in `registry.py`. Nothing else names it.
- A *model* names its `Symbols`, the columns of its output, and the `search` that reads them.
- The *training signature* is `Model.outputs`: `Inputs` to `Outputs`, whole utterances padded to a batch. An objective
  picks from the outputs: frame-synchronous families fill `frames`, label-synchronous ones `labels`.
- The *streaming signature* is that of `Streaming`: state in, outputs of the next vectors and state out. A model that is
  no `Streaming` one is recognized utterance by utterance, by its training signature.
- A model's `framing` says which frames it has for an utterance, streamed or not. It follows from the section alone, so
  that objectives can reject an utterance that has too few of them.
- The outputs of a `LabelSynchronous` model (`label_synchronous.py`), in recognition, are its encoded frames; a search
  that has these drives its decoder: labels, memory and state in, log-probabilities of the next labels and state out, as
  often as it needs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.errors import SonorantError
from sonorant.models.applications import Applications
from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.models.dropout import Dropout
from sonorant.models.framing import Framing
from sonorant.models.normalisation import FeatureMoments
from sonorant.tensorflow import keras, tf

__all__ = [
    "Inputs",
    "Model",
    "Outputs",
    "Streaming",
    "Symbols",
    "WrongWeights",
]


class WrongWeights(SonorantError):
    """Weights that do not fit the recipe's model."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Symbols:
    """Columns of a model's output: the units by their numbers, then symbols without text.

    blank, start, end: column of the symbol, or None if the family has none.
    """

    units: int
    blank: int | None = None
    start: int | None = None
    end: int | None = None

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.units + sum(symbol is not None for symbol in (self.blank, self.start, self.end))


class Inputs(NamedTuple):
    """A padded batch, a model's input in training.

    features: Float32[B, T, bins], zeros from `lengths` Int32[B] on. labels: Int32[B x N, L], padded with anything from
    `label_lengths` Int32[B x N] on, N = `hypotheses` sequences of each utterance, one after another; None where a
    family does not need them. sampling: Float32[], share of the labels before each that a label-synchronous family
    draws from its own outputs (scheduled sampling); None: none.
    """

    features: tf.Tensor
    lengths: tf.Tensor
    labels: tf.Tensor | None = None
    label_lengths: tf.Tensor | None = None
    sampling: tf.Tensor | None = None
    hypotheses: int = 1


class Outputs(NamedTuple):
    """A model's outputs for a batch; None where the family has no such output.

    frames: Float32[B, T', symbols], log-probabilities of each encoded frame, of which `lengths` Int32[B] count; a
    label-synchronous family has those of units and blank.
    labels: Float32[B x N, L + 1, symbols], log-probabilities of each label, given those before it, and of the end.
    attention: Float32[B x N, L + 1, T'], weights of the encoded frames for each label.
    """

    lengths: tf.Tensor
    frames: tf.Tensor | None = None
    labels: tf.Tensor | None = None
    attention: tf.Tensor | None = None


class Model(keras.Model):
    """Base of all families: weights by name, and the interface of training and export.

    bins: size of a stacked feature vector. search: name of the search that reads the outputs (`sonorant.decoding`).
    framing: that of the recipe's section; by default a frame for each vector. batch_normalisation: its layers of that
    kind, by default none.
    """

    search: str
    framing = Framing()
    batch_normalisation: Sequence[BatchNormalisation] = ()

    def __init__(self, name: str, bins: int, symbols: Symbols) -> None:
        super().__init__(name=name)
        self.bins = bins
        self.symbols = symbols

    def outputs(self, inputs: Inputs, dropout_seed: tf.Tensor | None = None) -> Outputs:
        """Return the outputs for whole utterances: the training signature.

        dropout_seed: Int32[2], which determines dropout, so that a resumed run drops the same; None: no dropout.
        """
        raise NotImplementedError

    def set_normalisation(self, first: list[Features], add_up: Callable[[FeatureMoments], FeatureMoments]) -> None:
        """Set the normalisation from the first examples, each Float32[frames, bins].

        add_up: sums moments over the ranks, each of which calls this with its own examples.
        """
        raise NotImplementedError

    def batch_sums(self) -> list[tf.Tensor]:
        """Return sums over the frames of the last training batch, each Float32[n], that `update_moments` takes.

        They are added up over the ranks with the gradients. Part of the step's graph.
        """
        return [layer.sums for layer in self.batch_normalisation]

    def update_moments(self, sums: list[tf.Tensor]) -> None:
        """Take in what `batch_sums` returned, added up, in a step that changes the weights; part of its graph."""
        for layer, one in zip(self.batch_normalisation, sums, strict=True):
            layer.update(one)

    def set_dropout(self, rate: float) -> None:
        """Set the rate of dropout; only families whose section says `anneals_dropout` have one that can change."""
        raise NotImplementedError

    def set_layers(self, count: int) -> None:
        """Use so many layers of the encoder, the top one among them, from the next trace on.

        Only families whose section has `fewest_layers` can.
        """
        raise NotImplementedError

    @property
    def receptive_field(self) -> tuple[int | None, int | None]:
        """Vectors before and after the one that a frame stands for, which it depends on; None: all of the utterance."""
        return None, None

    def applications(self, path: str, vectors: int) -> Applications:
        """Return how often the weight of that path is applied in an utterance; by default once a frame."""
        del path
        return Applications(audio=self.framing.frames(vectors))

    def products(self, vectors: int) -> Mapping[str, Applications]:
        """Return multiplications in products of two tensors that are no weights, as of attention, by the layer's name.

        audio, label: as of `Applications`; by default there are none.
        """
        del vectors
        return {}

    @property
    def parameters(self) -> int:
        """Number of values of all weights, trained or not."""
        return sum(math.prod(shape) for shape in self.weight_shapes().values())

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all weights, trained or not, by path."""
        return {path: tuple(v.shape) for path, v in self._by_path().items()}

    @property
    def settings(self) -> frozenset[str]:
        """Paths of weights that training does not learn but sets by its recipe: rates of dropout."""
        layers = self._flatten_layers(include_self=False)
        return frozenset(_path(layer.rate) for layer in layers if isinstance(layer, Dropout))

    def named_weights(self) -> dict[str, NDArray[np.float32]]:
        """Return all weights, trained or not, by path, as `lstm_0/weight`."""
        return {path: np.asarray(v) for path, v in self._by_path().items()}

    def assign(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Set the weights that `named_weights` returned; raises WrongWeights if names or shapes differ."""
        expected = self.weight_shapes()
        found = {name: value.shape for name, value in weights.items()}
        if found != expected:
            wrong = sorted(k for k in expected.keys() | found.keys() if expected.get(k) != found.get(k))
            raise WrongWeights(
                f"weights {wrong[:4]}: found shapes {[found.get(k) for k in wrong[:4]]}, expected "
                f"{[expected.get(k) for k in wrong[:4]]}; use the recipe and units that the weights were trained with"
            )
        for path, variable in self._by_path().items():
            variable.assign(weights[path])

    def _by_path(self) -> dict[str, keras.Variable]:
        found = {_path(v): v for v in self.weights}
        assert len(found) == len(self.weights), "two layers have the same name, and a checkpoint one place for both"
        return found


class Streaming(Model):
    """A model with the streaming signature; a stream gets the same outputs, bit for bit, however it is cut.

    The first `framing.lead` frames of a stream are void: the caller of `step` drops them. After its last vector comes
    `padding`, as often as `framing.padding_after` says; frames beyond those of the utterance are dropped too.
    """

    @property
    def receptive_field(self) -> tuple[int | None, int | None]:
        """See `Model`: by default all of the past, and what the framing waits for."""
        return None, self.framing.tail

    @property
    def latency(self) -> int:
        """Most vectors from one to the output for it, both counted: of its block, and what the framing waits for."""
        return self.framing.block + self.framing.tail

    @property
    def padding(self) -> NDArray[np.float32]:
        """Float32[bins], the vector that follows the last one of a stream."""
        return np.zeros(self.bins, np.float32)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state [batch, ...] at the start of streams."""
        raise NotImplementedError

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the outputs [B, at_once, symbols] of the framing's next step [B, step, bins], and the state after."""
        raise NotImplementedError


def _path(variable: keras.Variable) -> str:
    """Path below the model, which Keras puts first only in some versions."""
    return "/".join(variable.path.split("/")[-2:])
