"""Output over REST and WebSocket: nothing lost, doubled or out of order, whatever becomes of the master; any bytes."""
import base64
import json
import subprocess
import threading
import time
import unittest
import urllib.request

import websocket

from cluster import PROGRAM, Cluster

TASKS = 64
LINES = 2000


def text_of(line):
    return line["text"].encode() if "text" in line else base64.b64decode(line["bytes"])


def read_to_end(cluster, task, token="admin", **query):
    """All pages up to the end of what there is."""
    lines, offset = [], 0
    while True:
        page = cluster.get(f"/tasks/{task}/logs", token=token, query={"offset": offset, **query}).json
        lines += page["lines"]
        if page["next"] == offset:
            return lines
        offset = page["next"]


class Follower(threading.Thread):
    """Follows all tasks of a job, each page once, over REST; goes on where it was when the master is gone for a while."""

    def __init__(self, cluster, job):
        super().__init__()
        self.cluster = cluster
        self.job = job
        self.lines = {f"{job}.{rank}": [] for rank in range(TASKS)}
        self.failure = None

    def run(self):
        try:
            places = {task: 0 for task in self.lines}
            while places:
                for task, offset in list(places.items()):
                    page = self.page(task, offset)
                    if page is None:
                        continue
                    self.lines[task] += [(line["stream"], line["text"]) for line in page["lines"]]
                    places[task] = page["next"]
                    if len(self.lines[task]) >= 2 * LINES:
                        del places[task]
        except Exception as failure:  # told by the test
            self.failure = failure

    def page(self, task, offset):
        try:
            answer = self.cluster.get(f"/tasks/{task}/logs", query={"offset": offset})
            return answer.json if answer.status == 200 else None
        except (OSError, ValueError):
            time.sleep(0.05)
            return None


class Logs(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(agent=("--artificial-slots", "4", "--cpus", "64"))

    def tearDown(self):
        self.cluster.close()

    def test_64_tasks_and_4_followers_through_a_killed_master(self):
        script = f"i=0; while [ $i -lt {LINES} ]; do i=$((i+1)); echo out $i; echo err $i >&2; done"
        job = self.cluster.run(["sh", "-c", script], count=TASKS)
        followers = [Follower(self.cluster, job) for _ in range(4)]
        for follower in followers:
            follower.start()
        for pause in (0.3, 0.7):
            time.sleep(pause)
            self.cluster.kill_master()
            time.sleep(0.3)
            self.cluster.start_master()
        for follower in followers:
            follower.join(300)
            self.assertFalse(follower.is_alive())
            self.assertIsNone(follower.failure)
            for task, lines in follower.lines.items():
                for stream in ("out", "err"):
                    got = [text for where, text in lines if where == stream]
                    self.assertEqual(got, [f"{stream} {i}" for i in range(1, LINES + 1)], (task, stream))
        self.assertEqual(self.cluster.wait_for(job)["code"], 0)

    def test_a_line_of_100_mb_and_garbage_come_as_they_are(self):
        program = ("import os,sys; w=sys.stdout.buffer; b=bytes(range(256))*4; w.write(b.replace(b'\\n',b''));"
                   "w.write(b'\\n'); block=b'x'*1000000\n"
                   "for i in range(100): w.write(block)\n"
                   "w.write(b'\\nlast\\n')")
        job = self.cluster.run(["/usr/bin/python3", "-c", program])
        ended = self.cluster.wait_for(job)
        self.assertEqual(ended["code"], 0)
        task = f"{job}.0"
        end = ended["tasks"][0]["ending"]["output_end"]
        offset, line, lines = 0, bytearray(), []
        while offset < end:
            page = self.cluster.get(f"/tasks/{task}/logs", query={"offset": offset, "wait": "true"}).json
            for one in page["lines"]:
                line += text_of(one)
                if not one["continues"]:
                    lines.append(bytes(line))
                    line = bytearray()
            offset = page["next"]
        self.assertEqual(lines[0], (bytes(range(256)) * 4).replace(b"\n", b""))
        self.assertEqual(len(lines[1]), 100_000_000)
        self.assertEqual(set(lines[1]), {ord("x")})
        self.assertEqual(lines[2:], [b"last"])

    def test_filters(self):
        script = ("echo INFO one; echo 'WARNING: two' >&2; sleep 1.2; echo 'ERROR three'; echo '[debug] four';"
                  "echo a plain five")
        job = self.cluster.run(["sh", "-c", script])
        ended = self.cluster.wait_for(job)
        task = f"{job}.0"
        everything = []
        self.cluster.until(lambda: everything.extend(read_to_end(self.cluster, task)[len(everything):]) or
                           len(everything) == 5)
        texts = lambda lines: sorted(line["text"] for line in lines)
        self.assertEqual(texts(read_to_end(self.cluster, task, level="warning")), ["ERROR three", "WARNING: two"])
        self.assertEqual(texts(read_to_end(self.cluster, task, level="error")), ["ERROR three"])
        self.assertEqual(texts(read_to_end(self.cluster, task, level="info")),
                         ["ERROR three", "INFO one", "WARNING: two", "a plain five"])
        self.assertEqual(texts(read_to_end(self.cluster, task, grep="n five")), ["a plain five"])
        third = next(line for line in everything if line["text"] == "ERROR three")
        self.assertEqual(texts(read_to_end(self.cluster, task, since=third["time"])),
                         ["ERROR three", "[debug] four", "a plain five"])
        tail = self.cluster.get(f"/tasks/{task}/logs", query={"tail": 2}).json
        self.assertEqual([line["text"] for line in tail["lines"]], ["[debug] four", "a plain five"])
        self.assertEqual(ended["code"], 0)
        said = subprocess.run([PROGRAM, "task", "logs", "--master", str(self.cluster.data), "--level", "warning",
                               "--grep", "t", str(job)], capture_output=True)
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, b"ERROR three\n", b"WARNING: two\n"))

    def test_the_same_over_a_websocket_until_the_task_ends(self):
        job = self.cluster.run(["sh", "-c", "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done"])
        self.cluster.wait_for(job, "running")
        socket = websocket.create_connection(f"ws://127.0.0.1:{self.cluster.port}/api/v1/tasks/{job}.0/logs", timeout=60,
                                             header=[f"Authorization: Bearer {self.cluster.admin}"])
        lines = []
        while True:
            text = socket.recv()
            if not text:
                break
            lines += [line["text"] for line in json.loads(text)["lines"]]
        self.assertEqual(lines, [f"line {i}" for i in range(1, 6)])

    def readers_that_wait(self):
        metrics = urllib.request.Request(self.cluster.url + "/metrics",
                                         headers={"Authorization": "Bearer " + self.cluster.admin})
        text = urllib.request.urlopen(metrics).read().decode()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("cadre_output_waiting "))

    def test_nothing_waits_for_a_client_that_has_closed_its_websocket(self):
        job = self.cluster.run(["sleep", "60"])
        self.cluster.wait_for(job, "running")
        before = self.readers_that_wait()
        socket = websocket.create_connection(f"ws://127.0.0.1:{self.cluster.port}/api/v1/tasks/{job}.0/logs", timeout=60,
                                             header=[f"Authorization: Bearer {self.cluster.admin}"])
        self.cluster.until(lambda: self.readers_that_wait() == before + 1)
        begun = time.monotonic()
        socket.close()
        self.cluster.until(lambda: self.readers_that_wait() == before)
        self.assertLess(time.monotonic() - begun, 10, "a wait is 20 s long")
        self.cluster.request("POST", f"/jobs/{job}/kill")


if __name__ == "__main__":
    unittest.main(verbosity=2)
