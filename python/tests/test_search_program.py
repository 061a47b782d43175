"""Programs of custom searches: each event is answered exactly once, whoever is killed between."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

from cadre import search
from fake_search_master import FakeSearchMaster

config = {"name": "mine", "entrypoint": ["train"], "hyperparameters": {"x": search.double(-10, 10)},
          "searcher": {"type": "custom", "metric": "loss"}}


class Climber(search.Searcher):
    """Tries both neighbours of the best point, and halves the distance when neither is better."""

    def __init__(self):
        self.best, self.value, self.width, self.points, self.seen, self.calls = 0.0, None, 4.0, {}, {}, 0

    def state(self):
        return [self.best, self.value, self.width, [[k, v] for k, v in self.points.items()],
                [[k, v] for k, v in self.seen.items()]]

    def restore(self, state):
        self.best, self.value, self.width = state[:3]
        self.points, self.seen = dict(state[3]), dict(state[4])

    def on_begin(self):
        self.points[self.create({"x": 0.0})] = 0.0

    def on_report(self, trial, time, metric):
        self.seen[trial] = metric

    def on_end(self, trial, exit):
        self.calls += 1
        if set(self.points) - set(self.seen):
            return
        trial, value = min(self.seen.items(), key=lambda one: one[1])
        if self.value is None or value < self.value:
            self.best, self.value = self.points[trial], value
        else:
            self.width /= 2
        if self.width < 0.1:
            return self.shutdown()
        self.points, self.seen = {}, {}
        for x in (self.best - self.width, self.best + self.width):
            self.points[self.create({"x": x})] = x


def value_of(hyperparameters, step):
    return (hyperparameters["x"] - 3) ** 2 + 1 / step


PROGRAM = """
    import sys
    sys.path.insert(0, {tests!r})
    from test_search_program import Climber, config, search
    climber = Climber()
    print(search.run(climber, config=config, file=sys.argv[1]), climber.best, flush=True)
