"""Reading an API server whose answers break off."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from kubernetes.client import ApiClient, Configuration

from services.doctor.cluster import Verb, look_at
from sonorant.errors import Unavailable

EVERYTHING = {"gitVersion": "v1.34.4", "groups": [], "items": [], "metadata": {}, "status": {"allowed": True}}


@pytest.fixture
def api_server():
    """An API server that has nothing; of its next `broken` answers only the beginning comes."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.dumps(EVERYTHING).encode()
            whole = not self.server.broken
            self.server.broken -= not whole
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if whole else body[:9])

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def looked_at(server):
    client = ApiClient(Configuration(host=f"http://127.0.0.1:{server.server_port}"))
    return look_at(client, "default", [Verb("pods")])


def test_an_answer_that_breaks_off_is_asked_for_again(api_server):
    api_server.broken = 2
    assert looked_at(api_server).version == "1.34.4"


def test_a_server_whose_answers_keep_breaking_off_does_not_answer(api_server):
    api_server.broken = 100
    with pytest.raises(Unavailable, match="the API server does not answer"):
        looked_at(api_server)
