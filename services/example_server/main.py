"""Example server: the whole chain in one process, for `pipeline.layout: fused` (the name is Samsung's, section 2)."""

from services.shard_reader.main import leased_records
from services.stage.command import run_replica

__all__ = ["main"]


def main() -> None:
    """Run until the run is complete or a termination signal arrives."""
    run_replica("example_server", open_source=leased_records)
