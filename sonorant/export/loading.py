"""Read exported models: checked against their manifest, loaded, and warm."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.decoding import Scorer, load_scorer
from sonorant.export.c_library import TensorFlowError, version
from sonorant.export.described import Described
from sonorant.export.ensemble import Ensemble
from sonorant.export.fixed_batch import FixedBatch
from sonorant.export.frame_lag import frame_lag_s
from sonorant.export.lstm_stack import STACKS, StackBatch
from sonorant.export.manifest import (
    ENSEMBLE,
    LANGUAGE_MODEL,
    BadExport,
    Manifest,
    member_folders,
    read_manifest,
    verify_files,
)
from sonorant.export.neural_language_model import load_language_model
from sonorant.export.packed_stream import MOST_BLOCKS, PackedState, PackedStream
from sonorant.export.saved_session import load_signatures
from sonorant.features.front_end import FeatureExtractor
from sonorant.models.monotonic_decoder import TensorMonotonicDecoder
from sonorant.models.tensor_decoder import TensorDecoder

__all__ = ["ExportedModel", "StreamState", "WholeState", "load_exported", "load_member"]


class ExportedModel(Described):
    """What exported models of all signatures share. None holds a stream's state, so threads may share it.

    decoder: that of a label-synchronous model, whose outputs are encoded frames, for its search; else None. searched:
    whether a search reads its outputs; without one they are scored by no language model, and none is loaded.
    """

    def __init__(self, folder: Path, manifest: Manifest, *, searched: bool) -> None:
        super().__init__(folder, manifest)
        self.extractor = FeatureExtractor(self.recipe.features, manifest.sample_rate_hz)
        if self.extractor.bins != manifest.bins:
            raise BadExport(
                f"{folder}: takes {manifest.bins} bins, the features of its recipe have {self.extractor.bins}"
            )
        self.scorer = Scorer(self.units)
        if searched:
            self.scorer = load_scorer(self.units, self.recipe.decoding, self.recipe.text, folder, load_language_model)
        self.framing = self.recipe.model.framing
        self.frame_seconds = self.extractor.vector_seconds * self.framing.block
        self.frame_lag_s = frame_lag_s(self.recipe, self.extractor)
        self._signatures = signatures = load_signatures(folder)
        self.decoder: TensorDecoder | TensorMonotonicDecoder | None = None
        if "monotonic_look" in signatures:
            self.decoder = TensorMonotonicDecoder(signatures)
        elif "decoder_next" in signatures:
            self.decoder = TensorDecoder(signatures)
        self._output = "encoded" if self.decoder else "log_probs"
        self.no_frames = np.empty((0, signatures[manifest.signature].shapes[self._output][-1]), np.float32)

    @property
    def members(self) -> "tuple[ExportedModel, ...]":
        """Itself; see `sonorant.serving.model.ServedModel`."""
        return (self,)

    def initial_state(self) -> Any:
        """Return the state at the start of a stream."""
        raise NotImplementedError

    def step(self, features: Features, state: Any) -> tuple[NDArray[np.float32], Any]:
        """Return the outputs [T', size] that features [T, bins] after `state` complete, and the state then."""
        raise NotImplementedError

    def steps(self, due: Sequence[tuple[Features, Any]]) -> list[tuple[NDArray[np.float32], Any]]:
        """Return what `step` returns for the features and state of each of several streams, to the last bit."""
        return [self.step(features, state) for features, state in due]

    def ended(self, features: Features, state: Any) -> tuple[Features, Any]:
        """Return the last features of a stream with what padding they need, and its state, which knows of the end."""
        return features, state

    def finish(self, state: Any) -> NDArray[np.float32]:
        """Return the outputs [T', size] that the end of the stream completes, and no `step` has returned."""
        raise NotImplementedError

    def outputs(self, utterances: Sequence[Features]) -> list[NDArray[np.float32]]:
        """Return the outputs [T', size] of whole utterances [T, bins]: those of `step` and `finish`, bit for bit."""
        raise NotImplementedError

    def by_graph(self) -> "ExportedModel | None":
        """Return the same model as TensorFlow's graph computes it; None: it is computed so."""
        return None


@dataclass(frozen=True)
class StreamState:
    """A stream so far: state of the model, vectors of an incomplete step, blocks before.

    frames: of all of it, once its end is known.
    """

    packed: PackedState
    pending: Features
    blocks: int
    frames: int | None = None


class _Stream(ExportedModel):
    """A model with the signatures `start` and `stream`.

    A stream has the same bits however it is cut into steps, and in any batch (see `lstm_stack` and `fixed_batch`).
    """

    def __init__(self, folder: Path, manifest: Manifest, *, searched: bool) -> None:
        super().__init__(folder, manifest, searched=searched)
        start = self._signatures["start"](streams=1)
        states = [start[f"state_{i}"] for i in range(len(manifest.state_shapes))]
        graphs = PackedStream(self._signatures, self._output, self.framing.step, states)
        self._graphs = FixedBatch(graphs, self.no_frames)
        self._batch: FixedBatch | StackBatch = self._graphs
        for name in set(STACKS) & self._signatures.keys():
            self._batch = StackBatch(self._signatures[name]())
        self._start = StreamState(graphs.start, np.empty((0, manifest.bins), np.float32), 0)
        self._padding: Features = start["padding"] if self.framing.padded else self._start.pending

    def by_graph(self) -> "_Stream | None":
        if self._batch is self._graphs:
            return None
        other = copy(self)
        other._batch = self._graphs
        return other

    def initial_state(self) -> StreamState:
        return self._start

    def step(self, features: Features, state: StreamState) -> tuple[NDArray[np.float32], StreamState]:
        (found,) = self.steps([(features, state)])
        return found

    def steps(self, due: Sequence[tuple[Features, StreamState]]) -> list[tuple[NDArray[np.float32], StreamState]]:
        lead, step = self.framing.lead, self.framing.step
        vectors = [
            np.concatenate([state.pending, features]) if len(state.pending) else features for features, state in due
        ]
        whole = [len(own) - len(own) % step for own in vectors]
        found = self._batch.steps(
            [own[:end] for own, end in zip(vectors, whole, strict=True)], [state.packed for _, state in due]
        )
        results = []
        for (_, state), own, end, (frames, packed) in zip(due, vectors, whole, found, strict=True):
            after = StreamState(packed, own[end:], state.blocks + end // self.framing.block, state.frames)
            last = None if state.frames is None else state.frames + lead - state.blocks
            results.append((frames[max(0, lead - state.blocks) : last], after))
        return results

    def ended(self, features: Features, state: StreamState) -> tuple[Features, StreamState]:
        vectors = state.blocks * self.framing.block + len(state.pending) + len(features)
        padding = np.repeat(self._padding, self.framing.padding_after(vectors), axis=0)
        return np.concatenate([features, padding]), replace(state, frames=self.framing.frames(vectors))

    def finish(self, state: StreamState) -> NDArray[np.float32]:
        if state.frames is not None:
            return self.no_frames
        left, over = self.ended(self._start.pending, state)
        return self.step(left, over)[0] if len(left) else self.no_frames

    def outputs(self, utterances: Sequence[Features]) -> list[NDArray[np.float32]]:
        return [frames for frames, _ in self.steps([self.ended(features, self._start) for features in utterances])]


WholeState = tuple[Features, ...]  # the vectors so far, as they came


class _Whole(ExportedModel):
    """A model with the signature `whole`: a stream is its state until it is over, and then has all its frames."""

    def initial_state(self) -> WholeState:
        return ()

    def step(self, features: Features, state: WholeState) -> tuple[NDArray[np.float32], WholeState]:
        return self.no_frames, (*state, features)

    def finish(self, state: WholeState) -> NDArray[np.float32]:
        vectors = sum(map(len, state))
        if not self.framing.frames(vectors):
            return self.no_frames
        outputs = self._signatures["whole"](features=np.concatenate(state)[None], lengths=[vectors])
        frames: NDArray[np.float32] = outputs[self._output][0, : int(outputs["lengths"][0])]
        return frames

    def outputs(self, utterances: Sequence[Features]) -> list[NDArray[np.float32]]:
        return [self.finish((features,)) for features in utterances]


_KINDS: dict[str, type[ExportedModel]] = {"stream": _Stream, "whole": _Whole}


def load_exported(folder: Path, rest: Callable[[], None] = lambda: None) -> ExportedModel | Ensemble:
    """Load the exported model in `folder` and run it, because first calls are slow; raises BadExport.

    rest: called after each call, so that others may compute meanwhile.
    """
    with _verified(folder) as manifest:
        if manifest.signature == ENSEMBLE:
            return Ensemble(folder, manifest, [load_member(member, rest) for member in member_folders(folder)])
        return _load(folder, manifest, rest, searched=True)


def load_member(folder: Path, rest: Callable[[], None] = lambda: None) -> ExportedModel:
    """Load an exported model that is no ensemble, for its outputs: no search reads them; raises BadExport.

    rest: see `load_exported`.
    """
    with _verified(folder) as manifest:
        if manifest.signature == ENSEMBLE:
            members = len(member_folders(folder))
            raise BadExport(f"{folder}: an ensemble of {members}; expected an export of one model")
        return _load(folder, manifest, rest, searched=False)


@contextmanager
def _verified(folder: Path) -> Iterator[Manifest]:
    """Yield the manifest, by which the files have been checked; raises BadExport for what fails with it."""
    try:
        manifest = read_manifest(folder)
        verify_files(folder, manifest)
        yield manifest
    except (OSError, ValueError, KeyError, TensorFlowError) as error:
        raise BadExport(f"{folder}: TensorFlow {version()} cannot load it: {error}; export it again") from error


def _load(folder: Path, manifest: Manifest, rest: Callable[[], None], *, searched: bool) -> ExportedModel:
    if manifest.signature == LANGUAGE_MODEL:
        raise BadExport(f"{folder}: a language model recognizes nothing by itself; name it in decoding.lm.path")
    if manifest.signature not in _KINDS:
        known = ", ".join([*_KINDS, ENSEMBLE])
        raise BadExport(f"{folder}: signature {manifest.signature!r}: expected one of {known}; export it again")
    model = _KINDS[manifest.signature](folder, manifest, searched=searched)
    rest()
    _warm(model, rest)
    return model


def _warm(model: ExportedModel, rest: Callable[[], None]) -> None:
    """Call each graph, if there are any, which TensorFlow optimizes in its first call."""
    state = model.initial_state()
    for blocks in range(1, MOST_BLOCKS + 1):
        vectors = np.zeros((blocks * model.framing.step, model.extractor.bins), np.float32)
        _, state = model.step(vectors, state)
        rest()
    model.finish(state)
    if model.decoder:
        model.decoder.warm(model.no_frames.shape[1])
