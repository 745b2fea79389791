from rigs.tracked_run import TrackedRun, tracked_recipe

from sonorant.tracking.journal import Journal, Point, parameters


def made(tmp_path):
    run = TrackedRun(tmp_path)
    return run, Journal(run.folder)


def test_there_are_points_up_to_the_newest_checkpoint_each_once(tmp_path):
    run, journal = made(tmp_path)
    run.make(1, 2, 3)
    assert list(journal.points()) == []
    run.save(2)
    first = [Point("step/loss", 1.0, 1, 1.0), Point("step/gradient_norm", 2.0, 1, 1.0)]
    second = [Point("step/loss", 2.0, 2, 2.0), Point("step/gradient_norm", 4.0, 2, 2.0)]
    assert list(journal.points()) == first + second
    run.save(3)
    assert [point.step for point in journal.points()] == [3, 3]
    assert list(journal.points()) == []
    journal.rewind()
    assert list(journal.points())[:4] == first + second


def test_totals_are_points_and_what_is_no_figure_of_training_is_none(tmp_path):
    run, journal = made(tmp_path)
    run.write("skipped", 1, utterances=["a"])
    run.write("stages", 1, rate={"room": 2.0})
    run.write("dev", 1, wer=0.25)
    run.write("end", 1, reason="epochs", best_wer=None, ledger={"committed": 20, "lost": 0})
    run.save(1)
    assert [point[:2] for point in journal.points()] == [
        ("dev/wer", 0.25),
        ("end/ledger/committed", 20.0),
        ("end/ledger/lost", 0.0),
    ]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path):
    run, journal = made(tmp_path)
    run.save(1)
    text = '{"kind": "step", "step": 1, "time_s": 1.0, "loss": 12.0}\n'
    for part, steps in ((text[:-9], []), (text[-9:-1], []), (text[-1:], [1])):
        with run.folder.metrics.open("a") as file:
            file.write(part)
        assert [point.step for point in journal.points()] == steps


def test_parameters_are_all_settings_by_their_keys_but_the_tracker_s():
    found = parameters(tracked_recipe("http://127.0.0.1:5000", stages=[{"stage": "vtlp"}, {"stage": "room"}]))
    assert found["name"] == "tiny"
    assert found["stages.1.stage"] == "room"
    assert found["training.learning_rate"] == "0.001"
    assert found["evaluation.paced"] == "true"
    assert found["corpus.splits.unseen_speakers.0"] == "uma"
    assert not [key for key in found if key.startswith("tracking")]
