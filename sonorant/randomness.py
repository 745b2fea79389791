"""Random numbers that depend on what is augmented, never on where or when.

Philox is counter-based (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): a key gives a
sequence, and sequences of different keys are independent. So an example is bit-identical on every replica and replay.
"""

import hashlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, epoch: int, utterance: str, stage: str) -> np.random.Generator:
    """Return the generator of one stage for one utterance in one epoch.

    The four parts are hashed with their lengths, so that no two tuples share a key.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (str(seed), str(epoch), utterance, stage):
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest.digest(), "little")))
