"""Objects in a store, and what is said when there is none."""

import pytest
from rigs.s3 import SECRET, S3Server

from services.storage.objects import BadStore, MissingObject, ObjectStore
from sonorant.errors import Unavailable


@pytest.fixture(params=["file", "s3"])
def store(stores, request):
    return ObjectStore(stores(request.param), patience_s=5)


def test_what_was_put_in_comes_out(store, tmp_path, monkeypatch):
    monkeypatch.setattr("services.storage.objects._BLOCK_BYTES", 1000)
    (tmp_path / "in").write_bytes(bytes(range(250)) * 10)
    (tmp_path / "empty").touch()
    store.upload(tmp_path / "in", "a/b/c")
    store.upload(tmp_path / "empty", "a/empty")
    store.write("a/small", b"0")
    store.write("a/small", b"1")
    assert store.names("a") == ["a/b/c", "a/empty", "a/small"]
    assert (store.read("a/small"), store.read("a/empty")) == (b"1", b"")
    assert store.read_range("a/b/c", 240, 20) == bytes([*range(240, 250), *range(10)])
    for name in ("b/c", "empty"):
        store.download(f"a/{name}", tmp_path / "out" / name)
    assert (tmp_path / "out/b/c").read_bytes() == (tmp_path / "in").read_bytes()
    assert (tmp_path / "out/empty").read_bytes() == b""
    store.remove(["a/b/c", "a/small"])
    assert store.names("a") == ["a/empty"]


def test_what_is_not_there_is_not_waited_for(store, tmp_path):
    assert store.read("none") is None
    assert store.names("none") == []
    with pytest.raises(MissingObject, match="/none: not there"):
        store.download("none", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(FileNotFoundError):
        store.upload(tmp_path / "gone", "gone")


def test_access_refused_is_said_at_once_and_without_the_keys(s3, monkeypatch):
    for name, value in (s3.environment | {"AWS_SECRET_ACCESS_KEY": "wrong"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable, match=r"s3://bucket/x/plan: .*AWS_ACCESS_KEY_ID") as refused:
        ObjectStore("s3://bucket/x", patience_s=1000).write("plan", b"")
    assert SECRET not in str(refused.value)
    assert refused.value.exit_code == 69


def test_a_bucket_that_is_missing_is_named(s3, monkeypatch):
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable, match=r"s3://nobodys/x/plan: not there; is the bucket\?"):
        ObjectStore("s3://nobodys/x", patience_s=1000).write("plan", b"")


def test_a_store_that_is_down_is_waited_for_and_then_named(tmp_path, monkeypatch):
    server = S3Server(tmp_path / "s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Unavailable, match=r"s3://bucket/x/plan: .*is the store up, and AWS_ENDPOINT_URL its address"):
        ObjectStore("s3://bucket/x", patience_s=0).read("plan")
    monkeypatch.setattr("services.storage.objects.time.sleep", lambda _: server.process or server.start())
    try:
        assert ObjectStore("s3://bucket/x", patience_s=60).read("plan") is None
    finally:
        server.kill()


@pytest.mark.parametrize("url", ["s3://key:word@bucket/x", "nothing://bucket/x"])
def test_a_url_that_is_of_no_use_is_refused_and_passwords_are_not_repeated(url):
    with pytest.raises(BadStore) as refused:
        ObjectStore(url, patience_s=0)
    assert "word" not in str(refused.value)
