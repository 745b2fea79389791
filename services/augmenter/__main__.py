"""Start one replica: `python -m services.augmenter STAGE --run RUN --coordinator HOST:PORT`."""

from services.augmenter.main import main

main()
