"""An API server: a real HTTP server with the paths that the autoscaler needs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["ApiServer"]


class _Handler(BaseHTTPRequestHandler):
    def _answer(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        status, answer = self.server.api.answer(self.command, self.path.split("/"), body)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PATCH = do_POST = _answer

    def log_message(self, *_):
        pass


class ApiServer:
    """Scales of Deployments, leases and events of one namespace."""

    def __init__(self):
        self.replicas = {}
        self.leases = {}
        self.events = []
        self.broken = False
        self._server = None
        self.port = 0
        self.start()

    def start(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _Handler)
        self._server.daemon_threads = True
        self._server.api, self.port = self, self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()

    def kubeconfig(self, folder):
        """Write a configuration that leads here, and return its path."""
        path = folder / "kubeconfig"
        there = {"clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}]}
        context = {"cluster": "c", "user": "u", "namespace": "speech"}
        here = {"contexts": [{"name": "x", "context": context}], "users": [{"name": "u", "user": {}}]}
        path.write_text(json.dumps({"current-context": "x", **there, **here}))
        return path

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method, path, body):
        if self.broken:
            return 503, {"kind": "Status", "message": "etcd has no leader"}
        if path[-1] == "events":
            self.events.append((body["type"], body["reason"], body["involvedObject"]["name"], body["message"]))
            return 201, body
        if path[-1] == "scale":
            name = path[-2]
            if method == "PATCH":
                self.replicas[name] = body["spec"]["replicas"]
            return 200, {"metadata": {"name": name, "uid": name}, "spec": {"replicas": self.replicas[name]}}
        return self._lease(method, path[-1], body)

    def _lease(self, method, name, body):
        if method == "POST":
            name = body["metadata"]["name"]
        elif name not in self.leases:
            return 404, {}
        if method != "GET":
            version = str(int(self.leases.get(name, {}).get("metadata", {}).get("resourceVersion", 0)) + 1)
            before = self.leases.get(name, {})
            noted = before.get("metadata", {}).get("annotations", {}) | body["metadata"].get("annotations", {})
            noted = {key: value for key, value in noted.items() if value is not None}
            metadata = {"name": name, "resourceVersion": version, "annotations": noted}
            self.leases[name] = {"metadata": metadata, "spec": body.get("spec", before.get("spec"))}
        return 200, self.leases[name]
