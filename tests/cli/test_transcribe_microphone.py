"""`sonorant transcribe --mic`, by a process of its own that has no microphone, or one that speaks a recording."""

import contextlib
import os
import pty
import signal
import subprocess
import sys

import pytest
import soundfile
from rigs.babble import RATE_HZ, murmur
from rigs.recognizer_thread import recognizer_on_a_thread


def test_a_microphone_needs_sounddevice(server, tmp_path):
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')\n")
    command = [sys.executable, "-m", "sonorant.cli", "transcribe", "--server", server, "--mic"]
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 69
    assert "--mic needs the package sounddevice and PortAudio" in done.stderr
    assert done.stderr.endswith("PortAudio library not found; apt install libportaudio2\n")


SPEAKING = """
import os, threading, wave
class PortAudioError(Exception): pass
class RawInputStream:
    def __init__(self, rate_hz, blocksize, channels, dtype, callback, finished_callback):
        assert (channels, dtype) == (1, "int16")
        self.rate_hz, self.blocksize, self.callback, self.over = rate_hz, blocksize, callback, threading.Event()
    def speak(self):
        with wave.open(RECORDING) as speech:
            assert speech.getframerate() == self.rate_hz
            for _ in range(1000):
                heard = speech.readframes(self.blocksize)
                self.callback(memoryview(heard.ljust(2 * self.blocksize, b"\\0")), self.blocksize, None, None)
                if self.over.wait(0 if heard else 0.1):
                    return
        os._exit(1)  # nobody has ended it in a minute and a half
    def start(self):
        threading.Thread(target=self.speak).start()
    def close(self):
        self.over.set()
"""


@pytest.fixture
def listening(server, heard, tmp_path):
    """Start the command, which hears speech from a microphone and writes to `stdout`; and that speech's first word."""
    samples = murmur(2.0, seed=4)
    path = tmp_path / "a.wav"
    soundfile.write(path, samples, RATE_HZ, subtype="PCM_16")
    (tmp_path / "sounddevice.py").write_text(SPEAKING.replace("RECORDING", repr(str(path))))
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "sonorant.cli", "transcribe"]

    def listening(stdout, address=server):
        options = ["--server", address, "--mic"]
        return subprocess.Popen([*command, *options], stdout=stdout, stderr=subprocess.PIPE, env=environment)

    return listening, heard(samples).split()[0].encode()


def test_what_a_microphone_hears_is_shown_on_a_terminal_while_it_is_spoken_until_ctrl_c(listening):
    start, first = listening
    master, terminal = pty.openpty()
    shown, rest = b"", b""
    with start(terminal) as process:
        os.close(terminal)
        while first not in shown:
            shown += os.read(master, 1 << 16)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(master, 1 << 16):
                rest += more
        said = process.stderr.read()
    os.close(master)
    assert (process.returncode, said.decode()) == (0, "listening; Ctrl-C ends\n")
    shown = (shown + rest).replace(b"\r\n", b"\n")
    assert shown.rpartition(b"\r")[2].startswith(first + b" ")
    assert shown.endswith(b"\n")


def test_of_what_a_microphone_hears_a_reader_gets_final_results_alone(listening):
    start, first = listening
    with start(subprocess.PIPE) as process:
        written = process.stdout.readline()  # the first utterance, ended by silence
        process.send_signal(signal.SIGINT)
        written += process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert b"\r" not in written
    assert [line.split()[0] for line in written.splitlines()] == [first]


def test_a_second_ctrl_c_ends_it_while_it_waits_for_a_recognizer_that_is_full(listening, store):
    start, _ = listening
    with (
        recognizer_on_a_thread(store, max_streams=1) as (server, _, address),
        server.engine.admission.slot(),
        start(subprocess.PIPE, address) as process,
    ):
        said = process.stderr.readline()
        for _ in range(60):  # more than two: those that come together count once
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                break
        code = process.poll()
        process.kill()
        said += process.stderr.read()
    assert (code, said) == (130, b"listening; Ctrl-C ends\n\ninterrupted\n")
