import pytest
from s3_rig import S3Server
from s3fs import S3FileSystem


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def _credentials_are_read_anew():
    yield
    S3FileSystem.clear_instance_cache()


@pytest.fixture(params=["file", "s3"])
def url(request, tmp_path, monkeypatch):
    """URL of a store that is empty: files, and a real S3 server where there is one."""
    if request.param == "file":
        return f"file://{tmp_path}/store"
    server = request.getfixturevalue("s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{tmp_path.name}"
