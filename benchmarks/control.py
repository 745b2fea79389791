"""The control plane at scale: what a ledger of 10⁸ examples holds, what ranks and replicas cost it and a coordinator.

Redis and the coordinator are real; 1,000 ranks and 10,000 stage replicas are connections that do nothing else. What is
reported of both servers is work for each second of their own CPU time, so that simulating the others, on the same
machine, takes nothing away from it.
"""

from collections.abc import Iterator

from benchmarks.rigs.control import LedgerUnderLoad, book_cost, coordinator, fleet
from benchmarks.rigs.process import Child
from benchmarks.row import Progress, Row
from sonorant.fleet.registry import MOST_BEATS

__all__ = ["rows"]

_TOTAL = 10**8
_RANKS, _REPLICAS, _BATCH, _THREADS = 1000, 10_000, 32, 16
_STEPS = 20_000
_LOAD_S = 4.0
_WANTED_MB, _WANTED_CLAIMS, _WANTED_BEATS = 100, 50_000, 20_000


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the ledger's memory and rate, then the coordinator's."""
    case = f"10^8 examples, {_RANKS} ranks"
    progress("ledger")
    with LedgerUnderLoad(_TOTAL, _RANKS, _THREADS) as ledger:
        ledger.steps(0, 2 * _RANKS, _BATCH)
        cpu_s, calls = ledger.cpu_s(), ledger.commands()
        ledger.steps(0, _STEPS, _BATCH)
        rate = _STEPS * _BATCH / (ledger.cpu_s() - cpu_s)
        yield Row("claims and commits", case, rate, "examples/core-s", "wanted", _WANTED_CLAIMS)
        yield Row("round trips", case, (ledger.commands() - calls) / _STEPS, "a step", "wanted", 1)
        ledger.steps(1, 2 * _RANKS, _BATCH)
        yield Row("ledger", f"{case}, 2 epochs", ledger.memory_mb(), "MB", "wanted", _WANTED_MB)
        progress("lease book")
        with Child(book_cost, _TOTAL) as book:
            seconds, megabytes = book.query()
        yield Row("lease book", "10^8 examples, 2 epochs", megabytes, "MB")
        yield Row("lease book", "10^8 examples, opening 2 epochs", seconds, "s")
        yield from _coordinator(ledger, progress)


def _coordinator(ledger: LedgerUnderLoad, progress: Progress) -> Iterator[Row]:
    case = f"{_REPLICAS} replicas"
    progress(f"{case} and {_RANKS} ranks register")
    with Child(coordinator, _TOTAL, ledger.url) as server:
        port, _ = server.query()
        with Child(fleet, f"127.0.0.1:{port}", _TOTAL, _REPLICAS, _RANKS) as clients:
            clients.query("beats 0.5")
            rates = {}
            for what in ("beats", "leases", "arrivals"):
                progress(what)
                (_, before_s), count = server.query(), clients.query(f"{what} {_LOAD_S}")
                rates[what] = count / (server.query()[1] - before_s)
    yield Row("heartbeats", case, rates["beats"], "/core-s", "wanted", _WANTED_BEATS)
    yield Row("heartbeats", f"{case}, as they are paced", MOST_BEATS / rates["beats"], "of a core")
    yield Row("leases", f"{case}, 32 examples each", rates["leases"], "examples/core-s", "wanted", _WANTED_CLAIMS)
    yield Row("arrivals", f"{_RANKS} ranks, 128 examples each", rates["arrivals"], "examples/core-s")
