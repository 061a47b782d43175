"""The session of a program: addresses, waiting for a place, and what its actors print."""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

from scene import PROGRAM, Scripts, until  # first: it knows where cadre is
import cadre


class Addresses(Scripts):
    def tearDown(self):
        cadre.disconnect()

    def test_host_and_port_are_an_address_however_they_are_written(self):
        port = self.cluster.port
        spellings = [f"127.0.0.1:{port}", f"localhost:{port}", f"cadre://localhost:{port}/", f"http://127.0.0.1:{port}"]
        for first in spellings:
            cadre.disconnect()
            os.environ["CADRE_TOKEN"] = self.cluster.admin
            try:
                cadre.connect(first)
            finally:
                del os.environ["CADRE_TOKEN"]
            for again in spellings:
                cadre.connect(again)
        with self.assertRaises(cadre.ActorError) as raised:
            cadre.connect("localhost:1")
        self.assertEqual(raised.exception.code, "conflict")

    def test_an_invalid_address_is_refused_with_a_reason(self):
        cadre.disconnect()
        with self.assertRaisesRegex(cadre.ActorError, "its port is not a number from 0 to 65535"):
            cadre.connect("localhost:99999")
        with self.assertRaisesRegex(cadre.ActorError, "write an address like host:7310"):
            cadre.connect("ftp://localhost:7310")

    def test_a_master_that_is_away_is_named_with_the_call_that_names_another(self):
        cadre.disconnect()
        for address in ("localhost:1", "/nowhere"):
            with self.assertRaisesRegex(cadre.ActorError, r'name another with cadre.connect\("host:port"\) or CADRE_MASTER'):
                cadre.connect(address, timeout=5)


class Waiting(Scripts):
    AGENT = ("--cpus", "2", "--memory", "4GiB", "--warm", "0")

    def live(self):
        return [one for one in self.cluster.get("/jobs", query={"ended": "false"}).json["jobs"]
                if one["stage"] != "ended"]

    def test_a_constructor_that_times_out_leaves_nothing(self):
        made = cadre.remote_class(cpus=0.1, timeout=0.001)(Plain)
        for _ in range(3):
            with self.assertRaises(TimeoutError) as raised:
                made()
            self.assertNotIn("had no free resources", str(raised.exception))
            self.assertRegex(str(raised.exception), "the master did not answer within 1 ms|"
                                                    "has a place on agent a1, but its process was not ready within 1 ms")
        end = time.monotonic() + 20
        while self.live():
            self.assertLess(time.monotonic(), end, "an actor that nobody waits for is kept for a minute")
            time.sleep(0.05)
        self.assertEqual(cadre.remote_class(cpus=2)(Plain)().f(), 1, "its place is free")

    def test_a_timeout_names_what_was_missing(self):
        with self.assertRaises(TimeoutError) as raised:
            cadre.remote_class(cpus=0.1, timeout=0.1, python=self.slow_python())(Plain)()
        self.assertIn("has a place on agent a1, but its process was not ready within 0.1 s", str(raised.exception))
        blocker = cadre.remote_class(cpus=2)(Plain)()
        with self.assertRaises(TimeoutError) as raised:
            cadre.remote_class(cpus=1, timeout=0.3)(Plain)()
        self.assertRegex(str(raised.exception), "had no free resources for the actor within 0.3 s; `cadre why [0-9]+` explains why")
        cadre.kill(blocker)
        until(lambda: not self.live(), "all end")

    def slow_python(self):
        """An interpreter that takes its time to start."""
        folder = tempfile.TemporaryDirectory(dir=os.path.dirname(os.environ["CADRE_PROGRAM"]))
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)  # tasks run as another user
        path = folder.name + "/python3"
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsleep 1000\n")
        os.chmod(path, 0o755)
        return path

    def test_a_program_with_waiting_actors_prints_the_reason(self):
        blocker = cadre.remote_class(cpus=2)(Plain)()
        script = """
            import cadre
            @cadre.remote_class(cpus=1, timeout=600)
            class Waiter:
                def f(self): return "here"
            print(Waiter().f())
            """
        driver = self.start_script({}, script, folder=self.folder())
        said = driver.stderr.readline()
        self.assertRegex(said, "^cadre: actor Waiter [0-9]+ waits: .*cpus")
        job = re.search("Waiter ([0-9]+)", said).group(1)
        why = subprocess.run([PROGRAM, "why", job], stdout=subprocess.PIPE, text=True, timeout=60).stdout
        self.assertEqual(f"job {job}: " + said.partition(" waits: ")[2].strip(), why.split("\n")[0].strip())
        cadre.kill(blocker)
        self.assertEqual(driver.communicate(timeout=60), ("here\n", ""), "and says it once")


