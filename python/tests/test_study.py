"""Studies: searches in a program, which continue from their file as if they had not been interrupted."""
import json
import math
import pathlib
import pickle
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy

from cadre import search

space = {"lr": search.log(-5, -1), "layers": search.integer(1, 8),
         "optimizer": search.categorical(["sgd", "adam"]),
         "momentum": search.double(0, 0.99, when={"optimizer": "sgd"})}


def loss_of(point, step):
    best = (math.log10(point["lr"]) + 3) ** 2 + 0.1 * (point["layers"] - 3) ** 2
    return best + (0.2 if point["optimizer"] == "adam" else abs(point["momentum"] - 0.9)) + 1 / step


def train(trial, length=27):
    """Continues where its reports ended."""
    step = int(trial.reports[-1][0]) if trial.reports else 0
    while step < (trial.until or length) and not trial.should_stop():
        step += 1
        trial.report(step, loss_of(trial.hyperparameters, step))


def facts(study):
    return [(one.number, one.hyperparameters, one.seed, one.state, one.reports, one.source) for one in study.trials]


class StudyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "study.jsonl"

    def assertFails(self, code, call):
        with self.assertRaises(search.SearchError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return str(caught.exception)


class SpaceTest(StudyTest):
    def test_the_functions_make_what_the_experiment_file_has(self):
        self.assertEqual(search.log(-4, -1), {"type": "log", "min": -4, "max": -1})
        self.assertEqual(search.integer(1, 8, log=True, when={"a": "b"}),
                         {"type": "int", "min": 1, "max": 8, "log": True, "when": {"a": "b"}})
        self.assertEqual(search.double(0, 1, count=3), {"type": "double", "min": 0, "max": 1, "count": 3})
        self.assertEqual(search.categorical(("a", 1, None)), {"type": "categorical", "values": ["a", 1, None]})
        self.assertEqual(search.const([1, 2]), {"type": "const", "value": [1, 2]})
        self.assertEqual(search.asha_promote(max_trials=4, max_time=9, divisor=3, sampler=search.tpe(startup=5)),
                         {"type": "asha_promote", "max_trials": 4, "max_time": 9, "divisor": 3,
                          "sampler": {"type": "tpe", "startup": 5}})
        for searcher in (search.single(), search.random(max_trials=2), search.grid(), search.pbt(interval=2),
                         search.asha(max_trials=4, max_time=9, mode="conservative", bracket_rungs=[1, 2])):
            search.Study({"x": search.double(0, 1, count=2)}, searcher)

    def test_all_faults_are_found_at_once_with_their_paths(self):
        with self.assertRaises(search.SpaceError) as caught:
            search.Study({"a": search.double(3, 1), "b": {"c": search.log(-4, -1, base=1)}, "d": {"type": "flot"},
                          "e": search.integer(1, 8, log=True, step=2)}, {"type": "random", "max_trial": 3})
        self.assertEqual(sorted(path for path, _ in caught.exception.faults), [
            "hyperparameters.a.min", "hyperparameters.b.c.base", "hyperparameters.d.type", "hyperparameters.e.step",
            "searcher.max_trial"])
        self.assertIn("searcher.max_trial: is not a known key; did you mean 'max_trials'?", str(caught.exception))
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).faults, caught.exception.faults)
        with self.assertRaises(search.SpaceError) as caught:
            search.Study({"x": search.double(0, 1)}, search.random(max_trials=3), start_with=[{"x": 2}, {"y": 1}])
        self.assertEqual([path for path, _ in caught.exception.faults],
                         ["searcher.start_with[0].x", "searcher.start_with[1].y"])
        with self.assertRaisesRegex(search.SpaceError, "search.run"):
            search.Study({"x": 1}, {"type": "custom"})
        with self.assertRaisesRegex(TypeError, "hyperparameters.x.max is a object"):
            search.Study({"x": search.double(0, object())})

    def test_an_invalid_space_leaves_no_file(self):
        with self.assertRaises(search.SpaceError):
            search.Study({"a": search.double(3, 1)}, file=self.file)
        self.assertFalse(self.file.exists())


