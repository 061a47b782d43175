"""A master that keeps one trial, for tests: plain HTTP, written without the package, so that the two check each other."""
import hashlib
import http.server
import json
import threading
import time
import urllib.parse


class FakeTrialMaster:
    """Serves trial 12.3 on a port of its own. ``troubles`` are (end of the path, status or "cut" or "served and cut")."""

    token = "cadre-of-the-task"

    def __init__(self):
        self.run = {"trial": "12.3", "run": 1, "hyperparameters": {}, "seed": 42, "config": {}, "until": 0}
        self.lock = threading.Lock()
        self.troubles = []
        self.batches = []
        self.news = []
        self.checkpoints = {}
        self.files = {}
        self.parts = {}
        self.faults = []
        self.port = 0
        self.start()

    @property
    def environment(self):
        return {"CADRE_TRIAL": "12.3", "CADRE_EXPERIMENT": "12", "CADRE_MASTER": f"http://127.0.0.1:{self.port}",
                "CADRE_TOKEN": self.token}

    def start(self):
        master = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with master.lock:
                    master.take(self, body)

            do_GET = do_PUT = do_POST = serve

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def restart_after(self, seconds):
        """Goes away, and comes back on another thread."""
        self.stop()
        later = threading.Thread(target=lambda: (time.sleep(seconds), self.start()))
        later.start()
        return later

    def steps_of(self, group):
        """Steps of the reports in order; a batch that was repeated as it is counts once."""
        with self.lock:
            batches = [batch for at, batch in enumerate(self.batches) if at == 0 or batch != self.batches[at - 1]]
        return [report["steps"] for batch in batches for report in batch if report["group"] == group]

    def reports(self):
        with self.lock:
            return [report for batch in self.batches for report in batch]

    def take(self, handler, body):
        url = urllib.parse.urlsplit(handler.path)
        trouble = next((one for one in self.troubles if url.path.endswith(one[0])), None)
        if trouble is not None:
            self.troubles.remove(trouble)
        fate = trouble[1] if trouble else None
        if fate == "cut":
            handler.close_connection = True
            return
        if isinstance(fate, int):
            status, answer = fate, {"title": "no", "status": fate, "detail": trouble[2] if len(trouble) > 2 else "no"}
        elif handler.headers.get("Authorization") != f"Bearer {self.token}":
            status, answer = 401, {"title": "no", "status": 401, "detail": "the token is not valid"}
        else:
            query = {key: values[0] for key, values in urllib.parse.parse_qs(url.query).items()}
            status, answer = self.answer(handler.command, url.path.split("/")[3:], query, body)
        if fate == "served and cut":
            handler.close_connection = True
            return
        is_raw = isinstance(answer, bytes)
        packed = answer if is_raw else json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/octet-stream" if is_raw else "application/json")
        handler.send_header("Content-Length", str(len(packed)))
        handler.end_headers()
        handler.wfile.write(packed)

    def answer(self, method, path, query, body):
        operation = (method, path[0], *path[2::2])
        if operation == ("POST", "trials", "run"):
            return 200, self.run
        if operation == ("POST", "trials", "state"):
            self.news.append(json.loads(body))
            return 200, {}
        if operation == ("POST", "trials", "metrics"):
            self.batches.append(json.loads(body)["reports"])
            return 200, {"accepted": len(self.batches[-1]), "faults": self.faults}
        if operation == ("PUT", "trials", "checkpoints"):
            self.files[path[3]] = {}
            return 200, {"id": path[3], "trial": "12.3"}
        if operation == ("POST", "trials", "checkpoints", "complete"):
            whole = json.loads(body)
            view = {"id": path[3], "trial": "12.3", "run": 1, "steps": whole["steps"], "files": whole["files"],
                    "metadata": whole.get("metadata", {}), "size": sum(one["size"] for one in whole["files"])}
            for one in whole["files"]:
                assert hashlib.sha256(self.files[path[3]][one["name"]]).hexdigest() == one["hash"]
            self.checkpoints[path[3]] = view
            return 200, view
        if operation == ("GET", "checkpoints") and path[1] in self.checkpoints:
            return 200, self.checkpoints[path[1]]
        if operation == ("PUT", "checkpoints", "files"):
            part = self.parts.setdefault((path[1], query["name"]), bytearray())
            if int(query["offset"]) == len(part):
                part += body
            is_whole = hashlib.sha256(part).hexdigest() == query["hash"]
            if is_whole:
                self.files[path[1]][query["name"]] = bytes(part)
            return 200, {"have": len(part), "complete": is_whole}
        if operation == ("GET", "checkpoints", "files"):
            offset = int(query.get("offset", 0))
            return 200, self.files[path[1]][query["name"]][offset:offset + int(query.get("most", 1 << 20))]
        return 404, {"title": "no", "status": 404, "detail": "there is no such object"}