class Plain:
    def f(self):
        return 1


class Output(Scripts):
    SCRIPT = """
        import cadre, os, sys
        cadre.connect({options})
        @cadre.remote_class(cpus=0.1)
        class Speaker:
            def __init__(self):
                print("made")
            def speak(self):
                print("one\\ntwo")
                print("trouble", file=sys.stderr)
                os.system("echo from a child")
            def flood(self, lines):
                for i in range(lines):
                    print(i, "x" * 100)
                return lines
        s = Speaker()
        s.speak()
        {more}
        """

    def speak(self, options="", more="", **variables):
        script = self.SCRIPT.format(options=options, more=more)
        code, said, errors = self.try_script({}, script, env={**os.environ, **variables})
        self.assertEqual(code, 0, errors)
        return said, errors

    def test_output_of_actors_appears_with_their_names(self):
        said, errors = self.speak()
        number = re.search(r"\(Speaker (\d+)\) made\n", said).group(1)
        self.assertEqual(said, "".join(f"(Speaker {number}) {line}\n" for line in ("made", "one", "two")))
        self.assertEqual(errors, f"(Speaker {number}) trouble\n")
        kept = subprocess.run([PROGRAM, "actor", "logs", number], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60).stdout
        for line in ("made", "one", "two", "trouble", "from a child"):
            self.assertIn(line, kept)

    def test_it_can_be_turned_off(self):
        self.assertEqual(self.speak(options="output=False"), ("", ""))
        self.assertEqual(self.speak(CADRE_ACTOR_OUTPUT="0"), ("", ""))
        self.assertIn(") made", self.speak(options="output=True", CADRE_ACTOR_OUTPUT="0")[0])

    def test_that_of_actors_of_actors_appears_with_both_names(self):
        said = self.run_script({}, """
            import cadre
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Inner:
                def speak(self): print("deep")
            @cadre.remote_class(cpus=0.1)
            class Outer:
                def speak(self):
                    Inner().speak()
                    cadre.disconnect()
            Outer().speak()
            """)
        self.assertRegex(said, r"^\(Outer \d+\) \(Inner \d+\) deep\n$")

    def test_a_reader_that_takes_nothing_delays_no_call(self):
        """The program's standard output is a pipe that nobody reads."""
        script = self.SCRIPT.format(options="", more="""
        for i in range(100):
            assert s.flood(1000) == 1000
        print("through", file=sys.stderr, flush=True)
        os._exit(0)
        """)
        driver = self.start_script({}, script, folder=self.folder())
        said = ""
        while "through" not in said:
            line = driver.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        driver.wait(60)
        driver.stdout.close()
        driver.stderr.close()

    def test_a_program_may_end_while_lines_are_shown(self):
        _, errors = self.speak(more="""
        import time
        class Endless:
            def write(self, text):
                while True: time.sleep(0.01)
            def flush(self): pass
        class Last:  # goes when the interpreter has ended for all other threads
            def __del__(self, sleep=time.sleep): sleep(0.5)
        last = Last()
        sys.stdout = Endless()
        s.speak()
        """)
        self.assertNotIn("Fatal", errors)

    def test_a_closed_reader_ends_only_the_output(self):
        script = self.SCRIPT.format(options="", more="""
        for i in range(20):
            assert s.flood(100) == 100
        open("through", "w").close()
        """)
        folder = self.folder()
        driver = self.start_script({}, script, folder=folder)
        driver.stdout.readline()
        driver.stdout.close()
        with driver.stderr:
            errors = driver.stderr.read()
        self.assertEqual(driver.wait(60), 0, errors)
        self.assertTrue(os.path.exists(os.path.join(folder, "through")))
        self.assertRegex(errors, r"^(\(Speaker \d+\) trouble\n)?$")

    def test_lines_that_are_skipped_are_counted(self):
        script = self.SCRIPT.format(options="", more="""
        for i in range(50):
            s.flood(1000)
        cadre.disconnect()
        """)
        code, said, errors = self.try_script({}, script)
        self.assertEqual(code, 0, errors)
        shown = len(re.findall(r"^\(Speaker \d+\) \d+ x+$", said, re.MULTILINE))
        skipped = sum(int(one) for one in re.findall(r"(\d+) lines (?:are not shown here|that actors wrote faster)",
                                                     said + errors))
        self.assertEqual(shown + skipped, 50_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
