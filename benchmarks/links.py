"""Links between processes on loopback, beside gRPC streaming and bare ZeroMQ: speed, cost, scale, fairness, memory.

Each producer is a process that sends the same array over and over, as fast as the consumer lets it; the consumer looks
at one sample of each. Links encode and decode every envelope; gRPC carries the bare bytes without any protobuf around
them, which is the least that it can do. ZeroMQ alone, without envelope, credit and signs of life, is the limit.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.rigs.peers import GrpcWay, ZeroMqWay
from benchmarks.rigs.process import Child
from benchmarks.rigs.transport import (
    CREDITS,
    LinksWay,
    produce_copied,
    produce_uncopied,
    resident_mb,
    stand_idle,
    take_slowly,
)
from benchmarks.rigs.way import Way
from benchmarks.row import Progress, Row
from services.process.memory import keep_freed_memory

__all__ = ["rows"]

_HUGE, _LARGE, _SMALL = 500_000, 50_000, 500  # samples of an example: 2 MB, 200 KB, 2 KB
_CASES = ((_LARGE, 1), (_LARGE, 8), (_LARGE, 64), (_SMALL, 1), (_SMALL, 8))
_WARM_S, _TURN_S, _TURNS = 0.2, 0.8, 5
_REST_S = 0.02  # of the slow consumer, after each look
_IDLE, _LINKING_S = 1000, 2.0  # replicas that are there and have nothing to send; until there is a link to each


def rows(progress: Progress) -> Iterator[Row]:
    """Yield what one that stands still holds, speed and cost by size and number of producers, and fairness."""
    keep_freed_memory()  # as services do
    progress("a consumer that stands still")
    yield _memory()  # first: nothing has been freed yet that could be used again
    for samples, producers in _CASES:
        case = f"{_size(samples)}, {producers} producer{'s' * (producers > 1)}"
        progress(case)
        yield from _beside_peers(case, samples, producers)
    for samples in (_LARGE, _HUGE):
        progress(f"{_size(samples)}, copied or not")
        yield _beside_copies(samples)
    progress(f"{_IDLE} idle replicas")
    yield _beside_idle()
    progress("a slow consumer")
    yield from _slow_consumer()


@dataclass(frozen=True, slots=True)
class _Turn:
    gb_per_s: float
    cpu_s_per_gb: float


def _beside_peers(case: str, samples: int, producers: int) -> Iterator[Row]:
    """Let all ways take turns; each one's best turn counts."""
    with (
        LinksWay(samples, producers) as links,
        GrpcWay(samples, producers) as grpc,
        ZeroMqWay(samples, producers) as bare,
    ):
        turns = [(_turn(links, samples), _turn(grpc, samples), _turn(bare, samples)) for _ in range(_TURNS)]
    ours, *peers = zip(*turns, strict=True)
    for peer, theirs in zip(("gRPC", "ZeroMQ alone"), peers, strict=True):
        yield Row("throughput", case, _fastest(ours), "GB/s", peer, _fastest(theirs))
        yield Row("cost", case, _cheapest(ours), "CPU-s/GB", peer, _cheapest(theirs))


def _beside_copies(samples: int) -> Row:
    """Return the cost of sending from the memory that an example was written to, beside that with a copy."""
    with LinksWay(samples, 1, produce_uncopied) as uncopied, LinksWay(samples, 1, produce_copied) as copied:
        turns = [(_turn(uncopied, samples), _turn(copied, samples)) for _ in range(_TURNS)]
    ours, theirs = zip(*turns, strict=True)
    return Row("zero copy", _size(samples), _cheapest(ours), "CPU-s/GB", "copied", _cheapest(theirs))


def _beside_idle() -> Row:
    """Return the cost of one producer's examples for a consumer with links to many others."""
    with Child(stand_idle, _IDLE) as idle, LinksWay(_LARGE, 1, beside=idle.query("endpoint").split()) as among:
        time.sleep(_LINKING_S)
        ours = [_turn(among, _LARGE) for _ in range(_TURNS)]
    with LinksWay(_LARGE, 1) as alone:
        theirs = [_turn(alone, _LARGE) for _ in range(_TURNS)]
    return Row("idle replicas", f"{_IDLE} beside a busy one", _cheapest(ours), "CPU-s/GB", "alone", _cheapest(theirs))


def _slow_consumer() -> Iterator[Row]:
    """One producer and a fast consumer, without and with a slow one beside it, in turns."""
    alone, beside, slow_ones = [], [], 0
    with LinksWay(_LARGE, 1) as fast:
        for _ in range(_TURNS):
            alone.append(_turn(fast, _LARGE))
            with Child(take_slowly, fast.endpoints, _REST_S) as slow:
                beside.append(_turn(fast, _LARGE))
                slow_ones += slow.query()
    yield Row("slow consumer", "the fast one beside it", _fastest(beside), "GB/s", "alone", _fastest(alone))
    share = slow_ones / (_TURNS * (_WARM_S + _TURN_S))
    yield Row("slow consumer", f"its own, {_REST_S} s of rest", share, "examples/s", "its demand", 1 / _REST_S)


def _memory() -> Row:
    """Return the memory of a consumer that stands still, beside that of its credits."""
    before_mb = resident_mb()
    with LinksWay(_LARGE, 8) as links:
        deadline_s = time.monotonic() + 10
        while links.held < CREDITS and time.monotonic() < deadline_s:
            time.sleep(_WARM_S)
        time.sleep(_TURN_S)  # for what should not come
        grown_mb = resident_mb() - before_mb
    return Row("memory", f"8 producers, {CREDITS} credits", grown_mb, "MB", "credits", CREDITS * _LARGE * 4 / 1e6)


def _size(samples: int) -> str:
    kilobytes = samples * 4 // 1000
    return f"{kilobytes} KB" if kilobytes < 1000 else f"{kilobytes // 1000} MB"


def _turn(way: Way, samples: int) -> _Turn:
    way.go()
    time.sleep(_WARM_S)
    cpu_s, started_s, taken = way.cpu_s(), time.monotonic(), way.taken
    time.sleep(_TURN_S)
    took_s, gigabytes = time.monotonic() - started_s, (way.taken - taken) * samples * 4 / 1e9
    turn = _Turn(gigabytes / took_s, (way.cpu_s() - cpu_s) / gigabytes if gigabytes else float("inf"))
    way.pause()
    return turn


def _fastest(turns: Sequence[_Turn]) -> float:
    return max(turn.gb_per_s for turn in turns)


def _cheapest(turns: Sequence[_Turn]) -> float:
    return min(turn.cpu_s_per_gb for turn in turns)
