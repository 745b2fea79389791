"""Start one replica: `python -m services.example_server --run RUN --coordinator HOST:PORT`."""

from services.example_server.main import main

main()