class DrawTest(StudyTest):
    def test_draws_are_those_of_the_generator_that_the_file_format_names(self):
        study = search.Study({"b": search.double(-5, 10), "a": search.integer(1, 8), "c": search.log(-4, -1)},
                             search.random(max_trials=50), seed=17)
        generator = numpy.random.RandomState(17)  # MT19937, seeded as init_genrand(17)

        def bits():
            return int.from_bytes(generator.bytes(4), "little")

        def unit():
            return ((bits() >> 5) * 2**26 + (bits() >> 6)) / 2**53

        while (trial := study.ask()) is not None:
            self.assertEqual(trial.hyperparameters["a"], 1 + (bits() & 7))
            self.assertEqual(trial.hyperparameters["b"], -5 + 15 * unit())
            self.assertAlmostEqual(trial.hyperparameters["c"], 10 ** (-4 + 3 * unit()), delta=1e-15)
            self.assertEqual(trial.seed, bits() & (2**31 - 1))
            study.tell(trial, 1.0)
        self.assertEqual(len(study.trials), 50)

    def test_the_same_seed_gives_the_same_trials_and_another_one_others(self):
        def run(seed):
            study = search.Study(space, search.random(max_trials=30, sampler=search.tpe()), seed=seed)
            study.optimize(train)
            return facts(study)
        self.assertEqual(run(4), run(4))
        self.assertNotEqual(run(4), run(5))

    def test_it_finds_better_points_than_random_draws(self):
        def best(sampler):
            found = []
            for seed in range(7):
                study = search.Study(space, search.random(max_trials=80, sampler=sampler), seed=seed)
                study.optimize(lambda trial: loss_of(trial.hyperparameters, 10))
                found.append(study.best.value)
            return sorted(found)[3]
        self.assertLess(best(search.tpe()), 0.7 * best({"type": "random"}))


