"""Eight tasks report metrics while the master is killed: every point is stored once."""
import unittest

from scene import Scene

TRIALS = 8
POINTS = 20_000

config = {
    "name": "soak",
    "searcher": {"type": "random", "metric": "loss", "max_trials": TRIALS},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 0,
}

program = f"""
    import time
    from cadre import core
    with core.init() as trial:
        for step in range(1, {POINTS} + 1):
            trial.train.report_training(step, {{"loss": step * 7919 % 1000}})
            if step % 500 == 0:
                time.sleep(0.05)
"""


class MetricSoak(unittest.TestCase):
    def setUp(self):
        self.cluster = Scene(agent=("--artificial-slots", str(TRIALS)))
        self.addCleanup(self.cluster.close)

    def stored(self, trial):
        """How many points, and their sum."""
        metrics = {one["name"]: one for one in self.cluster.trial(trial).get("metrics", [])}
        one = metrics.get("loss", {"count": 0, "mean": 0})
        return one["count"], round(one["count"] * one["mean"])

    def reports(self, trial):
        """All of them, by pages."""
        found, after = [], ""
        while True:
            page = self.cluster.get(f"/trials/{trial}/reports", query={"most": 10_000, "after": after}).json
            found += page["reports"]
            after = page.get("next", "")
            if not after:
                return found

    def test_every_point_is_stored_once_though_the_master_is_killed(self):
        number = self.cluster.create(config, self.cluster.folder_of(program))
        trials = [f"{number}.{trial}" for trial in range(TRIALS)]

        def all_stored():
            return sum(self.stored(trial)[0] for trial in trials)

        for share in (0.1, 0.5):
            self.cluster.until(lambda: all_stored() >= share * TRIALS * POINTS, 120)
            self.cluster.kill_master()
            self.cluster.start_master()
            self.assertLess(all_stored(), TRIALS * POINTS, "the master was killed too late to lose anything")
        ended = self.cluster.wait_for_end(number)
        self.assertEqual((ended["state"], ended["trials"]["completed"]), ("completed", TRIALS))

        expected = [(1, step, step * 7919 % 1000) for step in range(1, POINTS + 1)]
        for trial in trials:
            self.assertEqual(self.stored(trial), (POINTS, sum(value for _, _, value in expected)), trial)
            found = [(one["run"], one["steps"], one["metrics"]["loss"]) for one in self.reports(trial)]
            self.assertEqual(found, expected, trial)


if __name__ == "__main__":
    unittest.main()
