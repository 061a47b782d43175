"""A real cluster on this host, for tests of actors: a master, one agent or more, and what they leave behind."""
import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))
from cluster import PROGRAM, Cluster  # noqa: E402

import cadre  # noqa: E402


def until(holds, what, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that: " + what)
        time.sleep(0.02)


def process_is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def hosts_of_actors():
    """Processes that are actors, or wait to be one."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            words = pathlib.Path(path).read_bytes()
        except OSError:
            continue
        if b"cadre.host" in words or b"--cadre-host" in words:
            found.add(int(path.split("/")[2]))
    return found


class Scene(unittest.TestCase):
    """With a cluster that all tests of a class share."""

    AGENT = ("--artificial-slots", "4", "--cpus", "64", "--memory", "64GiB", "--warm", "4")
    MASTER = ()
    USER = None  # as whom the cluster runs; None: as this program

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(master=cls.MASTER, agent=cls.AGENT, user=cls.USER)
        os.environ["CADRE_MASTER"] = str(cls.cluster.data)
        os.environ.pop("CADRE_TOKEN", None)

    @classmethod
    def tearDownClass(cls):
        cadre.disconnect()
        cls.cluster.close()

    def setUp(self):
        cadre.connect()

    def actors(self):
        return self.cluster.get("/actors").json["actors"]

    def folder(self):
        """One of this test's own."""
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name

    def run_program(self, text, **more):
        """A Python program with this session's cluster."""
        return subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, **more)


class Scripts(Scene):
    """With programs in folders of their own, and files beside them."""

    def start_script(self, files, script, *, folder, command=("main.py",), python=sys.executable, **more):
        for name, text in {**files, "main.py": script}.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text(textwrap.dedent(text))
            else:
                path.mkdir(exist_ok=True)
        return subprocess.Popen([python, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, **more)

    def try_script(self, files, script, **more):
        """Its exit code, standard output and standard error."""
        with tempfile.TemporaryDirectory() as folder:
            process = self.start_script(files, script, folder=folder, **more)
            try:
                said, errors = process.communicate(timeout=120)
            finally:
                process.kill()
        return process.returncode, said, errors

    def run_script(self, files, script, **more):
        """Its standard output."""
        code, said, errors = self.try_script(files, script, **more)
        self.assertEqual(code, 0, errors)
        return said