class TrialsTest(StudyTest):
    def test_halving_stops_bad_trials_early_and_finds_the_best(self):
        study = search.Study(space, search.asha(max_trials=60, max_time=27, divisor=3), seed=1)
        study.optimize(train)
        self.assertTrue(study.is_done)
        self.assertEqual(study.progress, 1)
        self.assertLess(sum(len(one.reports) for one in study.trials), 60 * 27 / 2)
        self.assertEqual(study.best.value, min(one.best_value for one in study.trials))
        self.assertEqual(study.best.reports[-1][0], 27)
        self.assertEqual({one.state for one in study.trials}, {"completed"})

    def test_suspended_trials_continue(self):
        study = search.Study(space, search.asha_promote(max_trials=20, max_time=9, divisor=3), seed=1)
        calls = []
        study.optimize(lambda trial: (calls.append((trial.number, trial.until)), train(trial))[1])
        self.assertTrue(study.is_done)
        again = {number for number, _ in calls if sum(number == one for one, _ in calls) > 1}
        self.assertTrue(again, "some are suspended and continue later")
        for number in again:
            untils = [until for one, until in calls if one == number]
            self.assertEqual(untils, sorted(set(untils)))
            self.assertEqual([step for step, _ in study.trials[number].reports],
                             list(range(1, len(study.trials[number].reports) + 1)))

    def test_bad_members_of_a_population_continue_from_states_of_good_ones(self):
        study = search.Study({"lr": search.double(0, 1)}, search.pbt(population=6, interval=3), seed=2, length=15)
        trials = [study.ask() for _ in range(6)]
        self.assertRaises(search.SearchError, study.ask)
        for one in trials:
            one.checkpoint = {"step": 0, "sum": 0.0}
        for _ in range(200):
            for one in trials:
                if one.state != "running":
                    continue
                state = {"step": one.checkpoint["step"] + 1, "sum": one.checkpoint["sum"] + one.hyperparameters["lr"]}
                one.checkpoint = state
                one.report(state["step"], -state["sum"])
                if one.should_stop():
                    before = one.hyperparameters
                    study.tell(one)
                    self.assertIs(study.ask(), one)
                    source = study.trials[one.source]
                    self.assertNotEqual(one.hyperparameters, before)
                    self.assertGreaterEqual(one.checkpoint["sum"], state["sum"])
                    self.assertIsNot(one.checkpoint, source.checkpoint)
                elif state["step"] == one.until:
                    study.tell(one)
        self.assertTrue(study.is_done)
        self.assertTrue(any(one.source is not None for one in trials))

    def test_a_grid_is_complete(self):
        study = search.Study({"a": search.categorical([1, 2]), "b": search.integer(1, 3)}, search.grid())
        study.optimize(lambda trial: trial.hyperparameters["a"] * trial.hyperparameters["b"])
        self.assertEqual([tuple(one.hyperparameters.values()) for one in study.trials],
                         [(a, b) for a in (1, 2) for b in (1, 2, 3)])
        self.assertEqual(study.best.hyperparameters, {"a": 1, "b": 1})

    def test_given_points_come_first_and_larger_may_be_better(self):
        study = search.Study(space, start_with=[{"lr": 0.001, "layers": 3}], smaller_is_better=False, seed=1)
        study.optimize(lambda trial: -loss_of(trial.hyperparameters, 1), n_trials=8)
        self.assertEqual((study.trials[0].hyperparameters["lr"], study.trials[0].hyperparameters["layers"]), (0.001, 3))
        self.assertEqual(study.best.value, max(one.value for one in study.trials[:8]))

    def test_invalid_and_failed_trials(self):
        study = search.Study({"x": search.double(0, 1)}, search.random(max_trials=6), seed=3)
        states = []

        def function(trial):
            states.append(("completed", "invalid", "failed")[trial.number % 3])
            if states[-1] == "invalid":
                raise search.InvalidHyperparameters
            if states[-1] == "failed":
                raise ArithmeticError("diverged")
            return math.nan if trial.number == 3 else trial.hyperparameters["x"]

        study.optimize(function, catch=(ArithmeticError,))
        self.assertEqual([one.state for one in study.trials], states)
        self.assertEqual(len(states) - states.count("invalid"), 6, "an invalid trial is replaced")
        self.assertIsNone(study.trials[3].best_value)
        self.assertIs(study.best, min((one for one in study.trials if one.best_value is not None),
                                      key=lambda one: one.value))

    def test_an_exception_of_the_function_is_raised_and_the_trial_has_failed(self):
        study = search.Study({"x": search.double(0, 1)}, seed=3)
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            study.optimize(lambda trial: 1 / 0, n_trials=5)
        self.assertEqual([one.state for one in study.trials[:1]], ["failed"])
        with self.assertRaises(KeyboardInterrupt):
            study.optimize(lambda trial: (_ for _ in ()).throw(KeyboardInterrupt), n_trials=5)
        interrupted = study.trials[1]
        self.assertEqual(interrupted.state, "waiting")
        self.assertIs(study.ask(), interrupted, "it runs again")

    def test_several_threads(self):
        study = search.Study({"x": search.double(0, 1)}, search.random(max_trials=20, max_concurrent_trials=4), seed=3)
        lock, now, most = threading.Lock(), 0, 0

        def function(trial):
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            with lock:
                now -= 1
            return trial.hyperparameters["x"]

        study.optimize(function, threads=8)
        self.assertEqual(([one.state for one in study.trials], most), (["completed"] * 20, 4))

    def test_limits_of_optimize(self):
        study = search.Study({"x": search.double(0, 1)}, seed=3)
        with self.assertRaisesRegex(ValueError, "no end; pass n_trials or timeout"):
            study.optimize(lambda trial: 1.0)
        study.optimize(lambda trial: 1.0, n_trials=3)
        self.assertEqual([one.state for one in study.trials], ["completed"] * 3 + ["waiting"])
        study.optimize(lambda trial: time.sleep(0.02) or 1.0, timeout=0.1)
        self.assertLess(len(study.trials), 20)
        finite = search.Study({"x": search.double(0, 1)}, search.random(max_trials=2))
        finite.optimize(lambda trial: 1.0)
        self.assertIsNone(finite.ask())
        finite.limit(max_trials=4)
        finite.optimize(lambda trial: 1.0)
        self.assertEqual(len(finite.trials), 4)

    def test_impossible_results_are_refused_and_change_nothing(self):
        study = search.Study({"x": search.double(0, 1)}, seed=3)
        self.assertFails("not_found", lambda: study.best)
        trial = study.ask()
        self.assertIn("raise max_concurrent_trials", self.assertFails("conflict", study.ask))
        with self.assertRaisesRegex(ValueError, "trial 0 has no value"):
            study.tell(trial)
        with self.assertRaisesRegex(ValueError, "completed, failed or invalid"):
            study.tell(trial, 1.0, state="done")
        self.assertRaises((TypeError, ValueError), trial.report, math.inf, 1.0)
        self.assertRaises(TypeError, study.tell, trial, object())
        self.assertEqual(trial.state, "running")
        study.tell(0, numpy.float32(0.5))
        self.assertFails("conflict", lambda: study.tell(trial, 1.0))
        self.assertFails("conflict", lambda: trial.report(1, 1.0))
        self.assertFails("not_found", lambda: study.tell(99, 1.0))
        self.assertFails("not_found", lambda: study.tell(search.Study({"x": 1}).ask(), 1.0))
        self.assertEqual((trial.state, trial.value), ("completed", 0.5))


