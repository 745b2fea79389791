"""Layers of an encoder that is pretrained layer by layer (`sonorant/training/pretraining.py`)."""

__all__ = ["layers_in_use"]


def layers_in_use(count: int, layers: int) -> tuple[int, ...]:
    """Return the indices of `count` of so many layers: the lower ones, and the top one, which has been there before."""
    return (*range(count - 1), layers - 1)
