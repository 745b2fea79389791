"""Steps whose loss or gradient is not finite: skipped, and the end of the run if there are several in a row."""

from sonorant.errors import SonorantError

__all__ = ["NonFiniteSteps"]


class NonFiniteSteps(SonorantError):
    """Loss or gradient were not finite several steps in a row; `utterances` were in the last of their batches."""

    def __init__(self, step: int, count: int, utterances: list[str]) -> None:
        super().__init__(
            f"step {step}: loss or gradient not finite in {count} steps in a row; the last batch was {utterances}; "
            "the latest checkpoint has what was learnt before; look at these utterances, or lower "
            "training.learning_rate, and train on"
        )
        self.utterances = tuple(utterances)