class FileTest(StudyTest):
    methods = (
        search.random(max_trials=15, sampler=search.tpe(startup=4)), search.random(max_trials=10),
        search.asha(max_trials=12, max_time=9, divisor=3), search.asha_promote(max_trials=12, max_time=9, divisor=3),
        search.asha(max_trials=12, max_time=9, divisor=3, sampler=search.tpe(startup=3)), search.single(),
    )

    def test_it_continues_from_any_event_as_if_it_had_not_been_interrupted(self):
        dice = random.Random(1)
        for method in self.methods:
            undisturbed = search.Study(space, method, seed=5, length=6, file=self.file) if "max_time" not in method else \
                search.Study(space, method, seed=5, file=self.file)
            undisturbed.optimize(train)
            undisturbed.close()
            whole = self.file.read_bytes()
            self.file.unlink()
            lines = whole.splitlines(keepends=True)
            for cut in dice.sample(range(1, len(lines) + 1), min(len(lines), 25)):
                part = b"".join(lines[:cut])
                if cut < len(lines) and dice.random() < 0.5:
                    part += lines[cut][:dice.randrange(len(lines[cut]))]  # killed while it wrote
                self.file.write_bytes(part)
                study = search.Study.load(self.file)
                study.optimize(train)
                self.assertEqual(facts(study), facts(undisturbed), (method["type"], cut))
                study.close()
                self.assertEqual(sorted(self.file.read_bytes().splitlines(keepends=True)), sorted(lines))
                self.file.unlink()

    def test_a_killed_program_continues_with_the_same_trials(self):
        program = """
            import os, signal, sys
            sys.path.insert(0, TESTS)
            from test_study import search, space, train
            study = search.Study(space, search.asha(max_trials=20, max_time=9, divisor=3), seed=5, file=sys.argv[1])
            left = int(sys.argv[2])
            def killed(trial):
                global left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return train(trial)
            study.optimize(killed)
        """.replace("TESTS", repr(str(pathlib.Path(__file__).parent))).replace("\n            ", "\n")

        def run(file, left):
            return subprocess.run([sys.executable, "-c", program, str(file), str(left)], check=False).returncode
        self.assertEqual(run(self.file, 0), 0)
        other = self.folder / "other.jsonl"
        for _ in range(100):
            code = run(other, 5)
            if code == 0:
                break
            self.assertEqual(code, -9)
        self.assertEqual(other.read_bytes(), self.file.read_bytes())

    def test_a_file_that_cannot_be_written_ends_the_study_and_stays_whole(self):
        study = search.Study(space, seed=5, file=self.file)
        study.optimize(train, n_trials=2)
        before = facts(study)[:2]
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.file.stat().st_size + 20, limits[1]))
        try:
            self.assertIn("cannot be written", self.assertFails("unavailable", lambda: study.optimize(train, n_trials=1)))
            self.assertIn("was closed", self.assertFails("conflict", lambda: study.optimize(train, n_trials=1)))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        with search.Study.load(self.file) as again:
            again.optimize(train, n_trials=1)
            self.assertEqual(facts(again)[:2], before)
            self.assertEqual(again.trials[2].state, "completed")

    def test_a_population_continues(self):
        study = search.Study({"lr": search.double(0, 1)}, search.pbt(population=4, interval=2), seed=2, length=8,
                             file=self.file)
        study.optimize(lambda trial: train_sum(trial))
        before = facts(study)
        study.close()
        self.assertEqual(facts(search.Study.load(self.file)), before)

    def test_the_same_study_is_made_again_from_its_file(self):
        study = search.Study(space, file=self.file)
        study.optimize(train, n_trials=3)
        study.close()
        again = search.Study(space, file=self.file)
        self.assertEqual((again.seed, facts(again)), (study.seed, facts(study)))
        again.close()
        self.assertIn("another space, searcher or seed",
                      self.assertFails("conflict", lambda: search.Study({"x": 1}, file=self.file)))
        self.assertFails("conflict", lambda: search.Study(space, file=self.file, seed=again.seed ^ 1))
        search.Study(space, file=self.file, seed=again.seed).close()

    def test_save_and_load(self):
        study = search.Study(space, seed=1)
        study.optimize(train, n_trials=12)
        study.tell(study.ask(), math.inf)
        study.save(self.file)
        loaded = search.Study.load(self.file)
        self.assertEqual(facts(loaded), facts(study))
        self.assertEqual(loaded.ask().hyperparameters, study.ask().hyperparameters)

    def test_a_file_has_one_program_and_must_be_one_of_a_study(self):
        study = search.Study(space, file=self.file)
        self.assertIn("is in use", self.assertFails("conflict", lambda: search.Study.load(self.file)))
        study.close()
        self.assertIn("was closed", self.assertFails("conflict", lambda: study.tell(study.ask(), 1.0)))
        with search.Study.load(self.file) as again:
            self.assertEqual(len(again.trials), 1)
        with open(self.file, "ab") as file:
            file.write(b'{"type":"reported","trial":99,"time":1.0,"metric":1.0}\n')
        self.assertIn("no trial 99", self.assertFails("corrupt", lambda: search.Study.load(self.file)))
        self.assertFails("corrupt", lambda: search.Study.load(self.file))
        self.assertFails("not_found", lambda: search.Study.load(self.folder / "none"))
        for content in (b"{}\n", b"hello\n", b"hello", b'{"cadre_study":1}\n', b"[1]\n"):
            self.file.write_bytes(content)
            self.assertIn("is not the file of a study", self.assertFails("corrupt", lambda: search.Study.load(self.file)))
            self.assertEqual(self.file.read_bytes(), content)
        self.file.write_bytes(json.dumps({"cadre_study": 2, "config": {}}).encode() + b"\n")
        self.assertIn("newer version", self.assertFails("invalid", lambda: search.Study.load(self.file)))


def train_sum(trial):
    """Of a population."""
    state = trial.checkpoint or {"step": 0, "sum": 0.0}
    while state["step"] < trial.until and not trial.should_stop():
        state = {"step": state["step"] + 1, "sum": state["sum"] + trial.hyperparameters["lr"]}
        trial.checkpoint = state
        trial.report(state["step"], -state["sum"])


if __name__ == "__main__":
    unittest.main()
