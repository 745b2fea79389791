"""Training's kernels as this processor runs them, and as any does, in the place of those that a module calls."""

import importlib
from contextlib import contextmanager

import pytest

from sonorant.models import kernels

__all__ = ["VARIANTS", "calling"]

VARIANTS = ("kernels", "kernels_portable")


@contextmanager
def calling(module, variant):
    """Have a module call a variant of the kernels, which is yielded."""
    compiled = importlib.import_module(f"sonorant.models.{variant}")
    ours = [name for name, found in vars(module).items() if name[0] != "_" and found is getattr(kernels, name, module)]
    assert ours, f"{module.__name__} calls no kernel"
    with pytest.MonkeyPatch.context() as patch:
        for name in ours:
            patch.setattr(module, name, getattr(compiled, name))
        yield compiled
