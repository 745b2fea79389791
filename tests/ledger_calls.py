"""Claims and commits by themselves; a trainer does both in one call."""


def claim(ledger, generation, epoch, ordinals, token=None):
    return ledger.commit_and_claim(generation, (epoch, ()), (epoch, ordinals), token)


def commit(ledger, generation, epoch, ordinals):
    ledger.commit_and_claim(generation, (epoch, ordinals), (epoch, ()))
