import os
import sys

import pytest
from rigs.waiting import eventually

from services.launcher.gloo import gloo_environment, interface_of, rendezvous_environment
from services.launcher.rank_process import RankProcess, await_gang
from sonorant.errors import Unavailable

JOINS = """
import os, sys
from services.launcher.rank_process import await_gang
await_gang()
sys.exit(int(os.environ["GANG"]) + int(os.environ["RANK"]))
"""
STAYS = "import time; time.sleep(600)"


@pytest.fixture
def start():
    started = []

    def begin(program):
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "RANK": "3"}
        started.append(RankProcess([sys.executable, "-c", program], environment))
        return started[-1]

    yield begin
    for process in started:
        process.kill()


def test_a_process_says_that_it_is_ready_and_is_told_of_its_gang(start):
    process = start(JOINS)
    eventually(lambda: process.ready)
    assert process.code is None
    process.join({"GANG": "4"})
    eventually(lambda: process.code is not None)
    assert (process.code, process.joined) == (7, True)


def test_a_process_says_that_it_waits_for_shards_before_it_is_ready(start):
    process = start("from services.launcher.rank_process import report_waiting\nreport_waiting(True)\n" + JOINS)
    eventually(lambda: process.waits)
    eventually(lambda: process.ready)


def test_one_that_never_asks_is_not_ready_and_can_be_ended(start):
    process = start(STAYS)
    assert not process.ready
    assert not process.waits
    process.kill()
    assert process.code == -9


def test_one_whose_launcher_hangs_up_ends(start):
    process = start(JOINS)
    eventually(lambda: process.ready)
    process._socket.close()
    eventually(lambda: process.code is not None)
    assert process.code == 1


def test_one_that_died_is_told_in_vain(start):
    process = start("")
    eventually(lambda: process.code is not None)
    process.join({"GANG": "4"})
    assert (process.code, process.ready) == (0, False)


def test_without_a_launcher_there_is_no_gang(monkeypatch, tmp_path):
    (tmp_path / "input").write_text("")
    kept = os.dup(0)
    with (tmp_path / "input").open() as no_socket:
        os.dup2(no_socket.fileno(), 0)
    try:
        with pytest.raises(Unavailable, match=r"services\.launcher"):
            await_gang()
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_an_address_is_one_of_an_interface():
    assert interface_of("127.0.0.1") == "lo"
    with pytest.raises(OSError, match=r"192\.0\.2\.1"):
        interface_of("192.0.2.1")


def test_each_rank_has_a_host_of_its_own():
    environment = gloo_environment(1, 3, "eth0") | rendezvous_environment("10.0.0.7:4711")
    assert (environment["HOROVOD_RANK"], environment["HOROVOD_SIZE"]) == ("1", "3")
    assert environment["HOROVOD_HOSTNAME"] != gloo_environment(2, 3, "eth0")["HOROVOD_HOSTNAME"]
    assert environment["HOROVOD_GLOO_RENDEZVOUS_ADDR"] == "10.0.0.7"
    assert environment["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4711"
