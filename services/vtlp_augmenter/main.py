"""VTLP augmenter: warps each utterance's vocal tract length."""

from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until told to leave."""
    run_replica("vtlp")
