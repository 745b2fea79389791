"""Shard reader: reads leased records and sends them to the next stage."""

from typing import TYPE_CHECKING

from services.stage.command import run_replica

if TYPE_CHECKING:
    from services.stage.runtime import Runtime
    from services.stage.source import Source
    from sonorant.corpus.shards import ShardSet

__all__ = ["leased_records", "main"]


def main() -> None:
    """Run until the run is complete or a termination signal arrives."""
    run_replica("shard_reader", open_source=leased_records)


def leased_records(runtime: "Runtime", shards: "ShardSet", credits: int) -> "Source":
    """Return the source of a first stage; see `LeaseSource`."""
    from services.shard_reader.lease_source import LeaseSource  # numpy, which must not come before `run_replica`

    return LeaseSource(runtime, shards, credits)
