"""A real S3 server: versitygw, which keeps objects as files of a folder."""

import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from rigs.ports import free_port

ACCESS, SECRET = "reader-of-runs", "not-a-secret-elsewhere"


class S3Server:
    """versitygw over `folder`, with a bucket `bucket`; can be killed and started again at the same port."""

    def __init__(self, folder, host="127.0.0.1"):
        self.program = shutil.which("versitygw")
        if self.program is None:
            pytest.skip("needs versitygw in PATH, a real S3 server; tests/programs FOLDER builds it with Go")
        self.folder = folder
        (folder / "bucket").mkdir(parents=True)
        self._address = f"{host}:{free_port(host)}"
        self.endpoint = f"http://{self._address}"
        self.environment = {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        self.process = None

    def start(self):
        keys = {"ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET}
        command = [self.program, "--quiet", "--port", self._address, "posix", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | keys)
        deadline_s = time.monotonic() + 60
        while not self._answers():
            assert self.process.poll() is None, "versitygw ended"
            assert time.monotonic() < deadline_s, "versitygw does not answer"
            time.sleep(0.02)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _answers(self):
        try:
            urllib.request.urlopen(self.endpoint, timeout=5).close()
        except urllib.error.HTTPError:
            return True  # a refusal is an answer
        except OSError:
            return False
        return True
