"""The demo's recordings: downloaded, or without a network synthesised by espeak-ng.

Both ways end in the same layout, `fsdd/recordings/{digit}_{speaker}_{take}.wav`, beside a file `SOURCE` that names
the way. The espeak-ng voices carry the names of the corpus' speakers, so that the recipe's splits hold.
"""

import io
import random
import re
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import soundfile

from sonorant.atomic import atomic_folder
from sonorant.cli.espeak import Espeak, Manner, find_espeak
from sonorant.corpus.source import SOURCE
from sonorant.errors import BadCorpus, Unavailable

__all__ = ["FSDD_URL", "obtain_digits"]

FSDD_URL = "https://github.com/Jakobovski/free-spoken-digit-dataset/archive/refs/tags/v1.0.10.tar.gz"

_LARGEST_DOWNLOAD = 128 * 2**20  # the corpus has 23 MB
_RECORDING = re.compile(r"(?:^|/)recordings/(\d_[a-z]+_\d+\.wav)$")
_VOICES = {  # speaker: espeak-ng voice, and the pitch (0 to 99) around which takes vary
    "george": ("en-gb-x-rp", 35),
    "jackson": ("en-us", 30),
    "lucas": ("en-gb-scotland", 45),
    "nicolas": ("en-us+f3", 55),
    "yweweler": ("en-gb-x-gbclan+m7", 40),
}
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TAKES = 50


def obtain_digits(data: Path, say: Callable[[str], None], url: str = FSDD_URL) -> None:
    """Fill `data` with digits, unless it has them: download them, else synthesise them with espeak-ng.

    Raises Unavailable when neither works.
    """
    if (data / "fsdd" / SOURCE).exists():
        return
    say(f"No recordings here; downloading the Free Spoken Digit Dataset from {url}")
    try:
        recordings = _download(url)
    except (OSError, HTTPException, EOFError, tarfile.TarError, BadCorpus) as error:
        say(f"That failed ({error}). espeak-ng speaks the digits instead: synthetic voices, NOT real speech.")
        _speak_all(data)
        return
    with atomic_folder(data / "fsdd") as folder:
        (folder / "recordings").mkdir()
        for name, content in recordings.items():
            (folder / "recordings" / name).write_bytes(content)
        (folder / SOURCE).write_text("FSDD recordings (downloaded)\n")


def _download(url: str) -> dict[str, bytes]:
    with urllib.request.urlopen(url, timeout=30) as response:
        archive = response.read(_LARGEST_DOWNLOAD + 1)
    if len(archive) > _LARGEST_DOWNLOAD:
        raise BadCorpus(f"{url}: has more than {_LARGEST_DOWNLOAD >> 20} MB; the corpus has 23")
    recordings: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        for member in tar:
            if (match := _RECORDING.search(member.name)) and member.isfile() and member.size < 2**20:
                file = tar.extractfile(member)
                assert file is not None
                recordings[match[1]] = file.read()
    if not recordings:
        raise BadCorpus(f"{url}: holds no recordings/{{digit}}_{{speaker}}_{{take}}.wav")
    return recordings


def _speak_all(data: Path) -> None:
    try:
        espeak = find_espeak()
    except Unavailable as error:
        raise Unavailable(
            "no recordings, no network and no espeak-ng; set SONORANT_DATA to a folder with fsdd/recordings, "
            "or install espeak-ng"
        ) from error
    takes = [(digit, speaker, take) for digit in range(10) for speaker in _VOICES for take in range(_TAKES)]
    with atomic_folder(data / "fsdd") as folder:
        (folder / "recordings").mkdir()
        with ThreadPoolExecutor() as pool:
            for _ in pool.map(lambda t: _speak(espeak, folder / "recordings", *t), takes):
                pass
        (folder / SOURCE).write_text("espeak-ng voices (synthetic speech)\n")


def _speak(espeak: Espeak, folder: Path, digit: int, speaker: str, take: int) -> None:
    """Write one take; speed, pitch and loudness differ from take to take as a speaker's would."""
    draw = random.Random(f"{digit} {speaker} {take}")
    voice, pitch = _VOICES[speaker]
    manner = Manner(voice, draw.randint(110, 190), pitch + draw.randint(-12, 12), draw.randint(60, 160))
    samples, rate_hz = espeak.speak(_DIGITS[digit], manner)
    soundfile.write(folder / f"{digit}_{speaker}_{take}.wav", samples, rate_hz)
