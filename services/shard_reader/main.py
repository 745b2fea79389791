"""Shard reader: reads leased records and sends them on their way."""

from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until told to leave."""
    run_replica("shard_reader")
