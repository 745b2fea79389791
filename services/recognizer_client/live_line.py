"""A line of the terminal that shows a recording's words while they are recognized, until its transcript is printed."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import click

from services.recognizer_client.captions import Captions
from services.recognizer_client.transcript import StreamEvent

__all__ = ["Show", "live_line"]

Show: TypeAlias = Callable[[StreamEvent], None]


@contextmanager
def live_line() -> Iterator[Show]:
    """Yield what shows the end of all text up to an event; then empty the line, for the transcript or an error."""
    captions, finals = Captions(), list[str]()

    def show(event: StreamEvent) -> None:
        text = " ".join(filter(None, [*finals, event.text]))
        if event.is_final:
            finals.append(event.text)
        columns = shutil.get_terminal_size().columns  # it may change
        click.echo(captions.interim(text, columns), nl=False)

    try:
        yield show
    finally:
        click.echo(captions.cleared(), nl=False)
