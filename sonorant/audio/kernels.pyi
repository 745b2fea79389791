"""The inner loops of signal processing, compiled from `kernels.cpp`.

Arrays must be contiguous and of the very type; outputs are overwritten. All release the GIL and raise ValueError
if sizes do not fit. `tests/audio/test_kernels.py` has each one in NumPy.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

VARIANT: Final[str]
"""What the loader picked: "x86-64-v3", or "portable" where the processor is older or another."""

def spread(
    x2: NDArray[np.float32],
    x_gain: NDArray[np.float32],
    y2: NDArray[np.float32],
    y_gain: NDArray[np.float32],
    z2: NDArray[np.float32],
    z_gain: NDArray[np.float32],
    reach: float,
    grid: NDArray[np.float32],
) -> None:
    """Add to a time grid, Float32[at least reach + 5], all images of a 3-D lattice that arrive by `reach` points.

    The image (i, j, k) arrives after d = √(x2[i] + y2[j] + z2[k]) points, scaled by x_gain[i]·y_gain[j]·z_gain[k] / d.
    Squared offsets ascend along each axis; the loops are quickest if z has the most. An image at a whole number of
    points d gets the weights 1/6, 4/6, 1/6 of the cubic B-spline at grid[d], grid[d + 1] and grid[d + 2]: the grid
    begins one point before time 0.
    """

def biquad(values: NDArray[np.float32], b0: float, b1: float, b2: float, a1: float, a2: float) -> None:
    """Filter and overwrite each row of Float32[rows, samples], in double precision, from rest.

    The transfer function is (b0 + b1/z + b2/z²) / (1 + a1/z + a2/z²); the transposed direct form II computes it.
    """

def move_peaks(
    spectra: NDArray[np.complex64],
    rise: NDArray[np.float32],
    slope: NDArray[np.float32],
    rotations_per_bin: float,
    rotations: NDArray[np.float32],
    moved: NDArray[np.complex64],
) -> None:
    """Move the spectral peaks of successive frames under a Hann window as long as the transform (reasons in `vtlp`).

    A peak tops two bins on either side; of three magnitudes b, t, a around it, its tone lies 2(a − b) / (a + 2t + b)
    bins above it, which is exact for one tone. It takes the bins nearer to it than to other peaks `rise` bins up,
    rounded to a whole number, where no other peak comes to lie nearer; one that is louder by 20 dB keeps all its bins,
    up to the other's top. `slope` is rise's change per bin. Its rotation, 1 being the whole circle, is
    rise·rotations_per_bin more than that of its bin a frame before, and the window's centre keeps its phase. A tone
    that is `rest` bins from where it belongs beats with itself in the frames beside; its level is restored by (1 −
    rest²)(1 − rest²/4) / sinc(rest), the reciprocal of the squared window's transform.

    spectra and moved: Complex64[frames, bins]. rise, slope: Float32[bins]. rotations: Float32[bins], those of
    the last frame's bins; updated.
    """

def cut_frames(
    samples: NDArray[np.float32], hop: int, window: NDArray[np.float32], frames: NDArray[np.float32]
) -> None:
    """Fill the start of each frame, Float32[frames, at least size], each `hop` samples later, under Float32[size]."""

def overlap_add(frames: NDArray[np.float32], window: NDArray[np.float32], hop: int, sum: NDArray[np.float32]) -> None:
    """Add the start of each frame, Float32[frames, at least size], under Float32[size], each `hop` later, to `sum`."""

def energy(values: NDArray[np.float32]) -> float:
    """Return the sum of the squares of Float32[samples], in double precision."""

def add_scaled(
    speech: NDArray[np.float32],
    noise: NDArray[np.float32],
    speech_gain: float,
    noise_gain: float,
    total: NDArray[np.float32],
) -> float:
    """Scale speech and noise themselves, fill total with their sum, and return its peak; all Float32[rows, samples]."""

def filter_power(
    spectra: NDArray[np.complex64],
    first: NDArray[np.int32],
    offset: NDArray[np.int32],
    weight: NDArray[np.float32],
    energies: NDArray[np.float32],
) -> None:
    """Fill Float32[frames, filters] with the power of the first spectra, Complex64[at least frames, bins], filtered.

    Filter m weighs bins first[m], first[m] + 1, ... by weight[offset[m]:offset[m + 1]], Float32[groups, 8]; what fills
    a group beyond the last bin must be 0.
    """

def power_law(values: NDArray[np.float32], exponent: float) -> None:
    """Raise the values of Float32[rows, columns] themselves, not negative, to an exponent in (0, 1].

    The relative error is below 3e-7 + 1e-5·exponent, up to 1e38; what is below the least normal number becomes 0.
    """

class VoiceActivity:
    """Detects speech in one stream, for `sonorant.serving.voice_activity`; frame i covers samples [i·hop, (i + 2)·hop).

    cosines, sines: Float32[hop, bins], the transform's rows 1 to hop, windowed and scaled, row hop halved; bins are a
    multiple of 8, with zeros behind the last band. edges: Int32[bands + 1], the first bin of each of at most 8 bands,
    and the last one's end.
    """

    def __init__(self, cosines: NDArray[np.float32], sines: NDArray[np.float32], edges: NDArray[np.int32]) -> None: ...
    def push(self, samples: NDArray[np.float32], flags: NDArray[np.uint8]) -> int:
        """Fill flags, UInt8[at least frames], of the frames that Float32[samples] complete; return how many they are.

        0: at the noise floor; 1: active; 3: speech.
        """
