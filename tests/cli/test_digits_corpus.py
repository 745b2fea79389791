import http.server
import io
import tarfile
import threading

import pytest
import soundfile

from sonorant.cli import digits_corpus
from sonorant.cli.digits_corpus import obtain_digits
from sonorant.errors import Unavailable

NOWHERE = "http://127.0.0.1:1/corpus.tar.gz"


def _archive(names):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"RIFF"))
    return packed.getvalue()


@pytest.fixture
def serve():
    """Serve bytes over HTTP on a free port; gives a function from bytes, and headers, to their address."""
    servers = []

    def start(content, **headers):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.close_connection = True
                self.send_response(200)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/corpus.tar.gz"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_download_takes_the_recordings_and_nothing_else(tmp_path, serve):
    inside = ["fsdd-1/recordings/3_george_7.wav", "fsdd-1/../../recordings/evil.wav", "fsdd-1/README.md"]
    said = []
    obtain_digits(tmp_path, said.append, serve(_archive(inside)))
    assert [path.name for path in (tmp_path / "fsdd/recordings").iterdir()] == ["3_george_7.wav"]
    assert "downloaded" in (tmp_path / "fsdd/SOURCE").read_text()


def test_what_is_there_is_not_brought_again(tmp_path, serve):
    obtain_digits(tmp_path, lambda text: None, serve(_archive(["x/recordings/3_george_7.wav"])))
    obtain_digits(tmp_path, pytest.fail, NOWHERE)


@pytest.mark.parametrize(
    "content", [b"not an archive", _archive(["README.md"]), _archive(["x/recordings/3_george_7.wav"])[:-20]]
)
def test_without_a_usable_download_espeak_speaks_and_says_so(tmp_path, serve, monkeypatch, content):
    monkeypatch.setattr(digits_corpus, "_TAKES", 1)
    said = []
    obtain_digits(tmp_path, said.append, serve(content))
    recordings = sorted((tmp_path / "fsdd/recordings").iterdir())
    assert len(recordings) == 50
    assert all(soundfile.info(path).duration > 0.2 for path in recordings)
    assert "synthetic" in (tmp_path / "fsdd/SOURCE").read_text()
    assert any("NOT real speech" in line for line in said)


def test_a_download_that_is_cut_off_is_none(tmp_path, serve, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    said = []
    with pytest.raises(Unavailable, match="no recordings, no network and no espeak-ng"):
        obtain_digits(tmp_path, said.append, serve(b"100\r\ncut", Transfer_Encoding="chunked"))
    assert "That failed (IncompleteRead" in said[-1]


def test_without_network_and_espeak_it_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="SONORANT_DATA"):
        obtain_digits(tmp_path / "data", lambda text: None, NOWHERE)
    assert not (tmp_path / "data/fsdd").exists()
