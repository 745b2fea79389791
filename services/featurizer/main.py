"""Featurizer: turns each utterance's waveform into features."""

from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until told to leave."""
    run_replica("featurizer")
