"""The examples of experiments: a search that stops early, a program that runs by itself and on a cluster, one in C++."""
import datetime
import json
import os
import pathlib
import pty
import subprocess
import sys
import unittest

from scene import EXAMPLES, PYTHON, Scene

PACKAGE = pathlib.Path(os.environ["CADRE_PROGRAM"]).parent / "python"
sys.path[:0] = [str(PACKAGE), str(EXAMPLES / "experiments/search")]

import train  # noqa: E402  (of the example: its metric is a formula)


def time_of(text):
    return datetime.datetime.fromisoformat(text).timestamp()


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "8"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def submit(self, file, folder, *settings):
        words = ["experiment", "create", EXAMPLES / "experiments" / file, folder]
        for setting in settings:
            words += ["--set", setting]
        return int(self.cluster.cadre(*words).stdout.split()[0])

    def validations(self, trial):
        """Each with its time."""
        reports = self.cluster.get(f"/trials/{trial}/reports", query={"group": "validation", "most": 10_000}).json
        return reports["reports"]

    def completed(self, number):
        ended = self.cluster.wait_for_end(number)
        trials = self.cluster.trials(number)
        self.assertEqual(ended["state"], "completed", [self.cluster.output_of(one["id"]) for one in trials[:1]])
        return ended, trials

    def test_early_stopping_saves_most_of_the_slots_and_finds_the_best_trial(self):
        longest = 64
        number = self.submit("early_stopping.yaml", EXAMPLES / "experiments/search")
        ended, trials = self.completed(number)
        self.assertEqual(len(trials), 64)

        final = {one["id"]: train.loss_at(longest, **one["hyperparameters"]) for one in trials}
        self.assertEqual(ended["best"]["trial"], min(final, key=final.get))
        self.assertAlmostEqual(ended["best"]["metric"], min(final.values()))

        held, whole, gone = 0, [], []
        for one in trials:
            self.assertEqual(len(one["jobs"]), 1)
            job = self.cluster.get(f"/jobs/{one['jobs'][0]}").json
            seconds = (time_of(job["ended"]) - time_of(job["started"])) * job["slots"]
            held += seconds
            if one["steps"] == longest:
                whole.append(seconds)
                continue
            # The one at the end of its last rung has stopped it.
            decisive = [report for report in self.validations(one["id"]) if report["steps"] in (1, 4, 16)][-1]
            gone.append(time_of(job["ended"]) - time_of(decisive["time"]))
        self.assertGreater(len(gone), 50)
        share = held / (sum(whole) / len(whole) * len(trials))
        print(f"64 trials held {held:.0f} slot-seconds: {share:.0%} of running all of them to the end; "
              f"{len(gone)} were stopped early and gone after at most {max(gone):.2f} s", flush=True)
        self.assertLess(share, 0.45)
        self.assertLess(max(gone), 5)

    digits = ("hyperparameters.lr=0.01", "hyperparameters.momentum=0.5", "hyperparameters.hidden=64",
              "hyperparameters.batch=4", "hyperparameters.dropout=0.2")

    def metrics_of_digits_here(self, seed, folder, interrupt=False):
        """As on a laptop: the same program, started by hand."""
        # Not that of the tests: variables of OpenBLAS change the last digits.
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGE), "OPENBLAS_NUM_THREADS": "1",
                       "CADRE_TRIAL_SEED": str(seed), "CADRE_LOCAL_FOLDER": str(folder)}
        words = [setting.partition(".")[2] for setting in self.digits] + ["epochs=12"]
        command = [PYTHON, EXAMPLES / "experiments/digits/train.py", *words]
        if interrupt:
            first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
            self.cluster.until(lambda: len((folder / "metrics.jsonl").read_text().splitlines()) > 500)
            first.kill()
            first.wait()
            environment["CADRE_RESUME"] = "1"
        subprocess.run(command, env=environment, check=True, capture_output=True)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        latest = {one["steps"]: one["metrics"] for one in lines if one["group"] == "validation"}
        return sorted(latest.items())

    def test_a_program_runs_unchanged_by_itself_and_on_a_cluster(self):
        number = self.submit("digits.yaml", EXAMPLES / "experiments/digits", *self.digits, "length=12",
                             "searcher={type: single, metric: error}")
        self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["steps"] > 0)
        self.cluster.cadre("experiment", "pause", number)
        self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["state"] == "paused")
        self.cluster.cadre("experiment", "activate", number)
        ended, trials = self.completed(number)
        self.assertEqual(trials[0]["runs"], 2, "it was interrupted")
        on_cluster = [(one["steps"], one["metrics"]) for one in self.validations(f"{number}.0")]
        self.assertEqual(len(on_cluster), 12)
        self.assertLess(ended["best"]["metric"], 0.3, "it has learned something")
        here = self.metrics_of_digits_here(trials[0]["seed"], self.cluster.folder / "whole")
        self.assertEqual(here, on_cluster)
        resumed = self.metrics_of_digits_here(trials[0]["seed"], self.cluster.folder / "resumed", interrupt=True)
        self.assertEqual(resumed, on_cluster)

    def test_a_search_with_the_digits_learns_and_stops_early(self):
        number = self.submit("digits.yaml", EXAMPLES / "experiments/digits")
        ended, trials = self.completed(number)
        self.assertEqual(len(trials), 24)
        self.assertLess(ended["best"]["metric"], 0.25)
        best = self.cluster.trial(ended["best"]["trial"])
        epochs = next(one for one in best["metrics"] if one["name"] == "epochs")
        self.assertEqual(epochs["last"], 16)
        lengths = [self.validations(one["id"])[-1]["metrics"]["epochs"] for one in trials]
        self.assertLess(sum(lengths), 24 * 16 / 2)

    def test_trials_in_cpp(self):
        build = self.cluster.folder / "cpp"
        source = EXAMPLES / "experiments/cpp"
        for command in (["cmake", "-S", source, "-B", build, f"-DCADRE_INCLUDE={EXAMPLES.parent / 'include'}",
                         f"-DCADRE_LIBRARY={os.environ['CADRE_LIBRARY']}"], ["cmake", "--build", build]):
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        number = self.submit("cpp.yaml", build / "code")
        ended, trials = self.completed(number)
        self.assertEqual(len(trials), 16)
        self.assertLess(ended["best"]["metric"], 0.2)
        best = self.cluster.trial(ended["best"]["trial"])
        self.assertEqual((best["steps"], best["runs"]), (2000, 1))
        folder = self.cluster.folder / "by itself"
        done = subprocess.run([build / "code/trial", f"lr={best['hyperparameters']['lr']!r}",
                               f"momentum={best['hyperparameters']['momentum']!r}"], capture_output=True, text=True,
                              env={"CADRE_LOCAL_FOLDER": str(folder), "CADRE_TRIAL_SEED": str(best["seed"])})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([(one["steps"], one["metrics"]["loss"]) for one in lines],
                         [(one["steps"], one["metrics"]["loss"]) for one in self.validations(best["id"])])

    def test_the_first_command_of_a_new_user_shows_a_search_and_its_best_trial(self):
        command = [EXAMPLES.parent / "tools/run_example"]
        piped = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        for part in ("experiment 1: active", "experiment 1 completed: 16 trials: 16 completed; best 1.5", "best loss",
                     "cadre trial metrics 1.5 --name loss", "STEPS  VALUE"):
            self.assertIn(part, piped.stdout)
        ours, theirs = pty.openpty()
        shown = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 65536):
                text += part
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        self.assertEqual(shown.wait(), 0, text)
        for part in ("running trials, best first", "ended trials, best first", "100%", "validation.loss of trial 1.5"):
            self.assertIn(part.encode(), text)


if __name__ == "__main__":
    unittest.main()
