"""Closed standard streams and readers that go away: of commands, of servers and of drivers in Python."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from cluster import PROGRAM, Cluster


def shell(command, data, **more):
    """Runs it in bash, where $CADRE is the program."""
    environment = {**os.environ, "CADRE": PROGRAM, "CADRE_MASTER": str(data)}
    return subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=60, **more)


class ClosedStreams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def test_closed_input_is_the_end_of_input(self):
        ran = shell('"$CADRE" run -i -- cat <&-', self.cluster.data)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))
        job = self.cluster.run(["/bin/sleep", "60"])
        self.cluster.wait_for(job, "running")
        ran = shell(f'"$CADRE" exec {job} -- cat <&-', self.cluster.data)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_a_master_without_streams_writes_its_log_into_no_file(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-streams-"))
        self.addCleanup(shutil.rmtree, folder)
        command = f'exec "{PROGRAM}" master --data {folder}/m --port 0 <&- >&- 2>&-'
        master = subprocess.Popen(["bash", "-c", command])
        self.addCleanup(master.wait)
        self.addCleanup(master.kill)
        self.cluster.until((folder / "m/client.json").exists)
        self.assertEqual((folder / "m/lock").read_bytes(), b"")
        for stream in range(3):
            self.assertEqual(os.readlink(f"/proc/{master.pid}/fd/{stream}"), "/dev/null")


class UnwritableOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def last_job(self):
        return max(self.cluster.get("/jobs").json["jobs"], key=lambda job: job["id"])["id"]

    def test_a_reader_that_goes_away_stops_the_job(self):
        ran = shell('"$CADRE" run -- sh -c "while echo y; do sleep 0.01; done" | head -1', self.cluster.data)
        self.assertEqual(ran.stdout, "y\n")
        self.assertEqual(self.cluster.wait_for(self.last_job())["reason"], "killed_by_user")

    def test_output_without_a_reader_is_not_fetched(self):
        text = "yes | head -c 4000000"
        job = self.cluster.run(["/bin/sh", "-c", text])
        self.assertEqual(self.cluster.wait_for(job)["reason"], "exited")
        whole = self.cpu_of(["task", "logs", str(job)], lambda output: output.read())
        first_line = self.cpu_of(["run", "--", "sh", "-c", text + "; sleep 600"], lambda output: output.readline())
        self.assertLess(first_line, whole / 5)

    def cpu_of(self, command, read):
        """The CPU time of a command whose reader goes away when it has read what it wants."""
        process = subprocess.Popen([PROGRAM, "--master", str(self.cluster.data), *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.assertTrue(read(process.stdout).startswith(b"y\n"))
        process.stdout.close()
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
        return used.ru_utime + used.ru_stime

    def test_a_write_error_is_reported(self):
        ran = shell('"$CADRE" run -- echo done > /dev/full', self.cluster.data)
        self.assertEqual(ran.returncode, 125)  # a slow agent lets it also say why the job waits
        self.assertTrue(ran.stderr.endswith("cadre run: cannot write the output: No space left on device\n"), ran.stderr)
        ran = shell('"$CADRE" job list > /dev/full', self.cluster.data)
        self.assertEqual((ran.returncode, ran.stderr),
                         (1, "cadre job list: cannot write the output: No space left on device\n"))


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)

    def test_no_command_and_help_print_the_help(self):
        for command in ('"$CADRE"', '"$CADRE" help', '"$CADRE" --help'):
            ran = shell(command, self.cluster.data)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertIn("Run a command on the cluster", ran.stdout)
        self.assertEqual(shell('"$CADRE" help run', self.cluster.data).stdout,
                         shell('"$CADRE" run --help', self.cluster.data).stdout)

    def test_a_failed_setup_is_printed_in_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = shell(f'"$CADRE" run --dir {folder} --setup "echo one; echo two; false" -- true', self.cluster.data)
        self.assertEqual(ran.returncode, 125)
        self.assertIn("\ntwo\n", ran.stderr)
        self.assertNotIn("\\n", ran.stderr)

    def test_a_signal_is_named_once(self):
        ran = shell('"$CADRE" run -- sh -c "kill -9 \\$\\$"', self.cluster.data)
        self.assertEqual(ran.returncode, 137)
        self.assertRegex(ran.stderr, r"ended by signal 9 \(SIGKILL\)\n$")

    def test_exec_in_a_task_that_has_ended_says_so(self):
        job = self.cluster.run(["/bin/true"])
        self.cluster.wait_for(job)
        ran = shell(f'"$CADRE" exec {job} -- true', self.cluster.data)
        self.assertEqual((ran.returncode, ran.stderr), (125, f"cadre exec: task {job}.0 has ended\n"))


class LogReaders(unittest.TestCase):
    def test_a_cluster_outlives_the_reader_of_its_log(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-streams-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        up = subprocess.Popen([PROGRAM, "up", "--data", folder / "m", "--port", "0", "--slots", "1", "-v"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(up.wait)
        self.addCleanup(up.send_signal, signal.SIGTERM)
        up.stdout.readline()
        up.stdout.close()
        for _ in range(3):
            ran = shell('"$CADRE" run -- echo done || sleep 1', folder / "m")
            if ran.stdout == "done\n":
                break
        self.assertEqual(ran.stdout, "done\n", ran.stderr)
        self.assertIsNone(up.poll())

    def test_an_address_in_use_names_the_option_for_another(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-streams-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        ran = shell(f'"$CADRE" master --data {folder}/m --http 127.0.0.1:{cluster.port}', cluster.data)
        self.assertEqual(ran.returncode, 3)
        self.assertIn("Address already in use; choose another port with --port N, or another address with --http "
                      "HOST:PORT", ran.stderr)


if __name__ == "__main__":
    unittest.main()
