"""Start one replica: `python -m services.vtlp_augmenter --run RUN --coordinator HOST:PORT`."""

from services.vtlp_augmenter.main import main

main()
