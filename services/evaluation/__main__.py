"""Entry point of `python -m services.evaluation`."""

from services.evaluation.probe import main

if __name__ == "__main__":
    main()
