"""The speech synthesizer espeak-ng, as a program: its voices, and speech as samples."""

import io
import re
import shutil
import subprocess
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import soundfile

from sonorant.errors import BadCorpus, Unavailable

__all__ = ["Espeak", "Manner", "find_espeak"]

_TIMEOUT_S = 60
# Of the variants that espeak-ng brings, those that sound like people; each changes formants, pitch and voicing.
_VARIANTS = (
    *("m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f2", "f3", "f4", "f5", "Alex", "Alicia", "Andrea"),
    *("Andy", "Annie", "aunty", "belinda", "benjamin", "boris", "caleb", "david", "ed", "edward", "Gene", "grandma"),
    *("grandpa", "iven", "Jacky", "john", "Lee", "linda", "Marco", "max", "Michael", "michel", "mike", "norbert"),
    *("pablo", "paul", "pedro", "quincy", "rob", "robert", "sandro", "shelby", "steph", "travis", "victor", "zac"),
)
_LISTED = re.compile(r"^ *\d+ +(?P<language>\S+) +\S+ +\S+ +(?P<file>\S+)", re.MULTILINE)


class Manner(NamedTuple):
    """How a text is spoken: `voice` is a language with a variant, `pitch` in [0, 99], `amplitude` in [0, 200]."""

    voice: str
    words_a_minute: int
    pitch: int
    amplitude: int


class Espeak(NamedTuple):
    """An installed espeak-ng."""

    program: str

    def version(self) -> str:
        """Return its version: another one may speak otherwise."""
        return self._run("--version").decode(errors="replace").split("Data at")[0].strip()

    def voices(self, language: str) -> list[str]:
        """Return every accent of a language with every variant; raises BadCorpus if it does not speak it."""
        listed = _LISTED.finditer(self._run(f"--voices={language}").decode(errors="replace"))
        accents = [one["language"] for one in listed if not one["file"].startswith(("mb/", "!v/"))]
        if not accents:
            raise BadCorpus(f"language {language!r}: espeak-ng has no voice for it; `espeak-ng --voices` lists all")
        variants = self._run("--voices=variant").decode(errors="replace")
        there = {one["file"].removeprefix("!v/") for one in _LISTED.finditer(variants)}
        return [f"{accent}+{variant}" for accent, variant in product(accents, _VARIANTS) if variant in there]

    def speak(self, text: str, manner: Manner) -> tuple[np.ndarray[Any, np.dtype[np.int16]], int]:
        """Return Int16[samples] and their rate in hertz."""
        options = ["-v", manner.voice, "-s", str(manner.words_a_minute), "-p", str(manner.pitch)]
        wav = self._run(*options, "-a", str(manner.amplitude), "--stdin", "--stdout", text=f"{text}\n")
        try:
            samples, rate_hz = soundfile.read(io.BytesIO(wav), dtype="int16")
        except soundfile.LibsndfileError as error:
            raise Unavailable(f"espeak-ng gave no WAV file for {text[:60]!r}: {error}") from error
        return samples, rate_hz

    def _run(self, *arguments: str, text: str = "") -> bytes:
        command = [self.program, *arguments]
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{' '.join(command)}: {error}") from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise Unavailable(f"{' '.join(command)}: exit code {done.returncode}: {said}")
        return done.stdout


def find_espeak() -> Espeak:
    """Return the installed espeak-ng; raises Unavailable, saying how to install it."""
    program = shutil.which("espeak-ng")
    if program is None:
        raise Unavailable("espeak-ng is not installed, or not in PATH; `apt-get install espeak-ng` installs it")
    return Espeak(program)
