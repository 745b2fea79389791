"""`sonorant key`: API keys for the recognizer's clients."""

from datetime import datetime
from pathlib import Path

import click

__all__ = ["command"]


@click.command("key")
@click.argument("name")
@click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="File of keys, `serving.api_keys` of the recognizer; made if it is not there.",
)
@click.option("--streams", type=click.IntRange(1, 999_999_999), help="Streams at once with this name's keys.")
@click.option("--expires", type=click.DateTime(["%Y-%m-%d"]), help="First day (UTC) on which the key is refused.")
@click.option("--admin", is_flag=True, help="An operator's key, which may reload models and set their labels.")
def command(name: str, path: Path, streams: int | None, expires: datetime | None, admin: bool) -> None:
    """Make an API key for the client NAME: print it, and append its hash and limits to the file.

    The key is printed this once. A running recognizer takes the file up within seconds. To replace a key, make another
    of the same name, and delete the old one's line, or write `disabled` at its end, when its client has the new one.
    """
    from services.recognizer.key_file import append_key, is_over

    if expires is not None and is_over(expires.date()):
        raise click.BadParameter(f"--expires {expires.date()}: the key would be refused at once; expected a later day")

    click.echo(append_key(path, name, streams, expires.date() if expires else None, admin=admin))
