import shutil

import pytest
from rigs.s3 import S3Server
from s3fs import S3FileSystem


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr("services.storage.checkpoints._LOOK_EVERY_S", 0.05)
    yield
    S3FileSystem.clear_instance_cache()  # credentials and address are read anew


@pytest.fixture
def stores(tmp_path, monkeypatch, request):
    """Return what makes the URL of an empty store, of a scheme."""

    def url(scheme):
        if scheme == "file":
            return f"file://{tmp_path}/store"
        server = request.getfixturevalue("s3")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        return f"s3://bucket/{tmp_path.name}"

    return url


@pytest.fixture
def url(stores):
    """URL of an empty store: of a real S3 server, or of files where there is none."""
    return stores("s3" if shutil.which("versitygw") else "file")
