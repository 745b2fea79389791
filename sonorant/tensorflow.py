"""TensorFlow and Keras, without the optional packages that Keras would import.

For its scikit-learn wrappers and image galleries Keras loads scikit-learn and matplotlib where they are installed: of
the 5.2 s that `import tensorflow` took, on an EPYC, they took 2.0 (`python -X importtime` names them).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["as_if_absent", "keras", "tf"]


@contextmanager
def as_if_absent(*packages: str) -> Iterator[None]:
    """Make imports of packages fail that have not been imported yet."""
    hidden = [package for package in packages if package not in sys.modules]
    for package in hidden:
        sys.modules[package] = None  # type: ignore[assignment] # marks it as missing for the import system
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]


with as_if_absent("matplotlib", "sklearn"):
    import keras
    import tensorflow as tf
