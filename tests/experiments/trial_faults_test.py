"""Experiments under faults: kills of trials and of the master, preemption, pauses. What was disturbed ends as what was
not."""
import os
import random
import time
import unittest

from scene import Scene

KILLS = int(os.environ.get("CADRE_TRIAL_KILLS", "100"))
MASTER_KILLS = int(os.environ.get("CADRE_MASTER_KILLS", "8"))

# Its checkpoint holds the state of its random generator and its position in the data, which is read in an order that
# is drawn for each pass. In its first runs it kills itself: anywhere, also while it saves and while it reports.
learner = """
    import json, os, random, signal, threading, time
    from cadre import core
    DATA = [((i * 37) % 100) / 100 for i in range(100)]
    with core.init() as trial:
        run = trial.info.run
        draw = random.Random(trial.info.seed)
        step, at, order, weight = 0, 0, [], 0.0
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                version, inner, gauss = json.loads((path / "random.json").read_text())
                draw.setstate((version, tuple(inner), gauss))
                step, at, order, weight = json.loads((path / "state.json").read_text())
        if run <= RUNS_KILLED:
            chance = random.Random(run)
            pause = chance.uniform(0, 0.15)
            threading.Thread(target=lambda: (time.sleep(pause), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()
        while step < STEPS and not trial.preempt.should_stop():
            for _ in range(20):
                if at == len(order):
                    order, at = list(range(len(DATA))), 0
                    draw.shuffle(order)
                weight += 0.1 * (DATA[order[at]] + draw.gauss(0, 0.1) - weight)
                at += 1
            step += 1
            trial.train.report_training(step, {"weight": weight})
            if step % 5 == 0:
                trial.train.report_validation(step, {"loss": abs(weight - 0.5)})
            if step % EVERY == 0 or step == STEPS:
                with trial.checkpoint.store_path(steps=step) as (path, uuid):
                    (path / "random.json").write_text(json.dumps(draw.getstate()))
                    (path / "state.json").write_text(json.dumps([step, at, order, weight]))
            time.sleep(PAUSE)
        if trial.preempt.should_stop():
            if step % EVERY != 0:
                with trial.checkpoint.store_path(steps=step) as (path, uuid):
                    (path / "random.json").write_text(json.dumps(draw.getstate()))
                    (path / "state.json").write_text(json.dumps([step, at, order, weight]))
            trial.preempt.acknowledge()
"""

