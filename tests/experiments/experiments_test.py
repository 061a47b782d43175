"""Experiments on a real cluster: searches, failures, pauses, preemption, restarts of the master, rights."""
import json
import os
import shutil
import tempfile
import time
import unittest

from scene import EXAMPLES, PYTHON, Scene

random_search = {
    "name": "random",
    "hyperparameters": {"x": {"type": "double", "min": 0, "max": 1}},
    "searcher": {"type": "random", "metric": "loss", "max_trials": 3, "max_concurrent_trials": 2},
    "resources": {"slots_per_trial": 1},
}

quick = """
    from cadre import core
    with core.init() as trial:
        for step in range(1, 4):
            trial.train.report_validation(step, {"loss": trial.info.hyperparameters["x"] + 1 / step})
"""

# Its state is a number that depends on all steps before; it stops when it is asked to.
resumable = """
    import hashlib, json, os, time
    from cadre import core
    with core.init() as trial:
        step, state = 0, "start"
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                step, state = json.loads((path / "state").read_text())
        while step < 20 and not trial.preempt.should_stop():
            step += 1
            state = hashlib.sha256(f"{state} {step} {trial.info.seed}".encode()).hexdigest()
            trial.train.report_validation(step, {"loss": int(state[:8], 16) / 2**32})
            with trial.checkpoint.store_path(steps=step) as (path, uuid):
                (path / "state").write_text(json.dumps([step, state]))
            if trial.info.run <= FAILURES and step % 3 == 0:
                os._exit(1)
            time.sleep(SLEEP)
        if trial.preempt.should_stop():
            trial.preempt.acknowledge()
"""


