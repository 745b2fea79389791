from click.testing import CliRunner

from sonorant.cli.status import command
from sonorant.errors import Unavailable


def test_a_folder_without_a_training_is_named(tmp_path):
    result = CliRunner().invoke(command, ["--run", str(tmp_path)])
    assert isinstance(result.exception, Unavailable)
    assert "no training has been started" in str(result.exception)


def test_a_coordinator_that_is_gone_is_named(tmp_path):
    (tmp_path / "coordinator.address").write_text("127.0.0.1:1\n")
    result = CliRunner().invoke(command, ["--run", str(tmp_path), "--json"])
    assert isinstance(result.exception, Unavailable)
    assert "127.0.0.1:1 does not answer" in str(result.exception)
