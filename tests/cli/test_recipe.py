"""`sonorant recipe`: what is printed for people, held against where they read it."""

from pathlib import Path

from click.testing import CliRunner

from sonorant.cli.recipe import command

PAGE = Path(__file__).parents[2] / "docs/train-your-speech.md"


def test_the_page_for_own_speech_has_the_table_of_stages():
    printed = CliRunner().invoke(command, ["stages"], catch_exceptions=False).output
    assert printed in PAGE.read_text()
