"""What strangers and users try who want more than they may: each is refused, counted, and harms nobody."""
import hashlib
import json
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request

from cluster import PROGRAM, Cluster


def memory_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.web = pathlib.Path(tempfile.mkdtemp(prefix="cadre-web-"))
        (cls.web / "index.html").write_text("<p>page</p>")
        (cls.web / "assets").mkdir()
        (cls.web / "assets" / "app.js").write_text("run()")
        (cls.web / ".hidden").write_text("secret")
        (cls.web / "link").symlink_to("/etc/passwd")
        config = cls.web / ".config.yaml"
        config.write_text(f"http: {{web: {cls.web}}}\n")
        cls.cluster = Cluster(master=("--config", config))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()
        shutil.rmtree(cls.web)

    def setUp(self):
        self.assertEqual(self.cluster.get("/health", token=None).status, 200)

    def tearDown(self):
        self.assertEqual(self.cluster.get("/me").status, 200)

    def talk(self, data, wait=20):
        """Sends bytes and gives all that comes until the other side closes or is silent."""
        with socket.create_connection(("127.0.0.1", self.cluster.port), timeout=wait) as peer:
            peer.sendall(data)
            got = b""
            try:
                while chunk := peer.recv(65536):
                    got += chunk
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def plain(self, path):
        connection = self.cluster.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def test_guessed_passwords_are_rate_limited(self):
        cluster = self.cluster
        made = cluster.request("POST", "/users", body={"name": "victim", "password": "correct horse"})
        self.assertEqual(made.status, 200)
        attempt = lambda password: cluster.request("POST", "/login", token=None,
                                                   body={"user": "victim", "password": password}).status
        outcomes = [attempt(f"guess {i}") for i in range(12)]
        self.assertEqual(set(outcomes), {401, 429})
        self.assertGreaterEqual(outcomes.count(429), 5)
        self.assertEqual(attempt("correct horse"), 429)  # the right password must wait, too
        results = []
        threads = [threading.Thread(target=lambda: results.append(attempt("more guesses"))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(results.count(401), 2)
        self.cluster.until(lambda: attempt("correct horse") == 200, seconds=120)

    def test_tokens_that_have_expired_or_are_revoked(self):
        cluster = self.cluster
        short = cluster.request("POST", "/tokens", body={"valid": "1s"}).json
        self.assertEqual(cluster.get("/me", token=short["token"]).status, 200)
        cluster.until(lambda: cluster.get("/me", token=short["token"]).status == 401)
        other = cluster.request("POST", "/tokens", body={}).json
        self.assertEqual(cluster.get("/me", token=other["token"]).status, 200)
        self.assertEqual(cluster.request("DELETE", "/tokens/" + other["about"]["id"]).status, 200)
        self.assertEqual(cluster.get("/me", token=other["token"]).status, 401)
        token = cluster.user("shortlived", {"default": "editor"})
        self.assertEqual(cluster.request("PATCH", "/users/shortlived", body={"active": False}).status, 200)
        self.assertEqual(cluster.get("/me", token=token).status, 401)

    def test_the_token_of_a_task_is_good_for_that_task_only(self):
        cluster = self.cluster
        ann = cluster.user("ann", {"default": "editor"})
        job = cluster.run(["sh", "-c", "echo $CADRE_MASTER; echo $CADRE_TOKEN; sleep 1000"], token=ann)
        lines = []

        def spoken():
            lines[:] = [line["text"] for line in cluster.get(f"/tasks/{job}.0/logs").json["lines"]]
            return len(lines) == 2

        cluster.until(spoken)
        url, token = lines
        self.assertEqual(url, cluster.url)
        me = cluster.get("/me", token=token).json
        self.assertEqual((me["user"]["name"], me["task"]), ("ann", f"{job}.0"))
        self.assertEqual(cluster.request("POST", "/tokens", token=token, body={}).status, 403)
        self.assertEqual(cluster.request("PATCH", "/users/ann", token=token, body={"password": "a new one"}).status, 403)
        others = cluster.run(["sleep", "1000"])
        self.assertEqual(cluster.request("POST", f"/jobs/{others}/kill", token=token).status, 403)
        forged = token.replace(f"task-{job}.0", f"task-{others}.0")
        self.assertEqual(cluster.get("/me", token=forged).status, 401)
        self.assertEqual(cluster.get("/me", token=token[:-1] + ("0" if token[-1] != "0" else "1")).status, 401)
        for one in (job, others):
            self.assertEqual(cluster.request("POST", f"/jobs/{one}/kill").status, 200)
            cluster.wait_for(one)
        self.assertEqual(cluster.get("/me", token=token).status, 401)

    def test_a_viewer_cannot_kill(self):
        cluster = self.cluster
        viewer = cluster.user("looker", {"default": "viewer"})
        job = cluster.run(["sleep", "1000"])
        for path in ("stop", "kill"):
            self.assertEqual(cluster.request("POST", f"/jobs/{job}/{path}", token=viewer).status, 403)
            self.assertEqual(cluster.request("POST", f"/tasks/{job}.0/{path}", token=viewer).status, 403)
        self.assertEqual(cluster.get(f"/jobs/{job}", token=viewer).json["stage"] in ("queued", "running"), True)
        refused = [one for one in cluster.get("/audit").json["entries"] if one["user"] == "looker" and not one["done"]]
        self.assertEqual(len(refused), 4)
        cluster.request("POST", f"/jobs/{job}/kill")

    def test_paths_that_climb(self):
        self.assertEqual(self.plain("/"), (200, b"<p>page</p>"))
        self.assertEqual(self.plain("/assets/app.js"), (200, b"run()"))
        for path in ("/../etc/passwd", "/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/assets/../../etc/passwd",
                     "/assets/%2e%2e/.hidden", "/.hidden", "/link", "//etc/passwd", "/assets", "/assets/", "/%00",
                     "/assets%2fapp.js%00.html", "/..\\..\\etc\\passwd"):
            status, body = self.plain(path)
            self.assertIn(status, (400, 404), path)
            self.assertNotIn(b"root:", body)
            self.assertNotIn(b"secret", body)
        for path in ("/tasks/../logs", "/tasks/..%2f..%2fmaster.keys/logs", "/tasks/1.0%2f..%2f../logs",
                     "/code/" + "../" * 21 + "x", "/code/" + "%2e%2e%2f" * 7 + "x"):
            self.assertIn(self.cluster.get(path).status, (400, 404), path)

    def test_headers_and_bodies_that_are_too_large(self):
        self.assertIn(b" 431 ", self.talk(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"))
        self.assertIn(b" 413 ", self.talk(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n"))
        self.assertIn(b" 413 ", self.talk(b"POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"))
        deep = b"[" * 100_000
        self.assertEqual(self.cluster.request("POST", "/jobs", raw=deep).status, 400)
        wide = json.dumps({"members": [{"command": {"argv": ["x"] * 300_000}}]}).encode()
        self.assertEqual(self.cluster.request("POST", "/jobs", raw=wide).status, 400)

    def test_uploads_that_one_user_never_ends_stop_no_others(self):
        cluster = self.cluster
        flood = cluster.user("flood", {"default": "editor"})
        contents = [b"content %d" % i for i in range(256)]
        jobs = []

        def submit(members):
            made = cluster.request("POST", "/jobs", token=flood, body={"members": members})
            self.assertEqual(made.status, 200, made.body)
            jobs.append(made.json["id"])

        submit([{"slots": 4, "command": {"argv": ["sleep", "600"]}}])  # all there are: the others wait
        for begin in range(0, 256, 4):
            submit([{"role": f"m{i}", "slots": 1,
                     "command": {"argv": ["true"], "code": hashlib.sha256(contents[i]).hexdigest()}}
                    for i in range(begin, begin + 4)])

        def put(content, offset, token):
            path = "/code/" + hashlib.sha256(content).hexdigest()
            return cluster.request("PUT", path, token=token, query={"size": len(content), "offset": offset},
                                   raw=content[offset:offset + 1])

        def begin_all():
            for one in contents:
                self.assertEqual(put(one, 0, flood).status, 200)

        other = cluster.user("other", {"default": "editor"})
        begin_all()
        self.assertEqual(put(b"ab", 0, other).json, {"have": 1, "complete": False})
        begin_all()
        self.assertEqual(put(b"ab", 1, other).json, {"have": 2, "complete": True})
        for job in jobs:
            self.assertEqual(cluster.request("POST", f"/jobs/{job}/kill", token=flood, body={}).status, 200)

    def test_bodies_that_no_route_reads_are_refused(self):
        for method, path in (("GET", "/status"), ("GET", "/jobs/1?seen=1"), ("DELETE", "/tokens/none"), ("GET", "/none")):
            answer = self.cluster.request(method, path, raw=b"x" * 1000)
            self.assertEqual(answer.status, 400, (method, path))
            self.assertIn("have no body", answer.json["title"])

    def test_slow_peers_are_dropped_and_do_not_affect_others(self):
        slow = []
        for _ in range(300):
            peer = socket.create_connection(("127.0.0.1", self.cluster.port))
            peer.sendall(b"GET /api/v1/health HTT")
            slow.append(peer)
        begun = time.monotonic()
        while time.monotonic() - begun < 3:
            self.assertEqual(self.cluster.get("/health", token=None).status, 200)
        self.cluster.until(lambda: self.are_closed(slow), seconds=60)
        for peer in slow:
            peer.close()

    @staticmethod
    def are_closed(peers):
        for peer in peers:
            peer.setblocking(False)
            try:
                while peer.recv(4096):
                    pass
            except BlockingIOError:
                return False
            except ConnectionResetError:
                pass
        return True

    def test_garbage_costs_no_memory(self):
        dice = random.Random(3)
        shapes = [b"\x16\x03\x01" + bytes(200), b"GET / HTTP/9.9\r\n\r\n", b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                  b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                  b"\x00" * 100, b"GET /api/v1/changes HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n"]

        def attack(i):
            with socket.create_connection(("127.0.0.1", self.cluster.port), timeout=5) as peer:
                peer.sendall(dice.choice(shapes) if i % 2 else dice.randbytes(dice.randint(1, 400)))
                hear_to_the_end(peer)

        self.expect_refusals_without_memory(attack)

    def test_hostile_websocket_frames_cost_no_memory(self):
        dice = random.Random(4)
        handshake = ("GET /api/v1/changes HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     f"Authorization: Bearer {self.cluster.admin}\r\n\r\n").encode()
        frames = [b"\x81\x03abc", b"\xff" * 8,  # not masked; bits that are reserved
                  b"\x81\x81\0\0\0\0\xff", b"\x88\x81\0\0\0\0\x03",  # not UTF-8; half a code
                  b"\x09\x80\0\0\0\0", b"\x80\x80\0\0\0\0",  # a ping in fragments; goes on with nothing
                  b"\x82\xff" + (1 << 60).to_bytes(8, "big") + bytes(20), b"GET / HTTP/1.1\r\n\r\n"]

        def attack(i):
            with socket.create_connection(("127.0.0.1", self.cluster.port), timeout=20) as peer:
                peer.sendall(handshake)
                heard = b""
                while b"\r\n\r\n" not in heard:
                    more = peer.recv(4096)
                    self.assertTrue(more, heard)
                    heard += more
                self.assertTrue(heard.startswith(b"HTTP/1.1 101 "), heard)
                peer.sendall(dice.choice(frames) if i % 2 else dice.randbytes(dice.randint(1, 400)))
                hear_to_the_end(peer)

        self.expect_refusals_without_memory(attack)

    def refused(self):
        metrics = urllib.request.Request(self.cluster.url + "/metrics", headers={"Authorization": "Bearer " + self.cluster.admin})
        text = urllib.request.urlopen(metrics).read().decode()
        return next(float(line.split()[1]) for line in text.splitlines()
                    if line.startswith("cadre_http_refused_malformed_total "))

    def expect_refusals_without_memory(self, attack, count=10_000):
        """Most are counted; the second half of them takes less than 2 MiB, and a job still runs to its end."""
        master = self.cluster.processes["master"].pid
        before = self.refused()
        for i in range(count):
            try:
                attack(i)
            except OSError:  # it was cut off
                pass
            if i == count // 2:
                half = memory_kib(master)
        if "CADRE_SANITIZED" not in os.environ:  # which keep what is freed for a while
            self.assertLess(memory_kib(master) - half, 2048)
        self.assertGreater(self.refused() - before, count // 2)
        job = self.cluster.wait_for(self.cluster.run(["true"]))
        self.assertEqual((job["reason"], job["code"]), ("exited", 0))


def hear_to_the_end(peer):
    peer.shutdown(socket.SHUT_WR)
    while peer.recv(4096):
        pass


class Tls(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-tls-"))
        self.make("root", None, "CA:TRUE")
        self.make("middle", "root", "CA:TRUE")
        self.make("leaf", "middle", "CA:FALSE", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        chain = (self.folder / "leaf.pem").read_text() + (self.folder / "middle.pem").read_text()
        (self.folder / "chain.pem").write_text(chain)

    def make(self, name, issuer, basic, extra=None):
        path = lambda what: str(self.folder / what)
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)
        run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", path(name + ".key"), "-out",
            path(name + ".csr"), "-subj", f"/CN=cadre {name}")
        extensions = self.folder / (name + ".ext")
        extensions.write_text(f"basicConstraints={basic}\n" + (extra or ""))
        signer = ["-CA", path(issuer + ".pem"), "-CAkey", path(issuer + ".key"), "-CAcreateserial"] if issuer else [
            "-signkey", path(name + ".key")]
        run("openssl", "x509", "-req", "-in", path(name + ".csr"), "-out", path(name + ".pem"), "-days", "2",
            "-extfile", str(extensions), *signer)

    def test_a_real_chain_is_believed_and_plain_is_refused(self):
        data = self.folder / "m"
        log = open(self.folder / "log", "wb")
        master = subprocess.Popen([PROGRAM, "master", "--data", data, "--port", "0", "--tls-cert",
                                   self.folder / "chain.pem", "--tls-key", self.folder / "leaf.key", "--tls-ca",
                                   self.folder / "root.pem"], stderr=log)
        try:
            end = time.monotonic() + 30
            while not (data / "client.json").exists() and time.monotonic() < end:
                time.sleep(0.05)
            known = json.loads((data / "client.json").read_text())
            self.assertTrue(known["url"].startswith("https://127.0.0.1:"))
            trust = ssl.create_default_context(cafile=str(self.folder / "root.pem"))
            with urllib.request.urlopen(known["url"] + "/api/v1/health", context=trust) as answer:
                self.assertEqual(json.loads(answer.read())["status"], "ok")
            with self.assertRaises(urllib.error.URLError):
                urllib.request.urlopen(known["url"] + "/api/v1/health")  # the system knows nothing of our root
            with self.assertRaises(urllib.error.HTTPError) as plain:
                urllib.request.urlopen(known["url"].replace("https", "http") + "/api/v1/health", timeout=10).read()
            self.assertEqual(plain.exception.code, 400)
            self.assertIn(b"HTTPS", plain.exception.read())
            # The command line believes what it is told to, and nothing else.
            said = subprocess.run([PROGRAM, "me", "--master", data], capture_output=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            said = subprocess.run([PROGRAM, "me", "--master", known["url"]], capture_output=True,
                                  env={**os.environ, "CADRE_TOKEN": known["token"], "XDG_CONFIG_HOME": str(self.folder)})
            self.assertEqual(said.returncode, 3, said.stderr)
            said = subprocess.run([PROGRAM, "me", "--master", known["url"]], capture_output=True,
                                  env={**os.environ, "CADRE_TOKEN": known["token"], "XDG_CONFIG_HOME": str(self.folder),
                                       "CADRE_CA": str(self.folder / "root.pem")})
            self.assertEqual(said.returncode, 0, said.stderr)
            # cadre:// finds out that it speaks TLS.
            said = subprocess.run([PROGRAM, "me", "--master", known["url"].replace("https", "cadre")], capture_output=True,
                                  env={**os.environ, "CADRE_TOKEN": known["token"], "XDG_CONFIG_HOME": str(self.folder),
                                       "CADRE_CA": str(self.folder / "root.pem")})
            self.assertEqual((said.returncode, said.stderr), (0, b""))
        finally:
            master.kill()
            master.wait()
            log.close()
            shutil.rmtree(self.folder)


class Port(unittest.TestCase):
    """Another program takes the port of a master that is away."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-port-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def start(self, *words):
        log = open(self.folder / "log", "ab")
        self.addCleanup(log.close)
        process = subprocess.Popen([PROGRAM, *words], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def known(self):
        return json.loads((self.folder / "m" / "client.json").read_text())

    def started(self):
        """When the master was started that answers; None: none does."""
        try:
            with urllib.request.urlopen(self.known()["url"] + "/api/v1/health", timeout=5) as answer:
                return json.loads(answer.read())["since"]
        except (OSError, ValueError):
            return None

    def until(self, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end, (self.folder / "log").read_text())
            time.sleep(0.02)

    @staticmethod
    def is_master(pid):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                if os.readlink(link).endswith("/m/cadre.db"):
                    return True
            except OSError:  # it was closed by now
                pass
        return False

    @staticmethod
    def bind(port):
        thief = socket.socket()
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            thief.bind(("127.0.0.1", port))
            thief.listen()
            return thief
        except OSError:
            thief.close()
            return None

    def test_cadre_up_holds_its_port_while_its_master_is_killed(self):
        up = self.start("up", "--data", self.folder / "m", "--port", "0", "--artificial-slots", "1")
        self.until(self.started)
        port = int(self.known()["url"].rsplit(":", 1)[1])
        for _ in range(3):
            children = pathlib.Path(f"/proc/{up.pid}/task/{up.pid}/children").read_text().split()
            first = self.started()
            self.assertIsNotNone(first)
            masters = list(filter(self.is_master, children))
            self.assertEqual(len(masters), 1, children)
            os.kill(int(masters[0]), 9)
            asked = threading.Thread(target=self.until, args=(lambda: self.started() not in (None, first),))
            asked.start()
            while asked.is_alive():
                self.assertIsNone(self.bind(port))
            asked.join()
            self.assertNotIn(self.started(), (None, first), "the master was killed and is back")
            self.assertIsNone(up.poll())
        self.assertEqual(int(self.known()["url"].rsplit(":", 1)[1]), port)

    def test_the_token_of_the_owner_is_not_sent_to_another_program(self):
        master = self.start("master", "--data", self.folder / "m", "--port", "0")
        self.until(self.started)
        ask = lambda: subprocess.run([PROGRAM, "me", "--master", self.folder / "m"], capture_output=True, text=True)
        self.assertEqual(ask().returncode, 0)
        for signal in (9, 15):
            master.send_signal(signal)
            master.wait()
            thief = self.bind(int(self.known()["url"].rsplit(":", 1)[1]))
            self.assertIsNotNone(thief)
            said = ask()
            self.assertEqual(said.returncode, 4, said.stderr)
            thief.settimeout(0.5)
            with self.assertRaises(TimeoutError):
                thief.accept()
            thief.close()
            master = self.start("master", "--data", self.folder / "m", "--port", "0")
            self.until(self.started)
            self.assertEqual(ask().returncode, 0)

    def test_a_port_in_use_is_tried_again(self):
        holder = self.bind(0)
        port = holder.getsockname()[1]
        self.start("master", "--data", self.folder / "m", "--port", str(port))
        self.until(lambda: "retrying for" in (self.folder / "log").read_text())
        holder.close()
        self.until(self.started)


if __name__ == "__main__":
    unittest.main(verbosity=2)
