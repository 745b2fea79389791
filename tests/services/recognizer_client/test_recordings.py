import numpy as np
import pytest
import soundfile

from services.recognizer_client.recordings import read_recording
from sonorant.errors import BadAudio


@pytest.mark.parametrize("value", [3e38, np.nan, -np.inf])
def test_samples_that_are_not_finite_or_overflow_as_they_are_averaged_are_bad_audio(tmp_path, value):
    soundfile.write(tmp_path / "loud.wav", np.full((100, 2), value, np.float32), 8000, subtype="FLOAT")
    with pytest.raises(BadAudio, match=r"loud\.wav: samples that are not finite, alone or averaged"):
        read_recording(tmp_path / "loud.wav", 8000)
