import pytest
from click.testing import CliRunner

from sonorant.cli import lm, score, text, tokenizer


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (lm.command, ["a.txt", "b.txt", "-o", "b.txt"]),
        (lm.command, ["a.txt", "--dev", "b.txt", "-o", "b.txt"]),
        (lm.command, ["a.txt", "b.txt", "-o", "link"]),
        (tokenizer.command, ["a.txt", "b.txt", "--recipe", "r.yaml", "-o", "b.txt"]),
        (score.command, ["a.txt", "b.txt", "--html", "b.txt"]),
    ],
)
def test_a_file_to_read_is_not_replaced_by_the_output(tmp_path, monkeypatch, command, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("one two\n")
    (tmp_path / "link").symlink_to("b.txt")
    done = CliRunner().invoke(command, arguments)
    assert (done.exit_code, f"{arguments[-1]} is to be read, and would be replaced" in done.output) == (2, True)
    assert (tmp_path / "b.txt").read_text() == "one two\n"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [(lm.command, ["a.txt"]), (tokenizer.command, ["a.txt"]), (text.command, ["run"])],
)
def test_the_standard_output_has_no_short_name(tmp_path, monkeypatch, command, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one two\n")
    done = CliRunner().invoke(command, [*arguments, "-o", "-"])
    assert (done.exit_code, "-: expected a file to write; /dev/stdout is" in done.output) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
