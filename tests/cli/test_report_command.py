import json

from click.testing import CliRunner
from rigs.small_corpus import digits_recipe, write_digits

from sonorant.cli.report import command
from sonorant.corpus.preparing import prepare
from sonorant.run_folder import RunFolder

END = {"kind": "end", "time_s": 2.0, "reason": "epochs", "train_seconds": 2.0, "t_session": 0.5, "ledger": {}}
HEARD = {"reference": "one two three four", "hypothesis": "one two four four", "first_interim_ms": 9, "final_ms": 20}


def test_the_error_rates_are_told_with_their_intervals(tmp_path):
    run = RunFolder(tmp_path / "run")
    prepare(digits_recipe(), write_digits(tmp_path / "data"), run, progress=lambda *_: None)
    run.metrics.write_text(json.dumps(END) + "\n")
    document = {"model": "tiny/1", "subjects": {}, "streams": {"heldout": 4}, "sets": {"heldout": [HEARD]}}
    run.evaluation.write_text(json.dumps(document))
    done = CliRunner().invoke(command, ["--run", str(run.path), "--data", str(tmp_path / "data")])
    assert done.exit_code == 0, done.output
    assert "heldout: word error rate 25.00% (95 % interval 25.00% to 25.00%) of 4 words\n" in done.output
