"""What agents are called, and what they say of their master and of whose files they show."""
import contextlib
import socket
import sqlite3
import struct
import subprocess
import time
import unittest

from cluster import PROGRAM, Cluster


class Names(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)

    def arguments(self, *more):
        return ["agent", "--master", str(self.cluster.data), "--data", str(self.cluster.folder / "a"), "--slots", "1",
                *more]

    def stop_agent(self):
        agent = self.cluster.processes.pop("agent")
        agent.terminate()
        agent.wait()

    def test_an_agent_keeps_its_name_and_its_tasks_without_the_option(self):
        job = self.cluster.run(["/bin/sleep", "600"])
        self.cluster.wait_for(job, "running")
        self.stop_agent()
        self.cluster.start("agent", self.arguments())
        self.cluster.until(lambda: [one["id"] for one in self.cluster.get("/agents").json["agents"]
                                    if one["state"] == "up"] == ["a1"])
        seen = self.cluster.get(f"/jobs/{job}").json
        self.assertEqual((seen["stage"], seen["tasks"][0]["epoch"]), ("running", 1))

    def test_another_name_is_refused_before_anything_is_touched(self):
        self.stop_agent()
        before = sorted(str(path) for path in (self.cluster.folder / "a").rglob("*"))
        ran = subprocess.run([PROGRAM, *self.arguments("--id", "b1")], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("belongs to agent 'a1'; omit --id", ran.stderr)
        self.assertEqual(sorted(str(path) for path in (self.cluster.folder / "a").rglob("*")), before)


class Absence(unittest.TestCase):
    def test_a_job_without_any_agent_says_how_to_start_one(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        cluster.processes["agent"].kill()
        removed = cluster.request("DELETE", "/agents/a1")
        self.assertEqual(removed.status, 200, removed.body)
        job = cluster.run(["/bin/true"])
        why = subprocess.run([PROGRAM, "why", "--master", str(cluster.data), str(job)], capture_output=True, text=True,
                             timeout=60).stdout
        self.assertEqual(why, f"job {job}: waits: no agent is up; start one with: cadre agent\n")


class Logs(unittest.TestCase):
    def test_the_master_logs_agents_that_are_lost_and_come_back_each_line_with_its_time(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        log = cluster.folder / "master.log"
        cluster.until(lambda: "info: agent a1: up" in log.read_text())
        cluster.processes["agent"].kill()
        cluster.processes["agent"].wait()
        cluster.until(lambda: "warning: agent a1: lost; no message from it for 5 s" in log.read_text())
        cluster.start("agent", ["agent", "--master", str(cluster.data), "--data", str(cluster.folder / "a"),
                                *cluster.agent_arguments])
        cluster.until(lambda: log.read_text().count("info: agent a1: up") == 2)
        for line in log.read_text().splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z (info|warning|error): ")

    def test_no_token_is_made_for_a_pool_that_does_not_exist(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        refused = cluster.request("POST", "/join-tokens", body={"pool": "nosuch"})
        self.assertEqual(refused.status, 404)
        self.assertEqual(refused.json["detail"], "pool: there is no pool 'nosuch'; the pools are 'default'")

    def test_verbose_masters_and_agents_log_the_states_of_jobs(self):
        for verbose in (False, True):
            flags = ("-v",) if verbose else ()
            cluster = Cluster(master=flags, agent=("--artificial-slots", "4", *flags))
            self.addCleanup(cluster.close)
            # A task that ends at once may be heard of only when it has ended.
            job = cluster.run(["/bin/sleep", "1"])
            cluster.wait_for(job, "running")
            cluster.wait_for(job)
            cluster.request("POST", "/jobs/99/stop")
            cluster.request("GET", "/jobs", token="unknown")
            logs = {name: (cluster.folder / f"{name}.log").read_text() for name in ("master", "agent")}
            for name, words in (("master", "debug: received from agent a1: hello"),
                                ("master", "debug: sends to agent a1: welcome"),
                                ("master", "debug: request run_task of user "),
                                ("master", "debug: job 1: queued"), ("master", "debug: job 1: placed"),
                                ("master", "debug: sends to agent a1: start of lease 1.0/1"),
                                ("master", "debug: received from agent a1: started of lease 1.0/1"),
                                ("master", "debug: task 1.0: running"),
                                ("master", "debug: received from agent a1: exited of lease 1.0/1"),
                                ("master", "debug: job 1: ended"), ("master", ": refused: there is no job 99"),
                                ("master", "debug: request list_jobs from 127.0.0.1: refused: "),
                                ("agent", "debug: received welcome"), ("agent", "debug: received start of lease 1.0/1"),
                                ("agent", "debug: lease 1.0/1: starts"),
                                ("agent", "debug: lease 1.0/1: ended, exited 0"),
                                ("agent", "debug: sends exited of lease 1.0/1")):
                self.assertEqual(words in logs[name], verbose, f"{words} in {logs[name]}")
            for log in logs.values():
                for line in log.splitlines():
                    self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z (debug|info|warning|error): ")
                self.assertNotIn(": beat", log)


class Audit(unittest.TestCase):
    def test_contains_requests_of_clients_that_left_before_the_response(self):
        cluster = Cluster(master=("--listen", "127.0.0.1:0"))
        self.addCleanup(cluster.close)
        request = ("POST /api/v1/join-tokens HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n"
                   f"Authorization: Bearer {cluster.admin}\r\n\r\n{{}}").encode()
        for i in range(60):
            with socket.create_connection(("127.0.0.1", cluster.port)) as client:
                client.sendall(request)
                time.sleep(i % 4 * 0.001)
                # It closes with a reset, which the master sees at once.
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

        def counts():
            with contextlib.closing(sqlite3.connect(cluster.data / "cadre.db")) as database:
                tokens = database.execute("SELECT count(*) FROM join_tokens").fetchone()[0]
                entries = database.execute("SELECT count(*) FROM audit WHERE act = 'make_join_token'").fetchone()[0]
            return tokens, entries

        # The requests that arrived are done after this one, which is answered.
        self.assertEqual(cluster.request("POST", "/join-tokens", body={}).status, 200)
        cluster.until(lambda: counts()[0] > 1 and counts()[0] == counts()[1], seconds=20)


class Outages(unittest.TestCase):
    def test_an_agent_says_once_that_it_cannot_reach_its_master(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        log = cluster.folder / "agent.log"
        cluster.kill_master()
        cluster.until(lambda: "cannot reach the master at ipc://" in log.read_text())
        cluster.start_master()
        cluster.until(lambda: "the master answers again" in log.read_text())
        self.assertEqual(log.read_text().count("cannot reach the master"), 1)


if __name__ == "__main__":
    unittest.main()