one_trial = {
    "name": "learner",
    "seed": 11,
    "searcher": {"type": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 1000,
}

# It reports only when it is its turn: the live trial with the fewest steps goes next, and all wait until the search has
# answered. So the order of all events is the same in each run, with several trials at a time.
taking_turns = """
    import json, os, time, urllib.request
    from cadre import core

    def trials():
        request = urllib.request.Request(
            os.environ["CADRE_MASTER"] + f"/api/v1/experiments/{os.environ['CADRE_EXPERIMENT']}/trials?most=1000",
            headers={"Authorization": "Bearer " + os.environ["CADRE_TOKEN"]})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)["trials"]

    def is_turn(name, step):
        try:
            known = trials()
        except Exception:  # the master is away
            return False
        live = [one for one in known if one["state"] not in ("completed", "canceled", "error")]
        if any(one["state"] in ("stopping", "pausing") for one in live):
            return False
        if len(live) < min(CONCURRENT, TRIALS - (len(known) - len(live))):
            return False
        next_one = min(live, key=lambda one: (one["steps"], int(one["id"].split(".")[1])))
        return next_one["id"] == name and next_one["steps"] == step - 1

    with core.init() as trial:
        x, y = (trial.info.hyperparameters[key] for key in "xy")
        name = os.environ["CADRE_TRIAL"]
        step = 0
        while step < 9 and not trial.preempt.should_stop():
            step += 1
            while not is_turn(name, step) and not trial.preempt.should_stop():
                time.sleep(0.03)
            if trial.preempt.should_stop():
                break
            trial.train.report_validation(step, {"loss": (x - 0.3) ** 2 + (y - 0.6) ** 2 + 1 / step})
"""


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "4"))
        cls.undisturbed = {}

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def folder(self, steps, killed=0, pause=0.0, every=1):
        program = learner
        for name, value in (("RUNS_KILLED", killed), ("STEPS", steps), ("PAUSE", pause), ("EVERY", every)):
            program = program.replace(name, str(value))
        return self.cluster.folder_of(program)

    def reports(self, trial):
        """Steps and metrics of both groups, as they are stored."""
        found = []
        for group in ("training", "validation"):
            page = self.cluster.get(f"/trials/{trial}/reports", query={"group": group, "most": 10_000}).json
            found += [(group, one["steps"], one["metrics"]) for one in page["reports"]]
        return found

    def wanted(self, steps):
        """The reports of an undisturbed trial with so many steps."""
        if steps not in self.undisturbed:
            number = self.cluster.create(one_trial, self.folder(steps))
            self.assertEqual(self.cluster.wait_for_end(number)["state"], "completed",
                             self.cluster.output_of(f"{number}.0"))
            self.undisturbed[steps] = self.reports(f"{number}.0")
            self.assertEqual(len(self.undisturbed[steps]), steps + steps // 5)
        return self.undisturbed[steps]

    def test_a_trial_killed_again_and_again_ends_with_the_metrics_of_an_undisturbed_one(self):
        steps = 5 * KILLS
        number = self.cluster.create(one_trial, self.folder(steps, killed=KILLS, pause=0.02))
        ended = self.cluster.wait_for_end(number, 60 + 20 * KILLS)
        self.assertEqual(ended["state"], "completed", self.cluster.output_of(f"{number}.0")[-3000:])
        trial = self.cluster.trial(f"{number}.0")
        self.assertLessEqual(trial["restarts"], KILLS)
        self.assertGreater(trial["restarts"], KILLS * 0.9, "it was killed")
        self.assertEqual(trial["runs"], trial["restarts"] + 1)
        self.assertEqual(self.reports(f"{number}.0"), self.wanted(steps))
        left = self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]
        self.assertEqual(max(one["steps"] for one in left), steps)
        states = {one["state"] for one in self.cluster.get(f"/experiments/{number}/checkpoints",
                                                           query={"deleted": "true", "most": 1000}).json["checkpoints"]}
        self.assertNotIn("active", states, "what was half uploaded is not listed")

    def test_a_preempted_trial_saves_leaves_returns_and_ends_as_undisturbed(self):
        steps = 40
        config = {**one_trial, "resources": {"slots_per_trial": 4, "priority": 50}}
        low = self.cluster.create(config, self.folder(steps, pause=0.05, every=7))
        for wait_for in (5, 15):
            self.cluster.until(lambda: self.cluster.trial(f"{low}.0")["steps"] >= wait_for)
            high = self.cluster.create({**one_trial, "resources": {"slots_per_trial": 4, "priority": 10}},
                                       self.folder(5))
            self.assertEqual(self.cluster.wait_for_end(high)["state"], "completed")
        ended = self.cluster.wait_for_end(low)
        trial = self.cluster.trial(f"{low}.0")
        self.assertEqual((ended["state"], trial["restarts"], trial["runs"]), ("completed", 0, 3))
        self.assertEqual(self.reports(f"{low}.0"), self.wanted(steps))

    def test_a_trial_paused_and_activated_ends_as_undisturbed(self):
        steps = 40
        number = self.cluster.create(one_trial, self.folder(steps, pause=0.05, every=7))
        for wait_for in (5, 15):
            self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["steps"] >= wait_for)
            self.cluster.cadre("experiment", "pause", number)
            self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["state"] == "paused")
            self.assertEqual(self.cluster.experiment(number)["trials"]["running"], 0)
            if wait_for == 15:
                self.cluster.kill_master()
                self.cluster.start_master()
            self.cluster.cadre("experiment", "activate", number)
        ended = self.cluster.wait_for_end(number)
        trial = self.cluster.trial(f"{number}.0")
        self.assertEqual((ended["state"], trial["restarts"], trial["runs"]), ("completed", 0, 3))
        self.assertEqual(self.reports(f"{number}.0"), self.wanted(steps))

    def test_a_search_whose_master_is_killed_again_and_again_ends_as_an_undisturbed_one(self):
        trials, concurrent = 12, 3
        config = {"name": "turns", "seed": 5, "max_restarts": 5, "resources": {"slots_per_trial": 1},
                  "hyperparameters": {"x": {"type": "double", "min": 0, "max": 1},
                                      "y": {"type": "double", "min": 0, "max": 1}},
                  "searcher": {"type": "asha", "metric": "loss", "max_trials": trials, "max_time": 9, "divisor": 3,
                               "max_rungs": 3, "mode": "aggressive", "max_concurrent_trials": concurrent,
                               "sampler": {"type": "tpe", "startup": 4}}}
        program = taking_turns.replace("CONCURRENT", str(concurrent)).replace("TRIALS", str(trials))
        undisturbed = self.cluster.create(config, self.cluster.folder_of(program))
        self.assertEqual(self.cluster.wait_for_end(undisturbed)["state"], "completed")
        disturbed = self.cluster.create(config, self.cluster.folder_of(program))
        draw = random.Random(3)
        kills = 0
        while kills < MASTER_KILLS and self.cluster.experiment(disturbed)["state"] == "active":
            time.sleep(draw.uniform(0, 0.8))
            self.cluster.kill_master()
            self.cluster.start_master()
            kills += 1
        self.assertEqual(kills, MASTER_KILLS, "the search lasts longer than the kills")
        self.assertEqual(self.cluster.wait_for_end(disturbed, 600)["state"], "completed")

        def summary(number):
            return [(one["hyperparameters"], one["seed"], one["state"], one["steps"], one["best_metric"],
                     [(report["steps"], report["metrics"]) for report in self.cluster.get(
                         f"/trials/{one['id']}/reports", query={"group": "validation"}).json["reports"]])
                    for one in self.cluster.trials(number)]

        self.assertEqual(summary(disturbed), summary(undisturbed))
        self.assertEqual(len(summary(disturbed)), trials)
        self.assertGreater(len({steps for _, _, _, steps, _, _ in summary(disturbed)}), 1, "some were stopped early")
        self.assertEqual(self.cluster.experiment(disturbed)["best"]["metric"],
                         self.cluster.experiment(undisturbed)["best"]["metric"])


if __name__ == "__main__":
    unittest.main()
