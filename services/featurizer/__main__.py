"""Start one replica: `python -m services.featurizer --run RUN --coordinator HOST:PORT`."""

from services.featurizer.main import main

main()
