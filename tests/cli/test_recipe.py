"""`sonorant recipe`: what is printed for people, held against where they read it."""

from pathlib import Path

from click.testing import CliRunner

from sonorant.cli.recipe import command

README = Path(__file__).parents[2] / "README.md"


def test_readme_has_the_table_of_stages():
    printed = CliRunner().invoke(command, ["stages"], catch_exceptions=False).output
    assert printed in README.read_text()
