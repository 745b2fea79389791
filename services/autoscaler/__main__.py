"""Start the autoscaler: `python -m services.autoscaler --recipe R --coordinator HOST:PORT --deployments PREFIX`."""

from services.autoscaler.main import main

main()
