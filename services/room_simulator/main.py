"""Room simulator: plays each utterance in a random room, with noise, by `sonorant/augment/room.py`."""

from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until the run is complete or a termination signal arrives."""
    run_replica("room")
