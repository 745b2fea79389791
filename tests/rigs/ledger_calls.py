"""Claims and commits by themselves, which a trainer does in one call, and a rejection."""

from sonorant.delivery.example import Lineage
from sonorant.delivery.ledger import Rejection


def claim(ledger, generation, epoch, ordinals, token=None):
    return ledger.commit_and_claim(generation, (epoch, ()), (epoch, ordinals), token)


def commit(ledger, generation, epoch, ordinals):
    ledger.commit_and_claim(generation, (epoch, ordinals), (epoch, ()))


def rejection(epoch=0, ordinal=0):
    return Rejection(Lineage(epoch, 0, ordinal), f"u{ordinal}", "vtlp", "NaN at sample 3, expected finite samples")
