"""Programs of users: remote classes in C++, and the examples."""
import os
import re
import subprocess
import sys
import unittest

from scene import Scene


class Programs(Scene):
    AGENT = ("--artificial-slots", "4", "--cpus", "64", "--memory", "64GiB", "--warm", "8")

    def run_it(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def example(self, name, *arguments):
        return self.run_it(sys.executable, f"{os.environ['CADRE_EXAMPLES']}/remote/{name}", *arguments)

    def test_classes_in_cpp(self):
        self.assertEqual(self.run_it(os.environ["CADRE_ACTORS"]), "fine\n")

    def test_output_of_cpp_actors_appears_with_their_names(self):
        done = subprocess.run([os.environ["CADRE_ACTORS"], "speak"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300)
        number = re.search(r"^(\d+)$", done.stdout, re.MULTILINE).group(1)
        said = [line for line in done.stdout.split("\n") if line.startswith("(")]
        self.assertEqual(said, [f"(Thing {number}) by stdio", f"(Thing {number}) by a stream"])
        self.assertEqual(done.stderr, f"(Thing {number}) an error by stdio\n(Thing {number}) an error by a stream\n")
        kept = subprocess.run([os.environ["CADRE_PROGRAM"], "actor", "logs", number], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60).stdout
        for line in ("by stdio", "by a stream", "an error by stdio", "an error by a stream"):
            self.assertIn(line, kept)

    def test_a_program_without_init_makes_no_actors_of_actors(self):
        done = subprocess.run([os.environ["CADRE_WITHOUT_INIT"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=300)
        self.assertEqual(done.returncode, 3, done.stdout)
        job = int(re.search(r"exited with 3; `cadre actor logs (\d+)` shows its output", done.stderr).group(1))
        said = subprocess.run([os.environ["CADRE_PROGRAM"], "actor", "logs", str(job)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertIn("call cadre::init(argc, argv) at the beginning", said.stdout)
        self.assertEqual(self.actors(), [])

    def test_simulator(self):
        self.assertEqual(self.run_it(os.environ["CADRE_SIMULATOR"]),
                         "step 1: at 41\nstep 2: at 42\nstd::out_of_range: the number of pushes must not be negative\nscore 2\n")

    def test_pi_over_fifty_actors(self):
        said = self.example("pi.py", "50", "2000")
        value = float(re.search(r"pi is about ([0-9.]+), by 50 actors", said).group(1))
        self.assertLess(abs(value - 3.1416), 0.1)

    def test_evolution_strategies(self):
        said = self.example("evolution.py", "4", "20")
        self.assertGreater(int(re.search(r"upright for (\d+) of 200 steps\n$", said).group(1)), 120)


if __name__ == "__main__":
    unittest.main(verbosity=2)
