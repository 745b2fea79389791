"""Checksums of features."""

import hashlib

__all__ = ["digest"]


def digest(features):
    """Return a checksum of Float32[frames, bins]."""
    return hashlib.blake2b(features.astype("<f4").tobytes(), digest_size=8).hexdigest()
