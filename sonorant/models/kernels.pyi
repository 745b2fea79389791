"""Layers' kernels for training on a CPU, compiled from `kernels.cpp` and the headers beside it."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

VARIANT: Final[str]
"""What the loader picked, as of `sonorant.audio.kernels`."""

def lstm_forward(
    products: NDArray[np.float32],
    recurrent: NDArray[np.float32],
    peepholes: NDArray[np.float32],
    cell: NDArray[np.float32],
    hidden: NDArray[np.float32],
    threads: int,
    gates: NDArray[np.float32],
    cells: NDArray[np.float32],
    outputs: NDArray[np.float32],
) -> None:
    """Overwrite gates [T, B, 4 cells], cells and outputs [T, B, cells] by those of an LSTM, without the GIL.

    products: of inputs and their weights, with the bias, [T, B, 4 cells]; columns are those of `Lstm`. recurrent:
    weights of the outputs, [cells, 4 cells]. peepholes: [3, cells], of input, forget and output gate. cell, hidden:
    [B, cells], before the first step. So many threads share the rows, eight or more each. All must be contiguous;
    raises ValueError if sizes do not fit.
    """

def lstm_backward(
    d_outputs: NDArray[np.float32],
    d_last_cell: NDArray[np.float32],
    gates: NDArray[np.float32],
    cells: NDArray[np.float32],
    cell: NDArray[np.float32],
    recurrent: NDArray[np.float32],
    peepholes: NDArray[np.float32],
    threads: int,
    d_gates: NDArray[np.float32],
    d_cell: NDArray[np.float32],
    d_hidden: NDArray[np.float32],
) -> None:
    """Overwrite d_gates [T, B, 4 cells], d_cell and d_hidden [B, cells] by the gradients of a loss, without the GIL.

    d_gates: of the gates before their nonlinearities, as of `products`; d_cell, d_hidden: of the states before the
    first step. d_outputs: of outputs, [T, B, cells]; d_last_cell: of the last of cells, [B, cells]. The others are of
    `lstm_forward`. Raises ValueError if sizes do not fit.
    """

def lstm_peepholes(
    d_gates: NDArray[np.float32],
    cells: NDArray[np.float32],
    cell: NDArray[np.float32],
    d_peepholes: NDArray[np.float32],
) -> None:
    """Overwrite a loss' gradient by peepholes, [3, cells], from those of `lstm_backward`, without the GIL.

    Raises ValueError if sizes do not fit.
    """

def lstm_chunks_forward(
    products: NDArray[np.float32],
    recurrent: NDArray[np.float32],
    chunk: int,
    threads: int,
    gates: NDArray[np.float32],
    cells: NDArray[np.float32],
    heard: NDArray[np.float32],
    outputs: NDArray[np.float32],
) -> None:
    """Overwrite outputs [T, B, cells] by those of an LSTM backwards in time through chunks, without the GIL.

    T are whole chunks; each is gone through from the end of the chunk after it. products: as of `lstm_forward`,
    [T + chunk, B, 4 cells]; recurrent: the same. Of a vector in a chunk's preparation, and then of it in its own chunk,
    are gates [2, T, B, 4 cells], cells, and heard [2, T, B, cells]: the outputs one vector earlier. The first are of
    the chunks but the first. Raises ValueError if sizes do not fit.
    """

def lstm_chunks_backward(
    d_outputs: NDArray[np.float32],
    gates: NDArray[np.float32],
    cells: NDArray[np.float32],
    recurrent: NDArray[np.float32],
    chunk: int,
    threads: int,
    d_gates: NDArray[np.float32],
    d_products: NDArray[np.float32],
) -> None:
    """Overwrite the gradients of a loss: d_gates [2, T, B, 4 cells], before their nonlinearities, and d_products.

    d_outputs: of outputs; the others are of `lstm_chunks_forward`. Without the GIL; raises ValueError if sizes do not
    fit.
    """

def clipped_forward(
    inputs: NDArray[np.float32],
    lengths: NDArray[np.int32],
    weight: NDArray[np.float32],
    ceiling: float,
    threads: int,
    states: NDArray[np.float32],
    outputs: NDArray[np.float32],
) -> None:
    """Overwrite outputs [B, T, cells] by f + b of clipped rectifiers with recurrence, without the GIL.

    f_t = g(inputs_t + f_{t-1} weight_0) and b_t = g(inputs_t + b_{t+1} weight_1), where g(z) = min(max(0, z), ceiling);
    inputs: [B, T, cells]; lengths: [B], each of 0 to T: b begins with an utterance's last frame, and is 0 in padding.
    weight: [2, cells, cells]. states: [2, B, T + 1, cells], f from f_{-1} on, and b to b_T. So many threads share the
    utterances. Raises ValueError if sizes do not fit.
    """

def clipped_backward(
    d_outputs: NDArray[np.float32],
    states: NDArray[np.float32],
    weight: NDArray[np.float32],
    ceiling: float,
    threads: int,
    d_inputs: NDArray[np.float32],
    d_sums: NDArray[np.float32],
) -> None:
    """Overwrite the gradients of a loss: d_inputs [B, T, cells], and d_sums [2, B, T + 1, cells], of g's arguments.

    d_outputs: of outputs; the others are of `clipped_forward`. d_sums of a frame are at the index of the state that it
    multiplies: of f's frame t at t, of b's at t + 1; at index T of f and 0 of b they are 0. So a weight's gradient is
    its direction's states, transposed, times its d_sums. Without the GIL; raises ValueError if sizes do not fit.
    """

def normalise_forward(
    values: NDArray[np.float32],
    present: NDArray[np.float32],
    centre: NDArray[np.float32],
    scale: NDArray[np.float32],
    offset: NDArray[np.float32],
    epsilon: float,
    threads: int,
    normal: NDArray[np.float32],
    sums: NDArray[np.float32],
    moments: NDArray[np.float32],
) -> None:
    """Overwrite normal [N, channels] by `values` normalised by moments of the frames that are there, without the GIL.

    present: [N], over 0 for a frame that is there; centre, scale, offset: [channels]. sums: about the centre, then of
    their squares, [2, channels]; moments: mean, then the root of variance and epsilon, [2, channels]. Up to so many
    threads share the channels. All must be contiguous; raises ValueError if sizes do not fit.
    """

def normalise_weights_gradient(
    d_normal: NDArray[np.float32],
    values: NDArray[np.float32],
    moments: NDArray[np.float32],
    threads: int,
    d_scale: NDArray[np.float32],
    d_offset: NDArray[np.float32],
) -> None:
    """Overwrite the gradients of a loss by scale and offset, [channels], without the GIL.

    d_normal: of normal, [N, channels]; the others are those of `normalise_forward`. Raises ValueError if sizes do not
    fit.
    """

def normalise_values_gradient(
    d_normal: NDArray[np.float32],
    values: NDArray[np.float32],
    present: NDArray[np.float32],
    moments: NDArray[np.float32],
    scale: NDArray[np.float32],
    d_scale: NDArray[np.float32],
    d_offset: NDArray[np.float32],
    threads: int,
    d_values: NDArray[np.float32],
) -> None:
    """Overwrite the gradient of a loss by values, [N, channels], without the GIL.

    d_scale, d_offset: of `normalise_weights_gradient`; the others as there. Raises ValueError if sizes do not fit.
    """

def filters_forward(
    maps: NDArray[np.float32],
    kernel: NDArray[np.float32],
    bias: NDArray[np.float32],
    centre: NDArray[np.float32],
    stride_frames: int,
    pool: int,
    threads: int,
    found: NDArray[np.float32],
    argmax: NDArray[np.uint8],
    moments: NDArray[np.float32],
) -> None:
    """Overwrite found [frames', maxima, N, filters] by the rectified maxima of filters of windows, without the GIL.

    maps: [frames, bins, N, channels]; kernel: [bins, frames, channels, filters] of a window; bias: [filters]. A window
    begins at every `stride_frames`-th frame and at every bin; of `pool` neighbouring bins the largest product counts,
    the first of equal ones, and argmax has which. moments: [2, filters], sums about centre [filters], and of squares.
    Raises ValueError if sizes do not fit.
    """

def filters_kernel_gradient(
    d_found: NDArray[np.float32],
    d_moments: NDArray[np.float32],
    found: NDArray[np.float32],
    argmax: NDArray[np.uint8],
    centre: NDArray[np.float32],
    maps: NDArray[np.float32],
    stride_frames: int,
    pool: int,
    threads: int,
    d_kernel: NDArray[np.float32],
    d_bias: NDArray[np.float32],
) -> None:
    """Overwrite d_kernel and d_bias, of the shapes of kernel and bias, by a loss' gradients, without the GIL.

    d_found, d_moments: its gradients by found and moments. Bits do not depend on the number of threads. Raises
    ValueError if sizes do not fit.
    """

def filters_maps_gradient(
    d_found: NDArray[np.float32],
    d_moments: NDArray[np.float32],
    found: NDArray[np.float32],
    argmax: NDArray[np.uint8],
    centre: NDArray[np.float32],
    kernel: NDArray[np.float32],
    stride_frames: int,
    pool: int,
    threads: int,
    d_maps: NDArray[np.float32],
) -> None:
    """Overwrite d_maps, [frames, bins, N, channels], in the same way."""

def decaying_sums(terms: NDArray[np.float32], decay: float, threads: int, sums: NDArray[np.float32]) -> None:
    """Overwrite sums [B, T, n] by y_t = decay y_{t-1} + terms_t, without the GIL.

    So many threads share the utterances. Raises ValueError if shapes differ.
    """

def running_peaks(
    levels: NDArray[np.float32], kept: float, fall: float, threads: int, peaks: NDArray[np.float32]
) -> None:
    """Overwrite peaks [B, T, n] by y_t = max(kept y_{t-1} - fall, levels_t) in the same way."""

class TaughtFeedback:
    """An LSTM decoder with `FeedbackAttention`, taught L labels of B utterances of T frames; H cells, queries [Q].

    weight: of context and hidden state, [size + H, 4 H], columns as those of `Lstm`; query: [H, Q]; encoded:
    [B, T, size]; lengths: [B], 0 to T; keys: [B, T, Q]; fertility: [B, T]; energy and feedback: v and u, [Q]. All
    arrays must be contiguous; raises ValueError if sizes do not fit. Methods share the utterances among so many
    threads, eight or more each, without the GIL.
    """

    def __init__(
        self,
        weight: NDArray[np.float32],
        query: NDArray[np.float32],
        encoded: NDArray[np.float32],
        lengths: NDArray[np.int32],
        keys: NDArray[np.float32],
        fertility: NDArray[np.float32],
        energy: NDArray[np.float32],
        feedback: NDArray[np.float32],
    ) -> None: ...
    def forward(
        self,
        products: NDArray[np.float32],
        threads: int,
        gates: NDArray[np.float32],
        cells: NDArray[np.float32],
        hidden: NDArray[np.float32],
        contexts: NDArray[np.float32],
        queries: NDArray[np.float32],
        weights: NDArray[np.float32],
        feedbacks: NDArray[np.float32],
    ) -> None:
        """Overwrite what the decoder makes of its labels.

        gates: [L, B, 4 H]; cells, hidden: [L, B, H]; contexts: [L, B, size]; queries: [L, B, Q]; weights: of frames,
        [L, B, T]; feedbacks: beta before each label, [L, B, T]. products: of the labels' embeddings and their weights,
        with the bias, [L, B, 4 H].
        """

    def backward(
        self,
        d_hidden: NDArray[np.float32],
        d_contexts: NDArray[np.float32],
        d_weights: NDArray[np.float32],
        gates: NDArray[np.float32],
        cells: NDArray[np.float32],
        queries: NDArray[np.float32],
        weights: NDArray[np.float32],
        feedbacks: NDArray[np.float32],
        threads: int,
        d_gates: NDArray[np.float32],
        d_queries: NDArray[np.float32],
        d_encoded: NDArray[np.float32],
        d_keys: NDArray[np.float32],
        d_fertility: NDArray[np.float32],
        d_energy: NDArray[np.float32],
        d_feedback: NDArray[np.float32],
    ) -> None:
        """Overwrite the gradients of a loss: of the gates before their nonlinearities, and of what `forward` is given.

        They have the shapes of what they are gradients of; d_energy and d_feedback, of each utterance, [B, Q].
        """

class TaughtMonotonic:
    """The same with `ExpectedAttention`.

    Queries, keys and `energy` are those of the head and then those of chunks, Q / 2 values each; energy: g v / |v|,
    then v. noise: [L, B, T], with r. chunk: 1 or more.
    """

    def __init__(
        self,
        weight: NDArray[np.float32],
        query: NDArray[np.float32],
        encoded: NDArray[np.float32],
        lengths: NDArray[np.int32],
        keys: NDArray[np.float32],
        noise: NDArray[np.float32],
        energy: NDArray[np.float32],
        chunk: int,
    ) -> None: ...
    def forward(
        self,
        products: NDArray[np.float32],
        threads: int,
        gates: NDArray[np.float32],
        cells: NDArray[np.float32],
        hidden: NDArray[np.float32],
        contexts: NDArray[np.float32],
        queries: NDArray[np.float32],
        alphas: NDArray[np.float32],
        energies: NDArray[np.float32],
        chunk_energies: NDArray[np.float32],
    ) -> None:
        """See `TaughtFeedback`. alphas: the heads' distributions, [L, B, T], as both energies."""

    def backward(
        self,
        d_hidden: NDArray[np.float32],
        d_contexts: NDArray[np.float32],
        d_alphas: NDArray[np.float32],
        gates: NDArray[np.float32],
        cells: NDArray[np.float32],
        queries: NDArray[np.float32],
        alphas: NDArray[np.float32],
        energies: NDArray[np.float32],
        chunk_energies: NDArray[np.float32],
        threads: int,
        d_gates: NDArray[np.float32],
        d_queries: NDArray[np.float32],
        d_encoded: NDArray[np.float32],
        d_keys: NDArray[np.float32],
        d_noise: NDArray[np.float32],
        d_energy: NDArray[np.float32],
    ) -> None:
        """See `TaughtFeedback`; d_noise: [L, B, T]; d_energy, of each utterance, [B, Q]."""
