"""`sonorant train` as users run it: all processes real, killed and started again."""

import json
import os
import signal
import subprocess
import sys

import pytest
from rigs.local import epochs_begun, finish, hit, make_workplace, prepared, processes_of, sonorant, steps
from rigs.waiting import eventually

from services.supervisor import cluster


@pytest.mark.parametrize(("cores", "ranks", "threads"), [(1, 1, 1), (2, 1, 1), (8, 1, 7), (8, 2, 3), (2, 4, 1)])
def test_ranks_share_the_cores_but_one(monkeypatch, cores, ranks, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert cluster.rank_threads(ranks) == threads


@pytest.fixture
def workplace(tmp_path):
    return make_workplace(tmp_path)


def test_training_survives_sigkill_of_anyone_and_ctrl_c_and_uses_each_example_once(workplace):
    prepared(workplace)
    first = sonorant(workplace, "train")
    eventually(lambda: steps(workplace) >= 5, process=first)
    status = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", "status", "--run", workplace / "run", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {r["stage"] for r in json.loads(status.stdout)["replicas"]} >= {"example_server"}
    code, said = finish(sonorant(workplace, "train"))
    assert (code, "trains or prepares there already" in said) == (69, True)
    code, said = finish(sonorant(workplace, "prepare", "--set", "corpus.strings.train=100"))
    assert (code, "trains or prepares there already" in said) == (69, True)
    first.kill()
    finish(first)
    eventually(lambda: not processes_of(workplace), lambda: processes_of(workplace))

    reached = steps(workplace)
    second = sonorant(workplace, "train")
    eventually(lambda: steps(workplace) > reached, process=second)
    for victim in ("redis-server", "services.trainer"):
        reached = steps(workplace)
        hit(workplace, victim)
        eventually(lambda reached=reached: steps(workplace) > reached, process=second)
    second.send_signal(signal.SIGINT)
    code, said = finish(second)
    assert (code, "goes on from the last checkpoint" in said) == (130, True)
    assert processes_of(workplace) == {}
    assert "Redis is now ready to exit" in (workplace / "run/logs/redis.log").read_text()  # asked to leave, not killed
    assert not (workplace / "run/finished.json").exists()

    code, said = finish(sonorant(workplace, "train", "--set", "model.cells=9"))
    assert (code, "made with another recipe: " in said) == (65, True)

    epochs = epochs_begun(workplace)
    code, said = finish(sonorant(workplace, "train", "--set", f"training.epochs={epochs}"))
    assert code == 0, said
    assert "is complete" in said
    totals = json.loads((workplace / "run/finished.json").read_text())
    assert totals["ledger"] == {"committed": 120 * epochs, "rejected": 0, "lost": 0, "duplicated": 0}
    assert processes_of(workplace) == {}

    supervised = (workplace / "run/logs/supervisor.log").read_text()
    code, said = finish(sonorant(workplace, "train", "--set", f"training.epochs={epochs}"))
    assert (code, "is complete" in said) == (0, True)
    code, said = finish(sonorant(workplace, "train", "--set", f"training.epochs={epochs}", "--set", "model.cells=9"))
    assert (code, "made with another recipe: " in said) == (65, True), said
    assert (workplace / "run/logs/supervisor.log").read_text() == supervised  # nothing was started

    code, said = finish(sonorant(workplace, "train", "--set", f"training.epochs={epochs + 2}"))
    assert (code, "is complete" in said) == (0, True)
    totals = json.loads((workplace / "run/finished.json").read_text())
    assert totals["epochs"] == epochs + 2
    assert totals["ledger"] == {"committed": 120 * (epochs + 2), "rejected": 0, "lost": 0, "duplicated": 0}


def test_training_without_shards_says_to_prepare(workplace):
    code, said = finish(sonorant(workplace, "train"))
    assert code == 65
    assert "run `sonorant prepare --recipe tiny.yaml --run run --data data` first" in said


def test_shards_of_another_corpus_are_refused(workplace):
    prepared(workplace)
    code, said = finish(sonorant(workplace, "train", "--set", "corpus.strings.train=100"))
    assert code == 78
    assert "shards: made with another recipe: corpus.strings.train: 120 then, 100 now; run `sonorant prepare" in said
