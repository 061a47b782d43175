"""Searches from programs on a real cluster: custom searches, studies that draw as the cluster does, a population."""
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

from scene import EXAMPLES, PYTHON, Scene

sys.path.insert(0, os.environ["CADRE_PYTHONPATH"])
from cadre import search  # noqa: E402

space = {"x": search.double(0, 1), "kind": search.categorical(["a", "b"]), "y": search.log(-3, 0, when={"kind": "b"})}

# Its loss depends on its hyperparameters and on how far it is.
curve = """
    from cadre import core
    with core.init() as trial:
        for step in range(1, 10):
            point = trial.info.hyperparameters
            trial.train.report_validation(step, {"loss": point["x"] + point.get("y", 0.5) + 1 / step})
            if trial.preempt.should_stop():
                break
"""


def loss_at(point, step):
    return point["x"] + point.get("y", 0.5) + 1 / step


class Searchers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "8"))
        cls.environment = {**os.environ, "PYTHONPATH": os.environ["CADRE_PYTHONPATH"]}

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "search.json"

    def program(self, *argv):
        return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**self.environment, "CADRE_MASTER": str(self.cluster.data)})

    def climber(self, file):
        return self.program(PYTHON, EXAMPLES / "experiments/custom_search/climb.py", file)

    def narrower(self, file):
        folder = EXAMPLES / "experiments"
        return self.program(os.environ["CADRE_NARROW"], file, folder / "custom_search/climb.yaml", folder / "search")

    def check_continues(self, begin):
        """Runs a program undisturbed, and again while it and the master are killed; the output and the experiment of the
        first."""
        undisturbed = begin(self.file)
        whole = undisturbed.communicate(timeout=500)[0]
        self.assertEqual(undisturbed.returncode, 0, whole)
        number = json.loads(self.file.read_text())["experiment"]
        file = self.file.with_name("disturbed.json")
        before = len(self.cluster.get("/experiments").json["experiments"])
        for kills in range(60):
            program = begin(file)
            try:
                output = program.communicate(timeout=0.4 + 0.2 * (kills % 5) + 0.05 * kills)[0]
                break
            except subprocess.TimeoutExpired:
                if kills % 4 == 2:
                    self.cluster.kill_master()
                    self.cluster.start_master()
                program.send_signal(signal.SIGKILL)
                program.communicate()
        self.assertEqual(program.returncode, 0, output)
        self.assertGreater(kills, 3)
        self.assertEqual(len(self.cluster.get("/experiments").json["experiments"]), before + 1)
        again = json.loads(file.read_text())["experiment"]
        self.assertEqual(self.points(again), self.points(number), self.ends(again) + self.ends(number))
        self.assertEqual(self.cluster.experiment(again)["best"]["metric"], self.cluster.experiment(number)["best"]["metric"])
        return whole, number

    def ends(self, number):
        return [(one["id"], one["state"], one["reason"], one["steps"], one["restarts"]) for one in self.cluster.trials(number)]

    def points(self, number):
        return [(one["hyperparameters"], one["seed"]) for one in self.cluster.trials(number)]

    def test_a_custom_search_continues_exactly_when_its_program_and_the_master_are_killed(self):
        output, number = self.check_continues(self.climber)
        self.assertRegex(output, r"completed; the best has 3 layers and lr = 0\.01\d*\n")
        ended = self.cluster.experiment(number)
        self.assertEqual((ended["state"], ended["searcher"]), ("completed", "custom"))
        self.assertLess(min(one["steps"] for one in self.cluster.trials(number)), 12, "bad trials are stopped early")

    def test_a_custom_search_in_cpp_continues_exactly_when_its_program_and_the_master_are_killed(self):
        output, number = self.check_continues(self.narrower)
        self.assertTrue(output.endswith("completed\n"), (output, self.ends(number)))
        best = self.cluster.trial(self.cluster.experiment(number)["best"]["trial"])
        self.assertLess(abs(math.log10(best["hyperparameters"]["lr"]) + 2), 0.2)

    def test_deciding_about_trials_needs_the_right_to_change_the_experiment(self):
        bob = self.cluster.user("bob", {"default": "editor"})
        number = self.cluster.create({"name": "mine", "hyperparameters": space,
                                      "searcher": {"type": "custom", "metric": "loss"}}, self.cluster.folder_of(curve))
        with self.assertRaises(search.SearchError) as caught:
            os.environ.update(CADRE_TOKEN=bob, CADRE_MASTER=self.cluster.url)
            try:
                search.run(search.Searcher(), experiment=number, file=self.file)
            finally:
                del os.environ["CADRE_TOKEN"], os.environ["CADRE_MASTER"]
        self.assertEqual(caught.exception.code, "denied", str(caught.exception))
        self.cluster.cadre("experiment", "kill", number)
        self.cluster.wait_for_end(number)
        other = self.cluster.create({"name": "random", "hyperparameters": space,
                                     "searcher": {"type": "single", "metric": "loss"}}, self.cluster.folder_of(curve))
        with self.assertRaisesRegex(search.SearchError, "has no custom search"):
            search.run(search.Searcher(), experiment=other, file=self.file, master=str(self.cluster.data))
        self.cluster.wait_for_end(other)

    def test_a_study_has_the_trials_of_the_cluster(self):
        for method in (search.random(max_trials=8, max_concurrent_trials=1, sampler=search.tpe(startup=3)),
                       search.asha(max_trials=8, max_time=9, divisor=3, max_concurrent_trials=1)):
            config = {"name": "same", "hyperparameters": space, "seed": 11, "searcher": {**method, "metric": "loss"}}
            number = self.cluster.create(config, self.cluster.folder_of(curve))
            study = search.Study(space, method, seed=11)
            while (trial := study.ask()) is not None:
                for step in range(1, 10):
                    trial.report(step, loss_at(trial.hyperparameters, step))
                    if trial.should_stop():
                        break
                study.tell(trial)
            self.assertEqual(self.cluster.wait_for_end(number)["state"], "completed")
            self.assertEqual([(one.hyperparameters, one.seed) for one in study.trials], self.points(number))

    def test_bad_members_of_a_population_continue_from_checkpoints_of_good_ones(self):
        words = ["experiment", "create", EXAMPLES / "experiments/population.yaml", EXAMPLES / "experiments/population",
                 "--set", "data.seconds_per_step=0.03", "--set", "checkpoints.save_trial_latest=100"]
        number = int(self.cluster.cadre(*words).stdout.split()[0])
        ended = self.cluster.wait_for_end(number)
        trials = self.cluster.trials(number)
        self.assertEqual((ended["state"], ended["restarts"], len(trials)), ("completed", 0, 8),
                         self.cluster.output_of(f"{number}.0"))
        replaced = [one for one in trials if one["lineage"]]
        self.assertTrue(replaced)
        listed = self.cluster.get(f"/experiments/{number}/checkpoints", query={"most": 1000}).json["checkpoints"]
        checkpoints = {one["id"]: one for one in listed}
        checked = 0
        for one in replaced:
            self.assertGreater(one["runs"], 1)
            for origin in one["lineage"]:
                self.assertNotEqual(origin["from"], one["id"])
            self.assertEqual(one["lineage"][-1]["hyperparameters"], one["hyperparameters"])
            taken = checkpoints[one["lineage"][-1]["checkpoint"]]
            self.assertEqual(taken["trial"], one["lineage"][-1]["from"])
            if taken["steps"] == 100:
                continue  # nothing was left to train
            point = one["hyperparameters"]
            gain = max(0, 1 - abs(math.log10(point["lr"]) + 3) / 2) * (1 - point["dropout"])
            self.assertEqual(one["steps"], 100)
            self.assertAlmostEqual(one["last_metric"], taken["metric"] + (100 - taken["steps"]) * gain, delta=1e-6)
            checked += 1
        self.assertGreater(checked, 0)
        shown = self.cluster.cadre("trial", "describe", replaced[0]["id"]).stdout
        self.assertIn(f"continues from {replaced[0]['lineage'][0]['from']} after ", shown)
        listed = self.cluster.cadre("experiment", "trials", number).stdout
        self.assertIn("CONTINUES", listed.splitlines()[0])

    def test_the_example_of_a_study(self):
        done = subprocess.run([PYTHON, EXAMPLES / "experiments/study.py", self.file], capture_output=True, text=True,
                              env=self.environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"40 trials, \d{3} epochs instead of 1080\nbest: trial \d+, loss 0\.1")


if __name__ == "__main__":
    unittest.main()
