"""The package as a user's process has it, against a supervisor that these tests play."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import msgpack

PATIENCE = 20


class Supervisor:
    """Plays the supervisor of a task."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(path)
        self.socket.listen(64)
        self.socket.settimeout(PATIENCE)

    def close(self):
        self.socket.close()

    def answer_call(self):
        connection, _ = self.socket.accept()
        connection.settimeout(PATIENCE)
        return Caller(connection)


class Caller:
    def __init__(self, connection):
        self.connection = connection

    def hear(self):
        packet = self.connection.recv(65536)
        return msgpack.unpackb(packet) if packet else None

    def say(self, **message):
        self.connection.send(msgpack.packb(message))

    def close(self):
        self.connection.close()


class OnTheCluster(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "task.sock")
        self.supervisor = Supervisor(self.path)
        self.addCleanup(self.supervisor.close)

    def start(self, *arguments, **variables):
        """Runs Python as a task."""
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env={**os.environ, "CADRE_SOCKET": self.path, **variables},
            cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        output, _ = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, output)
        return output

    def attached(self):
        caller = self.supervisor.answer_call()
        self.addCleanup(caller.close)
        message = caller.hear()
        self.assertEqual(message["type"], "attach")
        return caller, message["pid"]

    def test_a_loop_is_stopped(self):
        process = self.start("-c", """if True:
            import cadre, time
            while not cadre.should_stop(): time.sleep(0.001)
            print(cadre.stop().why, 3500 < cadre.stop().grace_left <= 3600)
            """)
        caller, pid = self.attached()
        self.assertEqual(pid, process.pid)
        caller.say(type="stop_notice", why="preempted", grace="1h")
        self.assertEqual(self.finish(process), "preempted True\n")

    def test_importing_attaches_nothing(self):
        process = self.start("-c", "import cadre; print(cadre.task)", CADRE_TASK="17.3", CADRE_LEASE="17.3/2",
                             CADRE_EPOCH="2", CADRE_ROLE="worker", CADRE_RANK="3", CADRE_SIZE="8", CADRE_SLOTS="0,5",
                             CADRE_MASTER="here:1")
        self.assertEqual(self.finish(process), "Task(task='17.3', lease='17.3/2', epoch=2, role='worker', rank=3, "
                                               "size=8, slots=('0', '5'), master='here:1')\n")
        self.supervisor.socket.settimeout(0)
        with self.assertRaises(BlockingIOError):
            self.supervisor.socket.accept()

    def test_reports(self):
        process = self.start("-c", """if True:
            import cadre
            cadre.report({"loss": 0.5, "word": "ü"}, timeout=float("inf"))
            try: cadre.report(2)
            except cadre.ReportRefused as error: print("refused:", error)
            try: cadre.report(3, timeout=0.05)
            except cadre.ReportUnknown as error: print("unknown:", error)
            try: cadre.report(4)
            except cadre.ReportUnknown as error: print("unknown:", error)
            try: cadre.report("x" * 40000)
            except cadre.ReportRefused as error: print("refused:", error)
            """)
        caller, _ = self.attached()
        first = caller.hear()
        self.assertEqual((first["type"], first["body"]), ("report", '{"loss": 0.5, "word": "ü"}'))
        caller.say(type="report_answer", number=first["number"], accepted=True)
        second = caller.hear()
        caller.say(type="report_answer", number=second["number"], accepted=False, why="an old epoch")
        self.assertEqual(caller.hear()["body"], "3")
        self.assertEqual(caller.hear()["body"], "4")
        caller.close()
        lines = self.finish(process).splitlines()
        self.assertEqual(lines[0], "refused: an old epoch")
        self.assertEqual(lines[1], "unknown: no answer came in time")
        self.assertIn("unknown: the supervisor was lost", lines[2])
        self.assertIn("refused: a report has at most", lines[3])

    def test_beats_after_the_promise(self):
        process = self.start("-c", """if True:
            import cadre
            cadre.beat()
            cadre.promise_liveness()
            """)
        caller, _ = self.attached()
        self.assertEqual(caller.hear(), {"type": "beat", "calls": 0, "errors": 0})
        self.assertIsNone(caller.hear())
        self.finish(process)

    def test_other_threads_run_while_one_waits(self):
        process = self.start("-c", """if True:
            import cadre, threading
            waiting = threading.Thread(target=lambda: cadre.report("wait"))
            waiting.start()
            turns = 0
            while waiting.is_alive(): turns += 1; cadre.should_stop()
            print(turns > 100)
            """)
        caller, _ = self.attached()
        report = caller.hear()
        time.sleep(0.3)
        caller.say(type="report_answer", number=report["number"], accepted=True)
        self.assertEqual(self.finish(process), "True\n")

    def test_forked_processes_have_lines_of_their_own(self):
        process = self.start("-c", """if True:
            import cadre, multiprocessing, os, time
            def work():
                while not cadre.should_stop(): time.sleep(0.001)
            cadre.should_stop()
            children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(3)]
            for child in children: child.start()
            for child in children: child.join()
            print([child.exitcode for child in children], cadre.should_stop())
            """)
        callers = [self.attached() for _ in range(4)]
        self.assertEqual(callers[0][1], process.pid)
        self.assertEqual(len({pid for _, pid in callers}), 4)
        for caller, _ in callers[1:]:
            caller.say(type="stop_notice", why="killed_by_user", grace="60s")
        self.assertEqual(self.finish(process), "[0, 0, 0] False\n")

    def test_a_killed_supervisor_is_survived(self):
        self.supervisor.close()
        os.unlink(self.path)
        playing = subprocess.Popen([sys.executable, "-c", f"""if True:
            import sys, time
            sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
            import test_cadre
            caller = test_cadre.Supervisor({self.path!r}).answer_call()
            print(caller.hear()["type"], flush=True)
            print(caller.hear()["type"], flush=True)
            time.sleep({PATIENCE})
            """], stdout=subprocess.PIPE, text=True)
        self.addCleanup(playing.stdout.close)
        while not os.path.exists(self.path):
            time.sleep(0.01)
        process = self.start("-c", """if True:
            import cadre, time
            while not cadre.stop():
                try: cadre.report("anything")
                except cadre.ReportUnknown: pass
                time.sleep(0.01)
            print(cadre.stop().why)
            """)
        self.assertEqual(playing.stdout.readline(), "attach\n")
        self.assertEqual(playing.stdout.readline(), "report\n")
        playing.send_signal(signal.SIGKILL)
        playing.wait()
        os.unlink(self.path)
        self.supervisor = Supervisor(self.path)
        caller, _ = self.attached()
        caller.say(type="stop_notice", why="killed_by_user", grace="60s")
        def hear_all():
            with contextlib.suppress(OSError):
                while caller.hear() is not None:
                    pass

        threading.Thread(target=hear_all, daemon=True).start()
        with contextlib.suppress(OSError):  # it may have ended by now
            for number in range(1, 200):
                caller.say(type="report_answer", number=number, accepted=True)
        self.assertEqual(self.finish(process), "killed_by_user\n")

    def test_the_example_stops_and_goes_on(self):
        example = os.path.join(os.environ["CADRE_EXAMPLES"], "stop", "loop.py")
        process = self.start(example, "1000")
        caller, _ = self.attached()
        self.assertEqual(caller.hear(), {"type": "beat", "calls": 0, "errors": 0})
        report = caller.hear()
        while report["type"] == "beat":
            report = caller.hear()
        caller.say(type="report_answer", number=report["number"], accepted=True)
        caller.say(type="stop_notice", why="preempted", grace="60s")
        output = self.finish(process)
        self.assertIn("stopping at step 1", output)
        self.assertIn("preempted", output)
        with open(os.path.join(self.folder.name, "checkpoint.json")) as file:
            self.assertGreaterEqual(json.load(file)["step"], 10)


class OffTheCluster(unittest.TestCase):
    def test_the_same_code_runs(self):
        variables = {name: value for name, value in os.environ.items() if name != "CADRE_SOCKET"}
        output = subprocess.run([sys.executable, "-c", """if True:
            import cadre
            cadre.promise_liveness()
            cadre.beat()
            cadre.report({"loss": 0.5})
            print(cadre.should_stop(), cadre.stop(), cadre.on_cluster(), cadre.task.rank, cadre.task.size)
            """], env=variables, capture_output=True, text=True, check=True, timeout=PATIENCE)
        self.assertEqual(output.stdout, "False None False 0 1\n")
        self.assertEqual(output.stderr, 'cadre: report {"loss": 0.5}\n')

    def test_what_is_public_is_documented(self):
        import cadre
        for name in cadre.__all__:
            thing = getattr(cadre, name)
            self.assertTrue(thing.__doc__, name)
            if callable(thing) and not isinstance(thing, type):
                self.assertIn("return", thing.__annotations__, name)


if __name__ == "__main__":
    unittest.main()