class Experiments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "4"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def folder(self, program, failures=0, sleep=0):
        return self.cluster.folder_of(program.replace("FAILURES", str(failures)).replace("SLEEP", str(sleep)))

    def validations(self, trial):
        """Steps and metrics, as they are stored."""
        reports = self.cluster.get(f"/trials/{trial}/reports", query={"group": "validation", "most": 10_000}).json
        return [(one["steps"], one["metrics"]["loss"]) for one in reports["reports"]]

    def test_a_random_search_completes_and_its_metrics_are_there(self):
        number = self.cluster.create(random_search, self.folder(quick))
        ended = self.cluster.wait_for_end(number)
        trials = self.cluster.trials(number)
        self.assertEqual(ended["state"], "completed", [self.cluster.output_of(one["id"]) for one in trials])
        self.assertEqual(ended["trials"]["completed"], 3)
        self.assertEqual(ended["progress"], 1)
        best = min(trials, key=lambda one: one["hyperparameters"]["x"])
        self.assertEqual(ended["best"]["trial"], best["id"])
        self.assertAlmostEqual(ended["best"]["metric"], best["hyperparameters"]["x"] + 1 / 3)
        for one in trials:
            x = one["hyperparameters"]["x"]
            self.assertEqual(self.validations(one["id"]), [(step, x + 1 / step) for step in (1, 2, 3)])
            curve = self.cluster.get(f"/trials/{one['id']}/metrics", query={"name": "loss"}).json
            self.assertEqual(curve["count"], 3)

    def test_the_example_search_stops_bad_trials_early_and_finds_the_best(self):
        words = ["experiment", "create", EXAMPLES / "experiments/search.yaml", EXAMPLES / "experiments/search", "--set",
                 "data.seconds_per_step=0.02"]
        number = int(self.cluster.cadre(*words).stdout.split()[0])
        ended = self.cluster.wait_for_end(number)
        trials = self.cluster.trials(number)
        self.assertEqual(ended["state"], "completed", [self.cluster.output_of(one["id"]) for one in trials[:1]])
        self.assertEqual(len(trials), 16)
        self.assertLess(sum(one["steps"] for one in trials), 16 * 16 * 0.75, "bad trials are stopped early")
        best = next(one for one in trials if one["id"] == ended["best"]["trial"])
        self.assertEqual(best["steps"], 16)
        self.assertEqual(best["best_metric"], min(one["best_metric"] for one in trials))

    def test_a_trial_that_fails_again_and_again_ends_with_the_metrics_of_an_undisturbed_one(self):
        config = {**random_search, "searcher": {"type": "single", "metric": "loss"}, "seed": 5, "max_restarts": 100}
        undisturbed = self.cluster.create(config, self.folder(resumable))
        disturbed = self.cluster.create(config, self.folder(resumable, failures=6))
        self.assertEqual(self.cluster.wait_for_end(undisturbed)["state"], "completed")
        ended = self.cluster.wait_for_end(disturbed)
        self.assertEqual(ended["state"], "completed", self.cluster.output_of(f"{disturbed}.0"))
        self.assertEqual(ended["restarts"], 6)
        self.assertEqual(self.validations(f"{disturbed}.0"), self.validations(f"{undisturbed}.0"))
        self.assertEqual(len(self.validations(f"{disturbed}.0")), 20)

    def test_pause_frees_the_slots_and_activate_continues_from_the_checkpoint(self):
        config = {**random_search, "searcher": {"type": "single", "metric": "loss"}, "seed": 6}
        number = self.cluster.create(config, self.folder(resumable, sleep=0.2))
        self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["steps"] >= 3)
        self.cluster.cadre("experiment", "pause", number)
        self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["state"] == "paused")
        paused = self.cluster.experiment(number)
        self.assertEqual((paused["state"], paused["trials"]["running"]), ("paused", 0))
        self.cluster.cadre("experiment", "activate", number)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual((ended["state"], ended["restarts"]), ("completed", 0))
        trial = self.cluster.trial(f"{number}.0")
        self.assertEqual(trial["runs"], 2)
        self.assertEqual([steps for steps, _ in self.validations(f"{number}.0")], list(range(1, 21)))

    def test_a_preempted_trial_leaves_returns_and_no_restart_is_counted(self):
        config = {**random_search, "searcher": {"type": "single", "metric": "loss"}, "seed": 7,
                  "resources": {"slots_per_trial": 4, "priority": 50}}
        low = self.cluster.create(config, self.folder(resumable, sleep=0.2))
        self.cluster.until(lambda: self.cluster.trial(f"{low}.0")["steps"] >= 3)
        config = {**random_search, "resources": {"slots_per_trial": 4, "priority": 10}}
        high = self.cluster.create(config, self.folder(quick))
        self.assertEqual(self.cluster.wait_for_end(high)["state"], "completed")
        ended = self.cluster.wait_for_end(low)
        self.assertEqual((ended["state"], ended["restarts"]), ("completed", 0))
        self.assertGreaterEqual(self.cluster.trial(f"{low}.0")["runs"], 2)
        self.assertEqual([steps for steps, _ in self.validations(f"{low}.0")], list(range(1, 21)))

    def test_kill_ends_a_trial_at_once(self):
        number = self.cluster.create(random_search, self.cluster.folder_of("import time; time.sleep(1000)"))
        self.cluster.until(lambda: self.cluster.experiment(number)["trials"]["running"] == 2)
        self.cluster.cadre("experiment", "kill", number)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual((ended["state"], ended["trials"]["canceled"]), ("canceled", 2))

    def test_a_checkpoint_can_be_downloaded_and_policies_remove_the_others(self):
        config = {**random_search, "searcher": {"type": "single", "metric": "loss"},
                  "checkpoints": {"save_trial_best": 0, "save_trial_latest": 2}}
        number = self.cluster.create(config, self.folder(resumable))
        self.assertEqual(self.cluster.wait_for_end(number)["state"], "completed")

        def kept():
            return self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]

        self.cluster.until(lambda: len(kept()) == 2)
        self.assertEqual(sorted(one["steps"] for one in kept()), [19, 20])
        store = self.cluster.data / "checkpoints/store"
        self.cluster.until(lambda: len([path for path in store.rglob("state*") if path.is_file()
                                        and not path.name.startswith(".")]) >= 2)
        target = tempfile.mkdtemp(dir=self.cluster.folder)
        one = kept()[0]["id"]
        self.cluster.cadre("checkpoint", "download", one, target)
        with open(os.path.join(target, "state"), encoding="utf-8") as state:
            self.assertIn(json.load(state)[0], (19, 20))
        again = self.cluster.cadre("checkpoint", "download", one, target, fails=True)
        self.assertIn("is not empty", again.stderr)
        self.cluster.cadre("checkpoint", "delete", one)
        gone = self.cluster.cadre("checkpoint", "download", one, target + "-gone", fails=True)
        self.assertEqual((gone.returncode, os.path.exists(target + "-gone")), (1, False))

    def test_a_program_is_tested_before_a_search_spends_slots(self):
        words = ["experiment", "create", "--test", "--json"]
        search = [EXAMPLES / "experiments/search.yaml", EXAMPLES / "experiments/search"]
        tested = json.loads(self.cluster.cadre(*words, *search).stdout)
        self.assertTrue(tested["passed"])
        self.assertEqual([(one["what"], one["verdict"]) for one in tested["results"]],
                         [(what, "worked") for what in ("train", "report", "checkpoint", "restore")])
        folder = self.folder(quick)
        path = folder.parent / f"{folder.name}.json"
        path.write_text(json.dumps({"entrypoint": [PYTHON, "train.py"], **random_search}))
        forgetful = self.cluster.cadre(*words, path, folder, fails=True)
        self.assertEqual(forgetful.returncode, 1, forgetful.stderr)
        self.assertEqual([one["verdict"] for one in json.loads(forgetful.stdout)["results"]],
                         ["worked", "worked", "failed", "not_tested"])

    def test_wrong_files_are_refused_with_all_faults_and_nothing_is_submitted(self):
        before = len(self.cluster.get("/experiments").json["experiments"])
        folder = self.folder(quick)
        path = folder / "wrong.json"
        path.write_text(json.dumps({"name": "x", "entrypoint": "true", "searcher": {"type": "random"}, "resorces": {}}))
        refused = self.cluster.cadre("experiment", "create", path, folder, fails=True)
        self.assertEqual(refused.returncode, 2)
        for fault in ("resorces", "metric", "max_trials"):
            self.assertIn(fault, refused.stderr)
        too_large = {**random_search, "resources": {"slots_per_trial": 500}}
        path.write_text(json.dumps({"entrypoint": "true", **too_large}))
        refused = self.cluster.cadre("experiment", "create", path, folder, fails=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("500", refused.stderr)
        self.assertEqual(len(self.cluster.get("/experiments").json["experiments"]), before)

    def test_others_cannot_see_stop_or_report_for_an_experiment(self):
        made = self.cluster.request("POST", "/workspaces", body={"name": "lab"})
        self.assertEqual(made.status, 200, made.body)
        ann = self.cluster.user("ann", {"lab": "editor"})
        eve = self.cluster.user("eve", {"default": "editor"})
        bob = self.cluster.user("bob", {"lab": "editor"})
        config = {**random_search, "workspace": "lab"}
        number = self.cluster.create(config, self.cluster.folder_of("import time; time.sleep(1000)"), ann)
        self.assertEqual(self.cluster.get(f"/experiments/{number}", token=eve).status, 404)
        self.assertEqual(self.cluster.get(f"/experiments/{number}", token=bob).status, 200)
        for path, token, status in ((f"/experiments/{number}/kill", eve, 404), (f"/experiments/{number}/kill", bob, 403),
                                    (f"/trials/{number}.0/kill", eve, 404), (f"/trials/{number}.0/run", ann, 403)):
            self.assertEqual(self.cluster.request("POST", path, token=token, body={}).status, status, path)
        report = {"reports": [{"group": "validation", "steps": 1, "metrics": {"loss": 0}}]}
        for token in (ann, eve):
            answer = self.cluster.request("POST", f"/trials/{number}.0/metrics", token=token, body=report)
            self.assertEqual(answer.status, 403, answer.body)
        self.cluster.cadre("experiment", "kill", number)
        self.cluster.wait_for_end(number)

    def test_a_search_survives_the_death_of_the_master(self):
        config = {**random_search, "seed": 3,
                  "searcher": {"type": "asha", "metric": "loss", "max_trials": 9, "max_time": 9, "divisor": 3,
                               "max_rungs": 3, "max_concurrent_trials": 1}}
        program = """
            import time
            from cadre import core
            with core.init() as trial:
                step = 0
                while step < 9 and not trial.preempt.should_stop():
                    step += 1
                    time.sleep(0.05)
                    trial.train.report_validation(step, {"loss": trial.info.hyperparameters["x"] + 1 / step})
        """
        undisturbed = self.cluster.create(config, self.cluster.folder_of(program))
        self.assertEqual(self.cluster.wait_for_end(undisturbed)["state"], "completed")
        disturbed = self.cluster.create(config, self.cluster.folder_of(program))
        for kills in range(4):
            time.sleep(0.5)
            self.cluster.kill_master()
            self.cluster.start_master()
        self.assertEqual(self.cluster.wait_for_end(disturbed)["state"], "completed")

        def summary(number):
            return [(one["hyperparameters"], one["seed"], one["state"]) for one in self.cluster.trials(number)]

        self.assertEqual(summary(disturbed), summary(undisturbed))
        self.assertEqual(self.cluster.experiment(disturbed)["best"]["metric"],
                         self.cluster.experiment(undisturbed)["best"]["metric"])

    def test_a_finished_search_is_extended_a_trial_continued_and_all_of_it_deleted(self):
        number = self.cluster.create(random_search, self.folder(quick))
        self.cluster.wait_for_end(number)
        self.cluster.cadre("experiment", "set", number, "max_trials=5")
        ended = self.cluster.wait_for_end(number)
        self.cluster.until(lambda: self.cluster.experiment(number)["trials"]["completed"] == 5)
        self.cluster.cadre("trial", "continue", f"{number}.2")
        self.cluster.until(lambda: self.cluster.trial(f"{number}.2")["runs"] == 2)
        self.cluster.wait_for_end(number)
        self.cluster.cadre("experiment", "delete", number, "--yes")
        self.cluster.until(lambda: self.cluster.get(f"/experiments/{number}").json.get("state", "deleted") == "deleted")
        self.assertEqual(self.cluster.trials(number) if self.cluster.get(
            f"/experiments/{number}/trials").status == 200 else [], [])
        self.assertEqual(ended["state"], "completed")


if __name__ == "__main__":
    unittest.main()
