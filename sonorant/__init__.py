"""Sonorant: end-to-end speech recognizers, trained on data augmented on the fly."""

__version__ = "0.1.0"
