"""The event of a training that begins with another model's weights."""

import structlog

from sonorant.training.initial_weights import InitialWeights

__all__ = ["log_initial"]

log = structlog.get_logger()


def log_initial(initial: InitialWeights) -> None:
    """Log how many of the model's weights are loaded; that some are not is a warning, as they stay random."""
    loaded, expected = len(initial.matching), initial.expected
    say = log.info if loaded == expected else log.warning
    say("weights_initialised", source=initial.source, loaded=loaded, of=expected, unmatched=initial.unmatched)
