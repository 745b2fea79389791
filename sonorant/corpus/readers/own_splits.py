"""A corpus' own splits."""

__all__ = ["OWN_SPLITS"]

OWN_SPLITS = ("train", "dev", "test")
