"""`python -m services.recognizer` serves exported models."""

from services.recognizer.main import main

main()
