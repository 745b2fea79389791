"""The limit on rejected examples, beyond which training would not be the recipe's."""

import re
from collections import defaultdict

from sonorant.delivery.ledger import Ledger, Rejection
from sonorant.errors import SonorantError

__all__ = ["TooManyRejected", "too_many_rejected"]

_FIGURES = re.compile(r"\d[\d.,]*")


class TooManyRejected(SonorantError):
    """More of an epoch's examples were rejected than `training.max_rejected` allows."""

    exit_code = 65

    def __init__(self, ledger: Ledger, epoch: int, allowed: float) -> None:
        progress, kept = ledger.progress(epoch), ledger.rejections()
        kept = [rejection for rejection in kept if rejection.lineage.epoch == epoch] or kept
        super().__init__(
            f"epoch {epoch}: {progress.rejected} of {progress.total} examples were rejected, {_commonest(kept)}; "
            f"training.max_rejected={allowed:g} of them may be: correct the reason, or raise the limit"
        )


def too_many_rejected(ledger: Ledger, epoch: int, allowed: float) -> bool:
    """Return whether more than the share `allowed` of an epoch is rejected by now."""
    progress = ledger.progress(epoch)
    return progress.rejected > allowed * progress.total


def _commonest(rejections: list[Rejection]) -> str:
    """Return the commonest reason and its stage; reasons that differ in figures only count as one."""
    alike: dict[tuple[str, str], list[Rejection]] = defaultdict(list)
    for rejection in rejections:
        alike[rejection.stage, _FIGURES.sub("", rejection.reason)].append(rejection)
    if not alike:
        return "for reasons that were not kept"
    most = max(alike.values(), key=len)
    first = most[0]
    name = first.utterance or "record {2} of shard {1}".format(*first.lineage)
    return f"{len(most)} of the {len(rejections)} first by stage {first.stage}, such as {name}: {first.reason}"
