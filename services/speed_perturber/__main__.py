"""Start one replica: `python -m services.speed_perturber --run RUN --coordinator HOST:PORT`."""

from services.speed_perturber.main import main

main()
