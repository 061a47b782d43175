"""Programs of two versions in one cluster: jobs run, are adopted and are followed.

CADRE_OLD and CADRE_NEW name the two programs, CADRE_REFUSED one whose protocol is too old for CADRE_NEW.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

OLD = os.environ["CADRE_OLD"]
NEW = os.environ["CADRE_NEW"]
REFUSED = os.environ["CADRE_REFUSED"]


class Mixed:
    """A master and an agent whose programs can be exchanged while tasks run."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-compat-"))
        self.folder.chmod(0o755)  # tasks of a root agent run as users of their own and look for files here
        self.data = self.folder / "m"
        self.processes = {}

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, program, *arguments):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([program, *arguments], stdout=log, stderr=log)

    def master(self, program):
        self.start("master", program, "master", "--data", str(self.data), "--port", "0", "--agent-timeout", "10s")
        self.until(lambda: (self.data / "client.json").exists() and
                   self.client(program, "status").returncode == 0, "the master is up")

    def agent(self, program):
        self.start("agent", program, "agent", "--master", str(self.data), "--data", str(self.folder / "a"), "--id", "a1",
                   "--artificial-slots", "2", "--allow-isolation-off")

    def kill(self, name):
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def client(self, program, *arguments, timeout=60):
        environment = dict(os.environ, CADRE_MASTER=str(self.data))
        return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout, env=environment)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def until(self, holds, what, seconds=60):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                logs = "".join(f"--- {log.name}\n{log.read_text()}" for log in self.folder.glob("*.log"))
                raise AssertionError(f"not within {seconds} s: {what}\n{logs}")
            time.sleep(0.05)

    def agents_up(self, program):
        return json.loads(self.client(program, "status", "--json").stdout)["agents_up"]


class Versions(unittest.TestCase):
    def setUp(self):
        self.cluster = Mixed()
        self.addCleanup(self.cluster.close)

    def check_runs(self, client):
        done = self.cluster.client(client, "run", "--slots", "1", "--", "sh", "-c", "echo one; echo two >&2; exit 7")
        self.assertEqual((done.stdout, done.returncode), ("one\n", 7), done.stderr)
        self.assertIn("two", done.stderr)

    def test_master_and_agent_of_two_versions_run_jobs_for_clients_of_both(self):
        for master, agent in ((NEW, OLD), (OLD, NEW)):
            with self.subTest(master="new" if master == NEW else "old"):
                cluster = self.cluster = Mixed()
                self.addCleanup(cluster.close)
                cluster.master(master)
                cluster.agent(agent)
                cluster.until(lambda: cluster.agents_up(master) == 1, "the agent is up")
                for client in (OLD, NEW):
                    self.check_runs(client)

    def check_survives(self, before, after):
        """A task that runs while master and agent are exchanged goes on, is followed, and its end is known."""
        cluster = self.cluster = Mixed()
        self.addCleanup(cluster.close)
        cluster.master(before)
        cluster.agent(before)
        cluster.until(lambda: cluster.agents_up(before) == 1, "the agent is up")
        go_on = cluster.folder / "go_on"
        script = f"echo began; while [ ! -e {go_on} ]; do sleep 0.1; done; echo ended; exit 3"
        made = cluster.client(before, "run", "--detach", "--slots", "1", "--isolation", "off", "--", "sh", "-c", script)
        self.assertEqual(made.returncode, 0, made.stderr)
        job = made.stdout.split()[-1]
        cluster.until(lambda: "began" in cluster.client(before, "logs", job).stdout, "it has begun")
        cluster.kill("agent")
        cluster.agent(after)
        cluster.kill("master")
        cluster.master(after)
        cluster.until(lambda: cluster.agents_up(after) == 1, "the agent is back")
        go_on.touch()
        waited = cluster.client(after, "job", "wait", job)
        described = json.loads(cluster.client(after, "job", "describe", job, "--json").stdout)
        self.assertEqual(waited.returncode, 3, waited.stderr)
        self.assertEqual([task["epoch"] for task in described["tasks"]], [1],
                         "it was never started again")
        self.assertEqual(cluster.client(before, "logs", job).stdout, "began\nended\n")

    def test_tasks_are_adopted_by_a_newer_version(self):
        self.check_survives(OLD, NEW)

    def test_tasks_are_adopted_by_an_older_version(self):
        self.check_survives(NEW, OLD)

    def test_agents_of_an_older_protocol_are_refused_with_both_versions(self):
        for master, agent in ((NEW, REFUSED), (REFUSED, NEW)):
            with self.subTest(master="new" if master == NEW else "refused"):
                cluster = self.cluster = Mixed()
                self.addCleanup(cluster.close)
                cluster.master(master)
                cluster.agent(agent)
                cluster.until(lambda: "protocol" in cluster.log("agent"), "the agent says why")
                self.assertRegex(cluster.log("agent"), r"protocol 1\b.*\b2\b|protocol 2\b.*\b1\b")


if __name__ == "__main__":
    unittest.main()
