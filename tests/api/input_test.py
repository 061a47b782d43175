"""No input of a task, an agent or a client stops the master, fills it, or is repeated for ever."""
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from cluster import PROGRAM, Cluster


def packed(value):
    """The few kinds of MessagePack that are needed here."""
    if isinstance(value, str):
        return b"\xd9" + bytes([len(value)]) + value.encode()
    if isinstance(value, int):
        return b"\xcf" + value.to_bytes(8, "big")
    return bytes([0x80 + len(value)]) + b"".join(packed(key) + packed(one) for key, one in value.items())


def config_file(text):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-config-"))
    (folder / "master.yaml").write_text(text)
    return folder


class TaskPackets(unittest.TestCase):
    """Packets on CADRE_SOCKET with numbers that no database holds."""

    def test_counters_beyond_64_bits_of_a_database_are_refused_where_they_are_read(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        packets = [packed({"type": "beat", "calls": calls, "errors": errors}).hex()
                   for calls, errors in ((2**63, 1), (1, 2**63), (2**64 - 1, 2**64 - 1), (7, 2))]
        program = ("import os, socket, time\n"
                   "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                   "s.connect(os.environ['CADRE_SOCKET'])\n"
                   f"for one in {packets!r}: s.send(bytes.fromhex(one))\n"
                   "time.sleep(1.5)\n")
        master = cluster.processes["master"]
        job = cluster.run(["/usr/bin/python3", "-c", program])
        ended = cluster.wait_for(job)
        self.assertEqual((ended["reason"], ended["code"]), ("exited", 0))
        usage = ended["tasks"][0]["ending"]["usage"]
        self.assertEqual((usage["calls"], usage["errors"]), (7, 2))
        self.assertIsNone(master.poll())
        cluster.kill_master()
        cluster.start_master()
        self.assertEqual(cluster.get(f"/jobs/{job}").json["stage"], "ended")


class UnwritableRows(unittest.TestCase):
    """A row that the database refuses for what is in it: only the request that made it fails."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        database = sqlite3.connect(cls.cluster.data / "cadre.db", timeout=30)
        for name, event, condition in (("job", "INSERT ON jobs", "NEW.name = 'poison'"),
                                       ("report", "UPDATE ON tasks", "NEW.last_report = 'poison'"),
                                       ("end", "UPDATE ON tasks", "NEW.code = 77 AND NEW.cpu_time > 0")):
            database.execute(f"CREATE TRIGGER poison_{name} BEFORE {event} WHEN {condition} "
                             "BEGIN SELECT RAISE(ABORT, 'poisoned row'); END")
        database.commit()
        database.close()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def setUp(self):
        self.master = self.cluster.processes["master"]

    def tearDown(self):
        self.assertIsNone(self.master.poll())
        job = self.cluster.run(["true"])
        self.assertEqual(self.cluster.wait_for(job)["code"], 0)

    def test_one_request_of_many_at_once_fails_alone(self):
        running = self.cluster.run(["sleep", "1000"], slots=1)
        self.cluster.wait_for(running, stage="running")
        names = ["poison" if i % 10 == 3 else f"good-{i}" for i in range(60)]
        submit = lambda name: self.cluster.request("POST", "/tasks", body={"name": name, "command": {"argv": ["true"]}})
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(submit, names))
        for name, answer in zip(names, answers):
            self.assertEqual(answer.status, 400 if name == "poison" else 200, (name, answer.body))
            if name == "poison":
                self.assertIn("cannot be stored", answer.json["detail"])
            else:
                self.assertEqual(self.cluster.wait_for(answer.json["id"])["code"], 0)
        ids = [answer.json["id"] for name, answer in zip(names, answers) if name != "poison"]
        self.assertEqual(len(set(ids)), len(ids))
        view = self.cluster.get(f"/jobs/{running}").json
        self.assertEqual((view["stage"], view["tasks"][0]["epoch"]), ("running", 1))  # it was not disturbed
        self.cluster.request("POST", f"/jobs/{running}/kill")

    def test_the_end_of_a_task_that_cannot_be_stored_is_stored_without_its_figures(self):
        job = self.cluster.run(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 77"])
        ended = self.cluster.wait_for(job)
        self.assertEqual((ended["reason"], ended["code"]), ("exited", 77))
        self.assertIn("cannot be stored", ended["detail"])

    def test_a_report_that_cannot_be_stored_is_refused(self):
        packet = packed({"type": "report", "number": 1, "body": "poison"}).hex()
        program = ("import os, socket\n"
                   "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                   "s.connect(os.environ['CADRE_SOCKET'])\n"
                   "s.settimeout(60)\n"
                   f"s.send(bytes.fromhex({packet!r}))\n"
                   "print(s.recv(65536))\n")
        job = self.cluster.run(["/usr/bin/python3", "-c", program])
        self.assertEqual(self.cluster.wait_for(job)["code"], 0)
        lines = []

        def told():
            lines[:] = [line["text"] for line in self.cluster.get(f"/tasks/{job}.0/logs").json["lines"]]
            return lines

        self.cluster.until(told)
        self.assertIn("cannot be stored", lines[0])


class Idempotency(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def post(self, path, body, key, token="admin"):
        return self.cluster.request("POST", path, token=token, body=body, headers={"Idempotency-Key": key})

    def test_the_same_key_and_body_create_once(self):
        body = {"command": {"argv": ["true"]}}
        first = self.post("/tasks", body, "one")
        self.assertEqual(first.status, 200)
        for _ in range(3):
            again = self.post("/tasks", body, "one")
            self.assertEqual((again.status, again.json["id"]), (200, first.json["id"]))
        other = self.post("/tasks", body, "two")
        self.assertNotEqual(other.json["id"], first.json["id"])
        conflict = self.post("/tasks", {"command": {"argv": ["false"]}}, "one")
        self.assertEqual(conflict.status, 409)
        self.assertIn(f"created job {first.json['id']}", conflict.json["detail"])
        ann = self.cluster.user("ann", {"default": "editor"})
        hers = self.post("/tasks", body, "one", token=ann)
        self.assertEqual(hers.status, 200)
        self.assertNotEqual(hers.json["id"], first.json["id"])  # keys are each user's own
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.post("/tasks", body, "one").json["id"], first.json["id"])
        self.assertEqual(self.post("/tasks", body, "one", token=ann).json["id"], hers.json["id"])

    def test_a_data_folder_of_a_stopped_master_does_not_hide_the_one_at_its_address(self):
        with tempfile.TemporaryDirectory() as home:
            folder = pathlib.Path(home) / "share" / "cadre"
            folder.mkdir(parents=True)
            old = {"url": self.cluster.url, "user": "admin", "token": "of-the-old-one", "ca": "",
                   "socket": str(folder / "run" / "http")}
            (folder / "client.json").write_text(json.dumps(old))
            env = dict(os.environ, XDG_DATA_HOME=str(folder.parent), XDG_CONFIG_HOME=home, CADRE_MASTER=self.cluster.url)
            said = subprocess.run([PROGRAM, "me"], env=dict(env, CADRE_TOKEN=self.cluster.admin), capture_output=True,
                                  text=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("admin", said.stdout)
            said = subprocess.run([PROGRAM, "me"], env=env, capture_output=True, text=True)
            self.assertNotEqual(said.returncode, 0)
            self.assertIn("cadre login", said.stderr)

    def test_a_later_admin_does_not_take_the_place_of_the_owner(self):
        made = self.cluster.request("POST", "/users", body={"name": "aaron", "admin": True})
        self.assertEqual(made.status, 200, made.body)
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.cluster.get("/me").json["user"]["name"], "admin")

    def test_requests_at_once_with_one_key_create_once(self):
        body = {"command": {"argv": ["true"]}}
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: self.post("/tasks", body, "at once"[:2] + "-once"), range(40)))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["id"] for answer in answers}), 1)

    def test_users_workspaces_and_tokens(self):
        for path, body, name in (("/users", {"name": "bob", "password": "correct horse"}, "name"),
                                 ("/workspaces", {"name": "vision"}, "name")):
            first = self.post(path, body, "k" + path)
            self.assertEqual(first.status, 200, first.body)
            again = self.post(path, body, "k" + path)
            self.assertEqual((again.status, again.json[name]), (200, body["name"]))
            self.assertEqual(self.post(path, body, "other" + path).status, 409)  # it is there already
        first = self.post("/tokens", {"name": "ci"}, "t").json
        again = self.post("/tokens", {"name": "ci"}, "t").json
        self.assertEqual(first["token"], again["token"])
        self.assertEqual(self.cluster.get("/me", token=again["token"]).status, 200)
        self.assertNotEqual(self.post("/tokens", {"name": "ci"}, "t2").json["token"], first["token"])

    def test_invalid_keys(self):
        for key in ("x" * 129, "two words", "caf\u00e9".encode().decode("latin-1")):
            answer = self.post("/tasks", {"command": {"argv": ["true"]}}, key)
            self.assertEqual(answer.status, 400, key)
            self.assertIn("Idempotency-Key", answer.json["detail"])

    def test_a_refused_request_may_be_mended_under_its_key(self):
        self.assertEqual(self.post("/tasks", {"command": {"argv": []}}, "m").status, 400)
        self.assertEqual(self.post("/tasks", {"command": {"argv": ["true"]}}, "m").status, 200)


class KilledBetweenCommitAndAnswer(unittest.TestCase):
    def test_a_submission_that_is_repeated_creates_exactly_one_job(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        dice = random.Random(5)
        unanswered_but_there = 0
        submitted = 0
        for i in range(60):
            if i >= 12 and unanswered_but_there >= 3:
                break
            name = f"job-{i}"
            body = {"name": name, "command": {"argv": ["true"]}}
            answered = []

            def post():
                try:
                    answered.append(cluster.request("POST", "/tasks", body=body, headers={"Idempotency-Key": name}))
                except (OSError, http.client.HTTPException):
                    pass

            asking = threading.Thread(target=post)
            asking.start()
            time.sleep(dice.uniform(0, 0.012))
            cluster.kill_master()
            asking.join()
            cluster.start_master()
            jobs = lambda: [job for job in cluster.get("/jobs", query={"most": 1000}).json["jobs"] if job["name"] == name]
            before = jobs()
            self.assertLessEqual(len(before), 1)
            if answered and answered[0].status == 200:
                self.assertEqual(len(before), 1)  # what was answered is there
            elif before:
                unanswered_but_there += 1
            again = cluster.request("POST", "/tasks", body=body, headers={"Idempotency-Key": name})
            self.assertEqual(again.status, 200, again.body)
            submitted += 1
            self.assertEqual([job["id"] for job in jobs()], [again.json["id"]])
        self.assertGreater(unanswered_but_there, 0)  # else nothing was shown
        print(f"{submitted} submissions, {unanswered_but_there} committed and not answered")

    def test_the_command_line_submits_once_while_the_master_is_killed(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        dice = random.Random(6)
        for i in range(8):
            name = f"cli-{i}"
            asking = subprocess.Popen([PROGRAM, "run", "--detach", "--name", name, "--master", str(cluster.data), "--", "true"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(dice.uniform(0.005, 0.04))
            cluster.kill_master()
            cluster.start_master()
            out, err = asking.communicate(timeout=90)
            if "no master answers" in err:  # it had not reached any master yet
                self.assertEqual(asking.returncode, 125, err)
                continue
            self.assertEqual(asking.returncode, 0, err)
            found = [job for job in cluster.get("/jobs", query={"most": 1000}).json["jobs"] if job["name"] == name]
            self.assertEqual([str(job["id"]) for job in found], [out.strip()])


class Connections(unittest.TestCase):
    """Connections that say nothing, on a master with few descriptors."""

    def start(self, soft, hard, *more):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-idle-"))
        self.addCleanup(shutil.rmtree, folder, True)
        log = open(folder / "log", "ab")
        self.addCleanup(log.close)
        master = subprocess.Popen([PROGRAM, "master", "--data", folder / "m", "--port", "0", "--agent-timeout", "3s",
                                   *more], stderr=log, preexec_fn=limit)
        self.addCleanup(master.wait)
        self.addCleanup(master.kill)
        until(lambda: (folder / "m" / "client.json").exists())
        return folder, master

    def test_a_thousand_idle_connections_do_not_abort_the_master(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        folder, master = self.start(256, 1024)
        known = json.loads((folder / "m" / "client.json").read_text())
        port = int(known["url"].rsplit(":", 1)[1])
        limits = pathlib.Path(f"/proc/{master.pid}/limits").read_text()
        self.assertRegex(limits, r"Max open files +1024 +1024")
        agent = lambda: subprocess.Popen([PROGRAM, "agent", "--master", folder / "m", "--data", folder / "a", "--id", "a1",
                                          "--artificial-slots", "1"], stderr=subprocess.DEVNULL)
        first = agent()
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        idle = []
        for _ in range(1500):
            peer = socket.socket()
            peer.settimeout(5)
            try:
                peer.connect(("127.0.0.1", port))
            except OSError:
                break
            idle.append(peer)
        self.assertGreater(len(idle), 1000)
        begun = time.monotonic()
        self.assertLess(len(os.listdir(f"/proc/{master.pid}/fd")), 700)
        first.kill()
        first.wait()
        second = agent()  # reconnects while all these connections are there
        self.addCleanup(second.wait)
        self.addCleanup(second.kill)
        until(lambda: ask(port, known["token"], "/status")["agents_up"] == 1)
        self.assertIsNone(master.poll())
        until(lambda: all(is_closed(peer) for peer in idle))
        self.assertLess(time.monotonic() - begun, 60)  # ten seconds are what a silent one has
        self.assertIsNone(master.poll())
        for peer in idle:
            peer.close()

    def test_half_open_connections_to_the_ports_of_agents_are_bounded(self):
        folder, master = self.start(1024, 1024, "--listen", "127.0.0.1:0")
        known = json.loads((folder / "m" / "client.json").read_text())
        http_port = int(known["url"].rsplit(":", 1)[1])
        ports = []

        def are_logged():
            ports[:] = [int(port) for port in re.findall(r" at tcp://127\.0\.0\.1:(\d+)", (folder / "log").read_text())]
            return len(ports) == 2

        until(are_logged)
        idle = []
        most = 0
        for _ in range(400):
            for port in ports:
                peer = socket.socket()
                peer.settimeout(5)
                try:
                    peer.connect(("127.0.0.1", port))
                    idle.append(peer)
                except OSError:
                    peer.close()
            most = max(most, len(os.listdir(f"/proc/{master.pid}/fd")))
        self.assertLess(most, 700)
        self.assertEqual(ask(http_port, known["token"], "/me")["user"]["name"], "admin")
        self.assertIsNone(master.poll())
        # Those who do not say who they are go by themselves; then it listens again, and an agent can join.
        until(lambda: len(os.listdir(f"/proc/{master.pid}/fd")) < 120)
        token = subprocess.run([PROGRAM, "agent", "token", "--master", folder / "m"], capture_output=True, text=True)
        self.assertEqual(token.returncode, 0, token.stderr)
        agent = subprocess.Popen([PROGRAM, "agent", "--join", token.stdout.split()[-1], "--data", folder / "far", "--id",
                                  "far", "--artificial-slots", "1"], stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        until(lambda: ask(http_port, known["token"], "/status")["agents_up"] == 1)
        for peer in idle:
            peer.close()

    def test_connections_of_one_address_leave_room_for_others(self):
        folder, master = self.start(1024, 1024)
        known = json.loads((folder / "m" / "client.json").read_text())
        port = int(known["url"].rsplit(":", 1)[1])
        idle = [socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)) for _ in range(600)]
        self.assertEqual(ask(port, known["token"], "/me")["user"]["name"], "admin")
        for peer in idle:
            peer.close()


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException):
            pass
        if time.monotonic() > end:
            raise AssertionError("it did not come to that")
        time.sleep(0.05)


def ask(port, token, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/api/v1" + path, headers={"Authorization": "Bearer " + token})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def is_closed(peer):
    peer.setblocking(False)
    try:
        while peer.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


class JobBytes(unittest.TestCase):
    def setUp(self):
        folder = config_file("cluster: {job_bytes_of_user_max: 8MiB, job_bytes_max: 14MiB, ended_bytes_kept: 4MiB}\n")
        self.addCleanup(shutil.rmtree, folder)
        self.cluster = Cluster(master=("--config", folder / "master.yaml"))
        self.addCleanup(self.cluster.close)

    def submit(self, token):
        return self.cluster.request("POST", "/tasks", token=token, body={
            "slots": 4, "command": {"argv": ["sleep", "1000"], "variables": {f"LARGE_{i}": "x" * 100_000 for i in range(9)}}})

    def test_the_specifications_of_one_user_and_of_all_are_bounded(self):
        ann = self.cluster.user("ann", {"default": "editor"})
        bob = self.cluster.user("bob", {"default": "editor"})
        taken = []
        while (answer := self.submit(ann)).status == 200:
            taken.append(answer.json["id"])
            self.assertLess(len(taken), 20)
        self.assertEqual(len(taken), 9)  # 9 of 0.9 MB in 8 MiB
        self.assertEqual(answer.status, 403)
        for word in ("your jobs", "8MiB", "job_bytes_of_user_max", "Wait until some have ended"):
            self.assertIn(word, answer.json["detail"])
        of_bob = 0
        while (answer := self.submit(bob)).status == 200:
            of_bob += 1
        self.assertIn("all jobs", answer.json["detail"])
        self.assertEqual(len(taken) + of_bob, 16)
        self.assertEqual(self.cluster.request("POST", f"/jobs/{taken[-1]}/kill", token=ann).status, 200)
        self.cluster.wait_for(taken[-1])
        self.assertEqual(self.submit(ann).status, 200)
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.submit(ann).status, 403)  # it counts what it finds

    def test_ended_jobs_do_not_fill_the_memory(self):
        rss = lambda: int(next(line.split()[1] for line in pathlib.Path(
            f"/proc/{self.cluster.processes['master'].pid}/status").read_text().splitlines() if line.startswith("VmRSS")))
        for i in range(60):
            job = self.submit("admin").json["id"]
            self.cluster.request("POST", f"/jobs/{job}/kill")
            self.cluster.wait_for(job)
            if i == 15:
                early = rss()
        if "CADRE_SANITIZED" not in os.environ:
            self.assertLess(rss() - early, 25_000)  # 44 more jobs of 0.9 MB


class Accounts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def login(self, user, password, source="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.cluster.port, timeout=60, source_address=(source, 0))
        try:
            connection.request("POST", "/api/v1/login", body=json.dumps({"user": user, "password": password}))
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def test_a_new_password_ends_the_tokens_of_the_user(self):
        cluster = self.cluster
        cluster.user("carl", password="first password")
        _, made = self.login("carl", "first password")
        own = cluster.request("POST", "/tokens", token=made["token"], body={"name": "ci"}).json["token"]
        change = {"password": "second password", "old_password": "first password"}
        self.assertEqual(cluster.request("PATCH", "/users/carl", token=made["token"], body=change).status, 200)
        for token in (made["token"], own):
            self.assertEqual(cluster.get("/me", token=token).status, 401)
        status, made = self.login("carl", "second password")
        self.assertEqual(status, 200)
        kept = {"password": "third password", "old_password": "second password", "keep_tokens": True}
        self.assertEqual(cluster.request("PATCH", "/users/carl", token=made["token"], body=kept).status, 200)
        self.assertEqual(cluster.get("/me", token=made["token"]).status, 200)
        # An admin who sets a new one ends them, too; the token of the data folder stays.
        self.assertEqual(cluster.request("PATCH", "/users/carl", body={"password": "fourth password"}).status, 200)
        self.assertEqual(cluster.get("/me", token=made["token"]).status, 401)
        self.assertEqual(cluster.request("PATCH", "/users/admin", body={"password": "admins password"}).status, 200)
        self.assertEqual(cluster.get("/me").status, 200)
        # What is no new password ends nothing.
        _, made = self.login("carl", "fourth password")
        self.assertEqual(cluster.request("PATCH", "/users/carl", body={"max_slots": 3}).status, 200)
        self.assertEqual(cluster.get("/me", token=made["token"]).status, 200)

    def test_failed_logins_from_elsewhere_do_not_lock_a_user_out(self):
        self.cluster.user("dora", password="correct horse")
        outcomes = [self.login("dora", f"guess {i}", source="127.0.0.66")[0] for i in range(15)]
        self.assertIn(429, outcomes)
        self.assertEqual(self.login("dora", "correct horse", source="127.0.0.66")[0], 429)
        self.assertEqual(self.login("dora", "correct horse", source="127.0.0.1")[0], 200)

    def test_a_user_with_jobs_cannot_be_deleted(self):
        cluster = self.cluster
        token = cluster.user("emil", {"default": "editor"}, max_slots=1)
        jobs = [cluster.run(["sleep", "1000"], token=token, slots=1) for _ in range(3)]
        cluster.wait_for(jobs[0], stage="running")
        refused = cluster.request("DELETE", "/users/emil")
        self.assertEqual(refused.status, 409)
        self.assertIn("3 jobs that have not ended", refused.json["detail"])
        self.assertIn("--inactive", refused.json["detail"])
        self.assertEqual([cluster.get(f"/jobs/{job}").json["stage"] for job in jobs], ["running", "queued", "queued"])
        for job in jobs:
            cluster.request("POST", f"/jobs/{job}/kill")
            cluster.wait_for(job)
        self.assertEqual(cluster.request("DELETE", "/users/emil").status, 200)


class Names(unittest.TestCase):
    def test_control_characters_in_names_are_refused(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        for name in ("\x1b[2J", "a\nb", "bell\x07", "\u202eevil", "\x9b31m", "tab\t"):
            for path, body in (("/tasks", {"name": name, "command": {"argv": ["true"]}}),
                               ("/tasks", {"role": name, "command": {"argv": ["true"]}}),
                               ("/jobs", {"group": name, "members": [{"command": {"argv": ["true"]}}]})):
                answer = cluster.request("POST", path, body=body)
                self.assertEqual(answer.status, 400, (name, path))
                self.assertIn("control characters", json.dumps(answer.json))
        self.assertEqual(cluster.request("POST", "/tasks", body={"name": "été 漢字 🙂", "command": {"argv": ["true"]}}).status, 200)
        # Commands may hold anything, and are shown with escapes.
        job = cluster.run(["sh", "-c", "exit 3 # \x1b]0;owned\x07"], name="plain")
        cluster.wait_for(job)
        for words in (["job", "list"], ["job", "describe", str(job)], ["why", str(job)], ["task", "list"], ["status"]):
            said = subprocess.run([PROGRAM, *words, "--master", cluster.data], capture_output=True)
            self.assertEqual(said.returncode, 0, (words, said.stderr))
            self.assertNotIn(b"\x1b", said.stdout + said.stderr, words)


class Flags(unittest.TestCase):
    """What flags say passes the same checks as what stands in files."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-flags-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def refuse(self, *words, because):
        said = subprocess.run([PROGRAM, *words, "--data", self.folder / "d"], capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 2, (words, said.stderr))
        for word in because:
            self.assertIn(word, said.stderr)

    def test_of_an_agent(self):
        (self.folder / "m" / "run").mkdir(parents=True)
        master = ("agent", "--master", str(self.folder / "m"))
        self.refuse(*master, "--cpus", "abc", because=("--cpus: ", "number"))
        self.refuse(*master, "--cpus=-1", because=("--cpus: must be from 0",))
        self.refuse(*master, "--cpus", "nan", because=("cpus",))
        self.refuse(*master, "--cpus", "1e99", because=("cpus",))
        self.refuse(*master, "--memory", "lots", because=("--memory",))
        self.refuse(*master, "--memory", "9000000TiB", because=("memory",))
        self.refuse(*master, "--id", "a\nb", because=("ID of an agent",))
        self.refuse(*master, "--id", "..", because=("ID of an agent",))
        self.refuse(*master, "--id", "x" * 5000, because=("5000 characters", "128"))
        self.refuse(*master, "--pool", "x" * 5000, because=("pool", "128"))

    def test_of_an_agent_are_all_reported_at_once(self):
        self.refuse("agent", "--cpus=-1", "--memory", "lots", "--label", "a", "--slots=-3",
                    because=("--cpus: ", "--memory: ", "--label: ", "--slots: "))

    def test_of_an_agent_pass_the_checks_of_its_file_in_the_same_words(self):
        file = self.folder / "agent.yaml"
        for key, flag, value, text in (("cpus", "--cpus", "-1", "-1"), ("warm", "--warm", "5000", "5000"),
                                       ("memory", "--memory", "lots", "lots"), ("id", "--id", "..", "'..'"),
                                       ("setup_timeout", "--setup-timeout", "0s", "0s"),
                                       ("pool", "--pool", "x" * 200, "x" * 200),
                                       ("uids", "--uids", "7-3", "7-3"), ("slots", "--slots", "-1", "-1"),
                                       ("allow_mounts[0]", "--allow-mount", "data", None)):
            file.write_text(f"{key}: {text}\n" if text else "allow_mounts: [data]\n")
            by_file = subprocess.run([PROGRAM, "agent", "--config", file], capture_output=True, text=True, timeout=60)
            by_flag = subprocess.run([PROGRAM, "agent", f"{flag}={value}"], capture_output=True, text=True, timeout=60)
            self.assertEqual((by_file.returncode, by_flag.returncode), (2, 2), (by_file.stderr, by_flag.stderr))
            self.assertRegex(by_file.stderr, rf"^cadre agent: {file}:1:\d+: {re.escape(key)}: ")
            words = by_file.stderr.split(f" {key}: ", 1)[1]
            self.assertRegex(by_flag.stderr, rf"^cadre agent: {flag}( \[0\])?: ")
            self.assertEqual(by_flag.stderr.split(": ", 2)[2], words)

    def test_of_an_agent_file_name_unknown_keys(self):
        file = self.folder / "agent.yaml"
        file.write_text("memroy: 1GiB\npool: [a]\n")
        self.refuse("agent", "--config", str(file), because=(f"{file}:1:1: ", "memroy", "did you mean 'memory'?",
                                                             f"{file}:2:7: pool: "))
        self.refuse("agent", "--config", str(self.folder / "none"), because=("none",))

    def test_an_agent_runs_by_its_file_and_flags_take_precedence(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        file = self.folder / "agent.yaml"
        file.write_text(f"data: {self.folder}/b\nmaster: {cluster.data}\nid: b\nslots: 3\ncpus: 2.5\n"
                        "labels: {disk: fast, zone: north}\n")

        def agent_b(selector, *flags):
            """The agent as the master shows it. A job with this selector, which no other agent has, runs on it."""
            process = subprocess.Popen([PROGRAM, "agent", "--config", file, *flags], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            cluster.until(lambda: cluster.get("/status").json["agents_up"] == 2)
            seen = {one["id"]: one for one in cluster.get("/agents").json["agents"]}["b"]
            job = {"members": [{"command": {"argv": ["/bin/true"]}}], "selector": selector}
            cluster.wait_for(cluster.request("POST", "/jobs", body=job).json["id"])
            process.terminate()
            process.wait()
            cluster.until(lambda: cluster.get("/status").json["agents_up"] == 1)
            return seen

        by_file = agent_b({"disk": "fast", "zone": "north"})
        self.assertEqual((by_file["slots"], by_file["cpus"]), (3, 2.5))
        by_flags = agent_b({"disk": "slow"}, "--slots", "5", "--label", "disk=slow")
        self.assertEqual((by_flags["slots"], by_flags["cpus"]), (5, 2.5))

    def test_slots_and_the_address_of_the_master_mean_the_same_for_agents(self):
        """--slots is a number of slots, and CADRE_MASTER names the master, as for every other command."""
        cluster = Cluster()
        self.addCleanup(cluster.close)
        agent = subprocess.Popen([PROGRAM, "agent", "--data", self.folder / "b", "--id", "b", "--slots", "3"],
                                 env={**os.environ, "CADRE_MASTER": str(cluster.data)}, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        cluster.until(lambda: cluster.get("/status").json["agents_up"] == 2)
        described = {one["id"]: one for one in cluster.get("/agents").json["agents"]}
        self.assertEqual(described["b"]["slots"], 3)

    def test_an_agent_takes_every_address_of_its_master(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        port = cluster.url.rsplit(":", 1)[1]
        file = self.folder / "agent.yaml"
        file.write_text(f"master: localhost:{port}\n")
        own = ["--data", self.folder / "b", "--id", "b", "--slots", "1"]
        named = [("--master", text) for text in (
            cluster.url, f"127.0.0.1:{port}", f"localhost:{port}", f"http://localhost:{port}/", f"cadre://[::1]:{port}",
            str(cluster.data), f"{cluster.data}/../{cluster.data.name}", cluster.data.name, f"./{cluster.data.name}/")]
        for words in (*named, ("--config", str(file))):
            with self.subTest(words=words):
                agent = subprocess.Popen([PROGRAM, "agent", *words, *own], cwd=cluster.folder, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.PIPE)
                try:
                    cluster.until(lambda: cluster.get("/status").json["agents_up"] == 2 or agent.poll() is not None)
                    self.assertIsNone(agent.poll(), "it has ended")
                finally:
                    agent.terminate()
                    said = agent.communicate(timeout=60)[1].decode()
                self.assertNotIn("waiting for the master", said)
                cluster.until(lambda: cluster.get("/status").json["agents_up"] == 1)

    def test_an_agent_refuses_what_is_no_address_of_its_master(self):
        for text, word in (("localhost:1", "no master of this user on this host serves localhost:1, and this agent has "
                                           "not joined a master; create a token there with `cadre agent token`"),
                           ("http://node7.invalid", "--join TOKEN"), ("ftp://node7", "is not an address of a master"),
                           ("node7:65536", "its port is not a number from 0 to 65535")):
            self.refuse("agent", "--master", text, because=(word,))
        file = self.folder / "agent.yaml"
        file.write_text("master: node7:0\n")
        self.refuse("agent", "--config", str(file), because=("its port is 0",))

    def test_of_a_master(self):
        master = ("master", "--port", "0")
        self.refuse(*master, "--agent-timeout", "0s", because=("agent_timeout", "at least 100ms"))
        self.refuse(*master, "--agent-timeout", "soon", because=("--agent-timeout",))
        self.refuse(*master, "--agent-timeout=-5s", because=("agent",))
        self.refuse(*master, "--agent-timeout", "400000d", because=("agent",))
        self.refuse("up", "--port", "0", "--cpus", "abc", because=("--cpus: ",))

    def test_plain_http_for_other_hosts(self):
        self.refuse("master", "--http", "0.0.0.0:0", because=("--tls-cert", "--tls-key", "--insecure-http", "0.0.0.0:0"))
        self.refuse("master", "--http", "[::]:0", because=("--insecure-http",))
        self.refuse("up", "--http", "0.0.0.0:0", because=("--insecure-http",))
        data = self.folder / "d"
        master = subprocess.Popen([PROGRAM, "master", "--http", "0.0.0.0:0", "--insecure-http", "--data", data],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(master.stderr.close)
        self.addCleanup(master.wait)
        self.addCleanup(master.kill)
        until(lambda: (data / "client.json").exists())
        lines = []
        while "without TLS" not in (lines or [""])[-1]:
            lines.append(master.stderr.readline())
            self.assertTrue(lines[-1], lines)  # else it has ended
        # A client that prefers TLS says that there is none; on this host's own addresses there is nobody to listen.
        known = json.loads((data / "client.json").read_text())
        port = known["url"].rsplit(":", 1)[1]
        for host, is_told in (("0.0.0.0", True), ("127.0.0.1", False)):
            said = subprocess.run([PROGRAM, "me", "--master", f"cadre://{host}:{port}"], capture_output=True, text=True,
                                  timeout=60, env={**os.environ, "CADRE_TOKEN": known["token"]})
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertEqual("is not encrypted" in said.stderr, is_told, said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
