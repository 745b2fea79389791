from pathlib import Path

import pytest
import soundfile
from small_corpus import RATE_HZ, tone


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A data folder whose corpus `digits` has three speakers with eight takes of each digit, as tones."""
    folder = tmp_path / "data" / "digits"
    folder.mkdir(parents=True)
    for s, speaker in enumerate(("ann", "bob", "uma")):
        for digit in range(10):
            for take in range(8):
                samples = tone(0.11 + 0.002 * take + 0.003 * digit, hz=300 + 100 * digit + 30 * s)
                soundfile.write(folder / f"{digit}_{speaker}_{take}.wav", samples, RATE_HZ, subtype="PCM_16")
    return tmp_path / "data"
