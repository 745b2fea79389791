"""Speed perturber: plays utterances faster or slower."""

from services.runtime.process import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until told to leave."""
    run_replica("speed")
