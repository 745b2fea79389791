"""Start the coordinator: `python -m services.coordinator --run RUN --redis URL`."""

from services.coordinator.main import main

main()
