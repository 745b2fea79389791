from pathlib import Path

import pytest
from rigs.small_corpus import write_digits


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A data folder whose corpus `digits` has three speakers with eight takes of each digit, as tones."""
    return write_digits(tmp_path / "data")
