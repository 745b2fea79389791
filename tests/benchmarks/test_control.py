import shutil

import pytest

from benchmarks.rigs.control import SHARD, LedgerUnderLoad, coordinator, fleet
from benchmarks.rigs.process import Child

TOTAL = 2 * SHARD


@pytest.fixture
def ledger():
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with LedgerUnderLoad(TOTAL, ranks=4, threads=2) as ledger:
        yield ledger


def test_ranks_claim_different_examples_and_each_step_is_one_call(ledger):
    ledger.steps(0, 4, 32)
    calls = ledger.commands()
    ledger.steps(0, 40, 32)
    assert ledger.commands() - calls == 40
    assert ledger.memory_mb() > 0


def test_simulated_replicas_are_known_and_get_leases(ledger):
    with Child(coordinator, TOTAL, ledger.url) as server:
        port, before_s = server.query()
        with Child(fleet, f"127.0.0.1:{port}", TOTAL, 40, 2) as clients:
            assert all(clients.query(f"{what} 0.05") > 0 for what in ("beats", "leases", "arrivals"))
        assert server.query()[1] > before_s
