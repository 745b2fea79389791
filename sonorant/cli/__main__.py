"""`python -m sonorant.cli` is `sonorant`."""

from sonorant.cli.main import main

main()