"""


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "search.json"
        self.master = FakeSearchMaster(value_of)
        self.addCleanup(lambda: self.master.stop())
        patch = mock.patch.dict(os.environ, self.master.environment)
        patch.start()
        self.addCleanup(patch.stop)

    def run_program(self):
        program = textwrap.dedent(PROGRAM.format(tests=str(pathlib.Path(__file__).parent)))
        return subprocess.Popen([sys.executable, "-c", program, str(self.file)], stdout=subprocess.PIPE, text=True)

    def assertAnswersAre(self, trials):
        """That the experiment has these trials, and each event was answered once."""
        self.assertEqual(self.master.trials, trials)
        self.assertEqual(len(self.master.created), 1)

    def undisturbed(self):
        other = FakeSearchMaster(value_of)
        with mock.patch.dict(os.environ, other.environment):
            search.run(Climber(), config=config, file=f"{self.file}.other")
        other.stop()
        return other.trials

    def test_it_decides_until_the_experiment_has_ended(self):
        climber = Climber()
        self.assertEqual(search.run(climber, config=config, file=self.file), "completed")
        self.assertLess(abs(climber.best - 3), 0.25)
        self.assertEqual(self.master.configs, [config])
        self.assertGreater(len(self.master.trials), 8)
        kept = json.loads(self.file.read_text())
        self.assertEqual(kept["experiment"], 12)
        before = list(self.master.trials)
        self.assertEqual(search.run(Climber(), config=config, file=self.file), "completed")
        self.assertEqual(self.master.trials, before, "it is over")

    def test_an_experiment_that_exists(self):
        self.assertEqual(search.run(Climber(), experiment=12, file=self.file), "completed")
        self.assertEqual(self.master.configs, [])
        with self.assertRaises(search.SearchError) as caught:
            search.run(Climber(), experiment=13, file=self.file)
        self.assertIn("belongs to experiment 12", str(caught.exception))

    def test_a_master_that_fails_and_one_that_restarts(self):
        expected = self.undisturbed()
        self.master.troubles = [("/experiments", "served and cut"), ("/events", 503), ("/actions", "served and cut"),
                                ("/actions", "cut"), ("/actions", 503), ("/actions", "served and cut"), ("/events", "cut")]
        restarts = []

        def restart(operation):
            if operation == "actions" and len(self.master.posts) in (7, 12) and len(restarts) < 2:
                restarts.append(threading.Thread(target=lambda: self.master.restart_after(0.3).join()))
                restarts[-1].start()

        self.master.after = restart
        self.assertEqual(search.run(Climber(), config=config, file=self.file), "completed")
        for one in restarts:
            one.join()
        self.assertEqual(len(restarts), 2)
        self.assertAnswersAre(expected)

    def test_it_continues_exactly_wherever_it_was_killed(self):
        expected = self.undisturbed()
        dice, killed = random.Random(1), 0

        def kill(operation):  # before or after a request was served: its answer is never received
            nonlocal killed
            if dice.random() < 0.25 and self.program.poll() is None:
                self.program.send_signal(signal.SIGKILL)
                self.program.wait()
                killed += 1

        self.master.before = self.master.after = kill
        for _ in range(500):
            self.program = self.run_program()
            output = self.program.communicate()[0]
            if self.program.returncode == 0:
                break
            self.assertEqual(self.program.returncode, -signal.SIGKILL)
        self.assertGreater(killed, 8)
        self.assertTrue(output.startswith("completed 3.0"), output)
        self.assertAnswersAre(expected)

    def test_an_exception_of_the_searcher_ends_it_and_its_event_comes_again(self):
        expected = self.undisturbed()

        class Faulty(Climber):
            def on_end(self, trial, exit):
                super().on_end(trial, exit)
                if trial == 5:
                    raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            search.run(Faulty(), config=config, file=self.file)
        self.assertEqual(search.run(Climber(), config=config, file=self.file), "completed")
        self.assertAnswersAre(expected)

    def test_actions_that_are_refused_are_forgotten_so_that_the_program_can_be_corrected(self):
        expected = self.undisturbed()

        class Wrong(Climber):
            def on_begin(self):
                self.create({"x": "wrong"})

        for _ in range(2):
            with self.assertRaises(search.SearchError) as caught:
                search.run(Wrong(), config=config, file=self.file)
            self.assertEqual(caught.exception.code, "invalid")
        self.assertEqual(search.run(Climber(), config=config, file=self.file), "completed")
        self.assertAnswersAre(expected)

    def test_an_interrupt_of_the_user_ends_it_while_it_waits(self):
        self.master.before = lambda operation: time.sleep(0.5) if operation == "events" else None
        self.master.troubles = [("/events", 503)] * 100
        program = self.run_program()
        time.sleep(2)
        program.send_signal(signal.SIGINT)
        self.assertIn(program.wait(30), (1, -signal.SIGINT, 130))
        program.stdout.close()

    def test_what_is_wrong_is_named_before_anything_is_created(self):
        def fails(kind, pattern, **options):
            with self.assertRaisesRegex(kind, pattern):
                search.run(Climber(), **{"file": self.file, **options})

        fails(ValueError, "pass either experiment")
        fails(ValueError, "pass either experiment", experiment=1, config=config)
        fails(ValueError, "code is only for", experiment=1, code=".")
        fails(search.SearchError, "searcher.type: must be custom",
              config={**config, "searcher": {"type": "single", "metric": "loss"}})
        fails(search.SearchError, "hyperparameters.x.min: must not exceed max",
              config={**config, "hyperparameters": {"x": search.double(2, 1)}})
        fails(search.SearchError, "none.yaml", config="none.yaml")
        fails(search.SearchError, "'abc' is not an experiment", experiment="abc")
        fails(search.SearchError, "there is no such object", experiment=13)
        self.assertEqual(self.master.created, {})
        self.file.write_text("[]")
        fails(search.SearchError, "is not the file of a search", config=config)

    def test_a_program_whose_file_is_not_that_of_the_search(self):
        search.run(Climber(), config=config, file=self.file)
        self.master.state, self.master.answered = "active", self.master.last - 1
        self.master.note({"type": "ended", "trial": 0, "exit": "completed"})
        with self.assertRaisesRegex(search.SearchError, "another program has decided about experiment 12"):
            search.run(Climber(), experiment=12, file=f"{self.file}.new")

    def test_a_file_has_one_program(self):
        self.master.before = lambda operation: time.sleep(0.2)
        program = self.run_program()
        self.addCleanup(program.stdout.close)
        while not self.file.exists():
            time.sleep(0.01)
        with self.assertRaisesRegex(search.SearchError, "another program uses"):
            search.run(Climber(), config=config, file=self.file)
        program.kill()
        program.wait()


if __name__ == "__main__":
    unittest.main()
