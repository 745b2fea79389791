import json
import os
from datetime import UTC, date, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from services.recognizer import key_file
from services.recognizer.key_file import KeyFile, append_key, read_keys
from sonorant.errors import Unavailable
from sonorant.serving.api_keys import BadApiKeys, hashed
from sonorant.serving.errors import Unauthenticated


@pytest.fixture
def path(tmp_path):
    return tmp_path / "api.keys"


def accepted(keys, secret):
    try:
        return keys.caller(secret).name
    except Unauthenticated:
        return None


def test_what_is_appended_is_accepted_and_the_file_has_no_secret(path):
    secrets = [append_key(path, "one", 3, date(2999, 1, 1)), append_key(path, "two")]
    keys = KeyFile(path)
    assert [accepted(keys, secret) for secret in secrets] == ["one", "two"]
    assert (keys.caller(secrets[0]).streams, keys.caller(secrets[1]).streams) == (3, None)
    assert path.stat().st_mode & 0o777 == 0o600
    assert not any(secret in path.read_text() or secret[9:] in path.read_text() for secret in secrets)
    assert path.read_text().splitlines()[0] == f"one sha256:{hashed(secrets[0]).hex()} streams=3 expires=2999-01-01"


def test_a_line_without_its_end_stays_a_line(path):
    first = append_key(path, "one")
    path.write_text(path.read_text().rstrip("\n"))
    second = append_key(path, "two")
    assert [accepted(KeyFile(path), secret) for secret in (first, second)] == ["one", "two"]


def test_a_key_is_not_appended_to_what_is_no_file_of_keys(path):
    path.write_text("recipe: 3\n")
    path.chmod(0o600)
    with pytest.raises(BadApiKeys, match=r"api.keys, line 1: name 'recipe:'"):
        append_key(path, "one")
    assert path.read_text() == "recipe: 3\n"
    with pytest.raises(BadApiKeys, match="name 'o n e'"):
        append_key(path.with_name("other"), "o n e")
    assert not path.with_name("other").exists()
    with pytest.raises(Unavailable, match="none/other: cannot be written"):
        append_key(path.parent / "none" / "other", "one")


def test_keys_are_rolled_without_a_restart(path):
    old = append_key(path, "one")
    keys = KeyFile(path)
    new = append_key(path, "one")
    assert (accepted(keys, old), accepted(keys, new)) == ("one", None)
    keys.refresh()
    assert (accepted(keys, old), accepted(keys, new)) == ("one", "one")
    replacement = path.with_name("next")
    replacement.write_text(path.read_text().splitlines()[1])
    replacement.replace(path)
    keys.refresh()
    assert (accepted(keys, old), accepted(keys, new)) == (None, "one")


@pytest.mark.parametrize("fault", ["line", "bytes", "mode", "gone"])
def test_a_file_that_cannot_be_used_keeps_the_keys_and_is_logged_once(path, fault):
    secret = append_key(path, "one")
    keys = KeyFile(path)
    whole = path.read_bytes()
    if fault == "line":
        path.write_bytes(whole + b"two sha256:\n")
    elif fault == "bytes":
        path.write_bytes(whole + b"\xff\n")
    elif fault == "mode":
        path.chmod(0o666)
    else:
        path.unlink()
    with capture_logs() as logs:
        keys.refresh()
        keys.refresh()
    (refusal,) = logs
    expected = {
        "line": "line 2: 7 characters after the name 'two'",
        "bytes": "line 2: byte 0xff: expected UTF-8",
        "mode": "mode 0666, others may write it: expected 0644; chmod go-w",
        "gone": "No such file",
    }[fault]
    assert refusal["event"] == "api_keys_refused"
    assert str(path) in refusal["reason"]
    assert expected in refusal["reason"]
    assert accepted(keys, secret) == "one"
    path.unlink(missing_ok=True)
    path.write_bytes(whole.replace(b"one", b"uno"))
    path.chmod(0o640)
    with capture_logs() as logs:
        keys.refresh()
    assert [entry["event"] for entry in logs] == ["api_keys_read"]
    assert accepted(keys, secret) == "uno"
    assert secret not in json.dumps(logs)


def test_a_recognizer_does_not_start_with_such_a_file(path):
    with pytest.raises(BadApiKeys, match=r"api.keys: API keys cannot be read: No such file"):
        KeyFile(path)
    path.write_bytes(b"#" * (key_file._MOST_BYTES + 1))
    path.chmod(0o600)
    with pytest.raises(BadApiKeys, match="more than 4194304 bytes"):
        read_keys(path)
    with pytest.raises(BadApiKeys, match="Is a directory"):
        read_keys(path.parent)


def test_the_day_of_expiry_is_today_s_in_utc(path):
    today = datetime.now(UTC).date()
    past, coming = (
        append_key(path, "past", None, today - timedelta(1)),
        append_key(path, "a", None, today + timedelta(2)),
    )
    keys = KeyFile(path)
    assert (accepted(keys, past), accepted(keys, coming)) == (None, "a")


def test_a_secret_mounted_by_kubernetes_is_followed(tmp_path):
    """Its files are links into a folder that another link names, which is replaced."""
    secrets = {}
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        secrets[version] = append_key(tmp_path / version / "keys", "one")
    (tmp_path / "data").symlink_to("1")
    (tmp_path / "keys").symlink_to("data/keys")
    keys = KeyFile(tmp_path / "keys")
    (tmp_path / "new").symlink_to("2")
    os.replace(tmp_path / "new", tmp_path / "data")
    keys.refresh()
    assert [accepted(keys, secret) for secret in secrets.values()] == [None, "one"]
