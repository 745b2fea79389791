import click
import pytest
from click.testing import CliRunner

from services.launcher.main import command, pod_ordinal


def test_a_pods_number_is_its_rank():
    assert [pod_ordinal(host) for host in ("words-trainer-0", "words-trainer-12")] == [0, 12]
    with pytest.raises(click.UsageError, match="laptop"):
        pod_ordinal("laptop")


def test_a_rank_that_is_none_of_the_gang_is_refused():
    arguments = ["--ranks", "2", "--rank", "2", "--host", "127.0.0.1", "--redis", "redis://127.0.0.1:1", "--", "true"]
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 2
    assert "rank 2 of 2" in done.output
