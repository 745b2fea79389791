from sonorant.cli.initial_note import InitialNote
from sonorant.run_folder import RunFolder
from sonorant.training.metrics import MetricsLog


def write(run, unmatched):
    log = MetricsLog(run.metrics, 0.0)
    figures = {"source": "runs/base", "loaded": 3, "of": 5, "unmatched": unmatched}
    log.write("initial", {"time_s": 0.0, "step": 0, **figures})
    log.close()


def test_it_is_said_once_as_soon_as_it_is_there(tmp_path):
    run, said = RunFolder(tmp_path), []
    note = InitialNote(run, True, said.append)
    log = MetricsLog(run.metrics, 0.0)
    log.write("stages", {"time_s": 0.0})  # stages are told about while the trainer waits for examples
    log.close()
    note.look()
    assert said == []
    write(run, ["a/bias: [3] in the source, none here", "b/bias: none in the source, [4] here"])
    for _ in range(2):
        note.look()
    assert said == [
        "begins with 3 of 5 weights of runs/base; without a match: a/bias: [3] in the source, none here; "
        "b/bias: none in the source, [4] here"
    ]


def test_a_training_that_begins_anew_without_a_checkpoint_says_it_again(tmp_path):
    run, said = RunFolder(tmp_path), []
    write(run, ["of the first: [1] in the source, none here"])
    note = InitialNote(run, True, said.append)
    note.look()
    assert said == []
    write(run, [])
    note.look()
    assert said == ["begins with 3 of 5 weights of runs/base"]


def test_behind_the_first_checkpoint_the_journal_is_not_read(tmp_path, monkeypatch):
    run, said = RunFolder(tmp_path), []
    note = InitialNote(run, True, said.append)
    (run.checkpoints / "step-00000001").mkdir(parents=True)
    note.look()
    monkeypatch.setattr("sonorant.cli.initial_note.read_journal", lambda path: 1 / 0)
    note.look()
    assert said == []


def test_of_many_weights_without_a_match_some_are_named(tmp_path):
    run, said = RunFolder(tmp_path), []
    note = InitialNote(run, True, said.append)
    write(run, [f"w{i}: [1] in the source, [2] here" for i in range(20)])
    note.look()
    assert "w7: " in said[0]
    assert "w8: " not in said[0]
    assert said[0].endswith("; and 12 more in metrics.jsonl")


def test_a_training_that_begins_with_none_reads_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("sonorant.cli.initial_note.read_journal", lambda path: 1 / 0)
    InitialNote(RunFolder(tmp_path), False, print).look()
