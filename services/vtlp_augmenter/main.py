"""VTLP augmenter: warps each utterance's vocal tract length, by `sonorant/augment/vtlp.py`."""

from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until the run is complete or a termination signal arrives."""
    run_replica("vtlp")
