"""TensorFlow and Keras, for all here, without what Keras would load on the side and nobody here uses.

For its scikit-learn wrappers and image galleries Keras loads scikit-learn and matplotlib where they are installed: of
the 5.2 s that `import tensorflow` took, on an EPYC, they took 2.0 (`python -X importtime` names them).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["keras", "tf"]


@contextmanager
def _as_if_absent(*packages: str) -> Iterator[None]:
    """Let imports of packages fail that have not been imported yet."""
    hidden = [package for package in packages if package not in sys.modules]
    for package in hidden:
        sys.modules[package] = None  # type: ignore[assignment] # what the import system takes for: there is none
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]


with _as_if_absent("matplotlib", "sklearn"):
    import keras
    import tensorflow as tf
