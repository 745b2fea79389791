"""Entry point of `python -m services.trainer`."""

from services.trainer.main import main

if __name__ == "__main__":
    main()
