"""A Redis to kill."""

import os
import signal
import subprocess
import time

import redis
from rigs.waiting import PATIENCE_S


class RedisServer:
    """A real redis-server with an append-only file, on a unix socket; can be killed and started again."""

    def __init__(self, folder, fsync="always"):
        self.folder = folder
        self.fsync = fsync
        self.url = f"unix://{folder}/redis.sock"
        self.process = None

    def start(self):
        arguments = ["--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--dir", str(self.folder)]
        arguments += ["--save", "", "--appendonly", "yes", "--appendfsync", self.fsync]
        self.process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
        client = redis.Redis.from_url(self.url)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert self.process.poll() is None, "redis-server ended"
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.01)
        client.close()

    def kill(self, how=signal.SIGKILL):
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, how)
            self.process.wait()
