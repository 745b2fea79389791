"""Start one replica: `python -m services.room_simulator --run RUN --coordinator HOST:PORT`."""

from services.room_simulator.main import main

main()
