"""Entry point of `python -m services.launcher`."""

from services.launcher.main import main

if __name__ == "__main__":
    main()
