"""Log policies on a real cluster: what lines in the output of failed trials lead to."""
import time
import unittest

from scene import Scene

single = {
    "name": "policies",
    "searcher": {"type": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 4,
}

# It fails on agents whose ID is in BAD, with one line that says why among many others.
failing = """
    import os, sys, time
    for i in range(2_000):
        print("step", i, "a" * 200)
    if os.environ["CADRE_AGENT"] in BAD:
        print("RuntimeError: uncorrectable ECC error on device", os.environ["CADRE_SLOTS"], file=sys.stderr, flush=True)
        time.sleep(PAUSE)
        sys.exit(7)
"""


class LogPolicies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "2"))
        cls.cluster.start("second", ["agent", "--master", str(cls.cluster.data), "--data",
                                     str(cls.cluster.folder / "a2"), "--id", "a2", "--artificial-slots", "2"])
        cls.cluster.until(lambda: cls.cluster.get("/status").json["agents_up"] == 2)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def create(self, policies, bad, pause=0, **more):
        program = failing.replace("BAD", repr(bad)).replace("PAUSE", str(pause))
        config = {**single, "log_policies": policies, **more}
        return self.cluster.create(config, self.cluster.folder_of(program))

    def agents_of(self, trial):
        """Of each of its jobs."""
        return [self.cluster.get(f"/tasks/{job}.0").json.get("agent") for job in self.cluster.trial(trial)["jobs"]]

    def test_cancel_retries_ends_the_trial_and_names_pattern_and_line(self):
        number = self.create({"ECC error": "cancel_retries", "never seen": "exclude_agent"}, ["a1", "a2"])
        ended = self.cluster.wait_for_end(number)
        trial = self.cluster.trial(f"{number}.0")
        self.assertEqual((ended["state"], trial["state"], trial["runs"], trial["restarts"]), ("error", "error", 1, 0))
        for words in ("exit code 7", "'ECC error'", "RuntimeError: uncorrectable ECC error on device"):
            self.assertIn(words, trial["reason"])
        shown = self.cluster.cadre("trial", "describe", f"{number}.0").stdout
        self.assertIn("ECC error", shown)

    def test_output_without_such_a_line_restarts_as_ever(self):
        number = self.create([{"pattern": "^ECC", "action": "cancel_retries"}], ["a1", "a2"], max_restarts=2)
        self.cluster.wait_for_end(number)
        trial = self.cluster.trial(f"{number}.0")
        self.assertEqual((trial["state"], trial["runs"], trial["restarts"]), ("error", 3, 2))
        self.assertIn("max_restarts", trial["reason"])

    def test_exclude_agent_restarts_elsewhere(self):
        number = self.create({"uncorrectable .* error on device [0-9]": "exclude_agent"}, ["a1"])
        self.cluster.until(lambda: len(self.cluster.trial(f"{number}.0")["jobs"]) > 0)
        self.cluster.wait_for_end(number)
        trial = self.cluster.trial(f"{number}.0")
        agents = self.agents_of(f"{number}.0")
        self.assertEqual(trial["state"], "completed", trial)
        self.assertEqual(agents[-1], "a2")
        self.assertEqual(agents[:-1], ["a1"] * trial["restarts"])
        self.assertEqual(trial.get("excluded", []), ["a1"] * trial["restarts"])

    def test_when_all_agents_are_excluded_why_says_so(self):
        number = self.create({"ECC error": "exclude_agent"}, ["a1", "a2"])
        name = f"{number}.0"
        self.cluster.until(lambda: sorted(self.cluster.trial(name).get("excluded", [])) == ["a1", "a2"])
        self.cluster.until(lambda: self.cluster.trial(name)["state"] == "queued")
        self.assertEqual(sorted(self.agents_of(name)[:2]), ["a1", "a2"])
        job = self.cluster.trial(name)["jobs"][-1]
        self.cluster.until(lambda: "must not run on a1 and a2" in self.cluster.cadre("why", job).stdout)
        self.assertIn("excludes agent", self.cluster.trial(name)["reason"])
        self.assertEqual(self.cluster.experiment(number)["state"], "active", "an agent may join that can take it")
        self.cluster.cadre("experiment", "kill", number)
        self.cluster.wait_for_end(number)

    def test_a_failure_while_the_master_was_away_is_judged_after_its_restart(self):
        number = self.create({"ECC error": "cancel_retries"}, ["a1", "a2"], pause=2)
        name = f"{number}.0"

        def has_failed():
            job = self.cluster.trial(name)["jobs"][-1]
            return "ECC error" in self.cluster.cadre("logs", job, fails=True).stderr

        self.cluster.until(has_failed)
        self.cluster.kill_master()
        time.sleep(3)
        self.cluster.start_master()
        self.cluster.wait_for_end(number)
        trial = self.cluster.trial(name)
        self.assertEqual((trial["state"], trial["runs"]), ("error", 1), trial)
        self.assertIn("'ECC error'", trial["reason"])

    def test_no_pattern_slows_the_master_down(self):
        number = self.create({"^(s|st|ste|step|.)*(a+)+(a+)+(a+)+$x": "cancel_retries"}, ["a1", "a2"], max_restarts=1)
        slowest = 0
        while self.cluster.experiment(number)["state"] == "active":
            begun = time.monotonic()
            self.cluster.get("/status")
            slowest = max(slowest, time.monotonic() - begun)
            time.sleep(0.02)
        self.assertLess(slowest, 5)
        self.assertEqual(self.cluster.trial(f"{number}.0")["runs"], 2)

    def test_faults_of_patterns_are_named_with_their_path(self):
        folder = self.cluster.folder_of("")
        path = folder / "wrong.yaml"
        path.write_text("name: x\nentrypoint: 'true'\nsearcher: {type: single, metric: loss}\nlog_policies:\n"
                        "  - {pattern: 'a(b', action: cancel_retries}\n  - {pattern: '(a)\\1', action: explode}\n")
        refused = self.cluster.cadre("experiment", "create", path, folder, fails=True)
        self.assertEqual(refused.returncode, 2)
        for words in ("log_policies[0].pattern", "a ( without a )", "log_policies[1].pattern", "refers to a group",
                      "log_policies[1].action"):
            self.assertIn(words, refused.stderr)


if __name__ == "__main__":
    unittest.main()
