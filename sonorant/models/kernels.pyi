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
