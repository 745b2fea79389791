"""Start one replica: `python -m services.shard_reader --run RUN --coordinator HOST:PORT`."""

from services.shard_reader.main import main

main()
