"""Programs of two versions in one cluster: jobs run, are adopted and are followed, whichever of them is exchanged.

CADRE_OLD and CADRE_NEW name the two programs, CADRE_REFUSED one whose protocol is too old for CADRE_NEW.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
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

    def mixed(self, cadre, supervisor):
        """A program whose agents start supervisors of another version, as when a package is upgraded under them."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="bin-", dir=self.folder))
        folder.chmod(0o755)
        shutil.copy(cadre, folder / "cadre")
        shutil.copy(pathlib.Path(supervisor).parent / "cadre-supervisor", folder / "cadre-supervisor")
        return str(folder / "cadre")

    def supervisors(self):
        """Those of the agent's tasks: each runs in the folder of its task."""
        found = set()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                folder = pathlib.Path(os.readlink(process / "cwd"))
            except OSError:
                continue  # it has ended
            if folder.parent == self.folder / "a" / "tasks" and not folder.name.startswith("0."):  # of a warm process
                found.add(int(process.name))
        return found

    def schema_version(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.data}/cadre.db?mode=ro", uri=True)) as database:
            return database.execute("SELECT count(*) FROM cadre_schema").fetchone()[0]

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
                self.begin(master, agent)
                for client in (OLD, NEW):
                    self.check_runs(client)

    def begin(self, master, agent, supervisor=None):
        """With an agent that starts supervisors of a third program, if there is one."""
        cluster = self.cluster = Mixed()
        self.addCleanup(cluster.close)
        cluster.master(master)
        cluster.agent(agent if supervisor is None else cluster.mixed(agent, supervisor))
        cluster.until(lambda: cluster.agents_up(master) == 1, "the agent is up")
        return cluster

    def begin_task(self, client):
        """A job that writes and waits; gives its number."""
        cluster = self.cluster
        script = f"echo began; while [ ! -e {cluster.folder}/go_on ]; do sleep 0.1; done; echo ended; exit 3"
        made = cluster.client(client, "run", "--detach", "--slots", "1", "--isolation", "off", "--", "sh", "-c", script)
        self.assertEqual(made.returncode, 0, made.stderr)
        job = made.stdout.split()[-1]
        cluster.until(lambda: "began" in cluster.client(client, "logs", job).stdout, "it has begun")
        return job

    def check_ends(self, jobs, client):
        cluster = self.cluster
        (cluster.folder / "go_on").touch()
        for job in jobs:
            waited = cluster.client(client, "job", "wait", job)
            described = json.loads(cluster.client(client, "job", "describe", job, "--json").stdout)
            self.assertEqual(waited.returncode, 3, waited.stderr)
            self.assertEqual([task["epoch"] for task in described["tasks"]], [1], "it was never started again")
            for reader in (OLD, NEW):
                self.assertEqual(cluster.client(reader, "logs", job).stdout, "began\nended\n")

    def check_survives(self, before, after):
        """A task that runs while programs are exchanged goes on under its supervisor, is followed, and its end is known.
        `before` and `after` are those of the master and the agent."""
        cluster = self.begin(*before)
        job = self.begin_task(before[0])
        supervisors = cluster.supervisors()
        self.assertEqual(len(supervisors), 1)
        if before[1] != after[1]:
            cluster.kill("agent")
            cluster.agent(after[1])
        if before[0] != after[0]:
            cluster.kill("master")
            cluster.master(after[0])
        cluster.until(lambda: cluster.agents_up(after[0]) == 1, "the agent is back")
        self.assertEqual(cluster.supervisors(), supervisors)
        self.check_ends([job], after[0])
        self.check_runs(after[0])

    def test_tasks_survive_a_newer_master_and_agent(self):
        self.check_survives((OLD, OLD), (NEW, NEW))

    def test_tasks_survive_a_newer_agent(self):
        """Which adopts older supervisors."""
        for master in (OLD, NEW):
            with self.subTest(master="old" if master == OLD else "new"):
                self.check_survives((master, OLD), (master, NEW))

    def test_tasks_survive_an_older_agent(self):
        """Which adopts newer supervisors."""
        for master in (OLD, NEW):
            with self.subTest(master="old" if master == OLD else "new"):
                self.check_survives((master, NEW), (master, OLD))

    def test_tasks_survive_a_newer_master(self):
        for agent in (OLD, NEW):
            with self.subTest(agent="old" if agent == OLD else "new"):
                self.check_survives((OLD, agent), (NEW, agent))

    def test_agents_start_supervisors_of_another_version(self):
        """As when a package is upgraded, or downgraded, while the agent runs; the next agent adopts them."""
        for agent, supervisor in ((OLD, NEW), (NEW, OLD)):
            with self.subTest(agent="old" if agent == OLD else "new"):
                cluster = self.begin(NEW, agent, supervisor)
                self.check_runs(NEW)
                job = self.begin_task(NEW)
                supervisors = cluster.supervisors()
                cluster.kill("agent")
                cluster.agent(supervisor)
                cluster.until(lambda: cluster.agents_up(NEW) == 1, "the agent is back")
                self.assertEqual(cluster.supervisors(), supervisors)
                self.check_ends([job], NEW)
                self.check_runs(NEW)

    def test_an_older_master_refuses_the_database_of_a_newer_one(self):
        """And leaves it as it is."""
        cluster = self.cluster
        cluster.master(OLD)
        old_version = cluster.schema_version()
        cluster = self.begin(NEW, NEW)
        new_version = cluster.schema_version()
        job = self.begin_task(NEW)
        cluster.kill("master")
        if new_version == old_version:  # then it is none that the older one does not know
            cluster.master(OLD)
        else:
            cluster.start("older", OLD, "master", "--data", str(cluster.data), "--port", "0")
            self.assertNotEqual(cluster.processes["older"].wait(60), 0)
            self.assertIn(f"has schema version {new_version}, this program knows versions up to {old_version}; run a newer "
                          "release of cadre, or restore a backup made before the upgrade", cluster.log("older"))
            self.assertEqual(cluster.schema_version(), new_version)
            cluster.master(NEW)
        cluster.until(lambda: cluster.agents_up(NEW) == 1, "the agent is back")
        self.check_ends([job], NEW)

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
