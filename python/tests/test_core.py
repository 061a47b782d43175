"""Trials in Python: the same program on a cluster and off it, with a master that fails and one that restarts."""
import json
import math
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy

from cadre import core
from fake_trial_master import FakeTrialMaster


class CoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def local(self, **options):
        options = {"folder": str(self.folder / "run"), "show_progress": False, "arguments": [], **options}
        context = core.init(**options)
        self.addCleanup(context.close)
        return context

    def lines(self):
        return [json.loads(line) for line in (self.folder / "run/metrics.jsonl").read_text().splitlines()]

    def assertFails(self, code, call):
        with self.assertRaises(core.CoreError) as caught:
            call()
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return str(caught.exception)


class OffClusterTest(CoreTest):
    def test_a_folder_keeps_metrics(self):
        with self.local(hyperparameters={"lr": 0.1, "layers": (1, 2), "sub": {"a": numpy.float32(0.5)}}, seed=3) as trial:
            self.assertEqual(trial.info.hyperparameters, {"lr": 0.1, "layers": [1, 2], "sub": {"a": 0.5}})
            self.assertEqual((trial.info.seed, trial.info.run, trial.info.trial, trial.info.on_cluster), (3, 1, "", False))
            self.assertIsNone(trial.info.latest_checkpoint)
            trial.train.report_training(1, {"loss": 0.5, "by_class": {"cat": True}, "name": "x"})
            trial.train.report_validation(2, {"loss": math.nan})
        self.assertEqual([(line["group"], line["steps"], line["metrics"]) for line in self.lines()],
                         [("training", 1, {"loss": 0.5, "by_class": {"cat": True}, "name": "x"}),
                          ("validation", 2, {"loss": "NaN"})])

    def test_what_a_cluster_would_not_take_gets_a_warning(self):
        program = ("from cadre import core\n"
                   f"with core.init(hyperparameters={{'lr': 0.1}}, folder={str(self.folder / 'run')!r}, metric='loss',\n"
                   "               show_progress=False) as trial:\n"
                   "    assert trial.info.metric == 'loss'\n"
                   "    trial.train.report_validation(1, {'accuracy': 1})\n")
        ran = subprocess.run([sys.executable, "-c", program, "lrr=1", "--lr", "0.5"], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(ran.stderr, "cadre: warning: 'lrr=1' sets no hyperparameter: did you mean 'lr'?\n"
                         "cadre: warning: '--lr' does not set the hyperparameter lr; write lr=0.5\n"
                         "cadre: warning: the validation of step 1 has no metric 'loss'; on a cluster, the search could "
                         "not use it\n")

    def test_numpy_scalars_and_arrays_of_one_element_are_metrics(self):
        with self.local() as trial:
            trial.train.report_training(numpy.int64(1), {
                "a": numpy.float32(0.5), "b": numpy.array([2.0]), "c": numpy.array(3), "d": numpy.bool_(True),
                "e": numpy.float64("inf"), "f": {"g": numpy.int8(-4)}})
        self.assertEqual(self.lines()[0]["metrics"],
                         {"a": 0.5, "b": 2.0, "c": 3, "d": True, "e": "Infinity", "f": {"g": -4}})

    def test_what_is_no_metric_is_named(self):
        trial = self.local()
        for metrics, why in (({"loss": [1]}, "the metric loss is a list"), ({"a": {"b": None}}, "the metric a.b is a NoneType"),
                             ({"loss": numpy.zeros(3)}, r"the metric loss is an array of shape \(3,\)"),
                             ({3: 1}, "must be a str"), (1, "metrics")):
            with self.assertRaisesRegex((TypeError, core.CoreError), why):
                trial.train.report_training(1, metrics)
        self.assertIn("from 0 to 1", self.assertFails("invalid", lambda: trial.train.report_progress(2)))
        self.assertFails("invalid", lambda: trial.train.report_training(-1, {"loss": 1}))

    def test_a_checkpoint_is_what_the_next_run_begins_with(self):
        with self.local() as trial:
            with trial.checkpoint.store_path({"epoch": 3, "best": numpy.float64(0.5)}, steps=7) as (path, uuid):
                (path / "model").write_bytes(b"weights")
                self.assertRaises(core.CoreError, trial.checkpoint.find, uuid)
        trial = self.local(resume=True)
        latest = trial.info.latest_checkpoint
        self.assertEqual((latest.uuid, latest.steps, latest.run, latest.metadata, latest.size_bytes),
                         (uuid, 7, 1, {"epoch": 3, "best": 0.5}, 7))
        with trial.checkpoint.restore_path(latest) as path:
            self.assertEqual((path / "model").read_bytes(), b"weights")
        trial.checkpoint.download(uuid, self.folder / "copy")
        self.assertEqual((self.folder / "copy/model").read_bytes(), b"weights")
        self.assertEqual(trial.checkpoint.find(uuid), latest)

    def test_a_block_that_raises_saves_nothing(self):
        trial = self.local()
        with self.assertRaises(ZeroDivisionError):
            with trial.checkpoint.store_path(steps=1) as (path, uuid):
                (path / "model").write_bytes(b"half")
                1 / 0
        self.assertFails("not_found", lambda: trial.checkpoint.find(uuid))
        self.assertEqual(list((self.folder / "run/checkpoints").iterdir()), [])

    def test_hyperparameters_come_from_files_variables_and_words(self):
        file = self.folder / "hp.yaml"
        file.write_text("lr: 0.1\nbatch: 32\nname: x\n")
        with mock.patch.dict(os.environ, CADRE_HYPERPARAMETERS='{"batch": 64}'):
            trial = self.local(hyperparameters=file, arguments=["name=y z", "other=1", "--flag"])
        self.assertEqual(trial.info.hyperparameters, {"lr": 0.1, "batch": 64, "name": "y z"})

    def test_wrong_options_are_named(self):
        for options, why in (({"seed": -1}, "seed is -1"), ({"seed": "x"}, "seed is 'x'"), ({"folder": 3}, "folder is 3"),
                             ({"until": -1}, "until is -1"), ({"arguments": "lr=1"}, "arguments is 'lr=1'"),
                             ({"hyperparameters": {"a": object()}}, "hyperparameters.a is a object")):
            with self.assertRaisesRegex((TypeError, ValueError), why):
                self.local(**options)

    def test_a_process_has_one_trial_at_a_time(self):
        trial = self.local()
        self.assertIn("init() was called before", self.assertFails("conflict", lambda: core.init(folder=str(self.folder / "b"))))
        trial.close()
        trial.close()
        self.assertIn("was closed", self.assertFails("conflict", lambda: trial.train.report_training(1, {"a": 1})))
        core.init(folder=str(self.folder / "b"), show_progress=False).close()

    def test_a_forked_process_has_no_trial(self):
        trial = self.local()
        trial.train.report_training(1, {"loss": 1})
        pid = os.fork()
        if pid == 0:
            try:
                trial.train.report_training(2, {"loss": 1})
                os._exit(1)
            except core.CoreError as error:
                del trial
                os._exit(3 if "forked" in str(error) else 2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3)
        trial.train.report_training(3, {"loss": 1})
        trial.close()
        self.assertEqual([line["steps"] for line in self.lines()], [1, 3])

    def test_reports_are_stored_at_the_exit_of_a_program_that_closes_nothing(self):
        program = ("from cadre import core\n"
                   f"trial = core.init(folder={str(self.folder / 'run')!r}, show_progress=False)\n"
                   "for step in range(100): trial.train.report_training(step, {'loss': 1})\n")
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        self.assertEqual([line["steps"] for line in self.lines()], list(range(100)))

    def test_progress_is_shown(self):
        program = ("from cadre import core\n"
                   f"with core.init(folder={str(self.folder / 'run')!r}) as trial:\n"
                   "  trial.train.report_validation(7, {'loss': 0.125, 'deep': {'x': 1}})\n"
                   "  trial.train.set_status('warming up')\n")
        shown = subprocess.run([sys.executable, "-c", program], check=True, timeout=60, stderr=subprocess.PIPE, text=True)
        self.assertRegex(shown.stderr, r"(?s)cadre: run 1 in /.*/run\n.*validation step 7  loss=0.125 deep.x=1\n.*status: warming up")

    def test_search_operations_end_after_the_length(self):
        trial = self.local(until=30)
        lengths = []
        for operation in trial.search.operations():
            operation.report_progress(15)
            lengths.append(operation.length)
        self.assertEqual((lengths, trial.search.until), ([30], 30))

    def test_one_process_is_a_distributed_trial_of_one(self):
        distributed = self.local().distributed
        self.assertEqual((distributed.rank, distributed.size, distributed.local_rank, distributed.nodes), (0, 1, 0, 1))
        distributed.barrier()
        self.assertEqual((distributed.gather({"a": 1}), distributed.allgather(2), distributed.broadcast("x")),
                         ([{"a": 1}], [2], "x"))
        array = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        combined = distributed.allreduce(array)
        self.assertIsNot(combined, array)
        numpy.testing.assert_array_equal(combined, array)
        self.assertIs(distributed.allreduce(array, out=array), array)
        self.assertEqual(distributed.allreduce(numpy.array([1, 2]), "mean").dtype, numpy.float64)
        self.assertEqual((distributed.allreduce(3), distributed.allreduce(0.5), distributed.allreduce(True, "max")),
                         (3, 0.5, True))
        self.assertIsInstance(distributed.allreduce(3), int)
        with self.assertRaisesRegex(TypeError, "dtype complex128"):
            distributed.allreduce(numpy.zeros(2, complex))
        with self.assertRaisesRegex(ValueError, "op is 'avg'"):
            distributed.allreduce(1, "avg")
        with self.assertRaisesRegex(ValueError, "out must be"):
            distributed.allreduce(array, out=numpy.zeros((3, 2), numpy.float32))

    def test_the_profiler_reports_use(self):
        with self.local() as trial:
            trial.profiler.on(0.1)
            end = time.monotonic() + 60
            while not (self.folder / "run/metrics.jsonl").exists() and time.monotonic() < end:
                sum(range(10_000))
        line = self.lines()[0]
        self.assertEqual(line["group"], "profiler")
        self.assertGreater(line["metrics"]["cpu_percent"], 1)
        self.assertGreater(line["metrics"]["memory_bytes"], 1 << 20)

    def test_errors_can_be_pickled(self):
        error = core.CoreError("denied", "the run is over")
        same = pickle.loads(pickle.dumps(error))
        self.assertEqual((same.code, str(same)), (error.code, str(error)))


class OnClusterTest(CoreTest):
    def setUp(self):
        super().setUp()
        self.master = FakeTrialMaster()
        self.addCleanup(self.master.stop)
        variables = mock.patch.dict(os.environ, self.master.environment)
        variables.start()
        self.addCleanup(variables.stop)

    def begin(self, **options):
        context = core.init(**options)
        self.addCleanup(context.close)
        return context

    def test_it_begins_with_what_the_master_knows(self):
        uuid = "00000000-0000-4000-8000-000000000001"
        self.master.checkpoints[uuid] = {"id": uuid, "trial": "12.3", "steps": 50, "run": 3, "metadata": {"epoch": 2}}
        self.master.run.update(run=4, until=100, metric="loss", smaller_is_better=False,
                               hyperparameters={"lr": 0.25, "sub": {"a": 1}}, config={"data": {"path": "/data"}},
                               checkpoint={"id": uuid, "trial": "12.3"})
        info = self.begin(hyperparameters={"lr": 1, "batch": 32}, arguments=["lr=7"]).info
        self.assertEqual(info.hyperparameters, {"lr": 0.25, "batch": 32, "sub": {"a": 1}})
        self.assertEqual((info.trial, info.experiment, info.run, info.seed, info.until, info.metric), ("12.3", "12", 4, 42, 100, "loss"))
        self.assertEqual((info.on_cluster, info.smaller_is_better, info.data), (True, False, {"path": "/data"}))
        self.assertEqual((info.latest_checkpoint.uuid, info.latest_checkpoint.metadata), (uuid, {"epoch": 2}))

    def test_no_report_is_lost_while_the_master_restarts(self):
        with self.begin() as trial:
            for step in range(300):
                if step % 60 == 20:
                    self.master.troubles.append(("/metrics", "cut"))
                if step % 60 == 40:
                    self.master.troubles.append(("/metrics", "served and cut"))
                if step % 60 == 50:
                    self.master.troubles.append(("/metrics", 503))
                trial.train.report_training(step, {"loss": 1 / (step + 1)})
                if step == 150:
                    back = self.master.restart_after(1)
                if step % 10 == 0:
                    trial.train.flush()
        back.join()
        self.assertEqual(self.master.steps_of("training"), list(range(300)))

    def test_an_error_of_a_report_is_raised_by_the_next_call(self):
        trial = core.init()
        self.master.troubles.append(("/metrics", 403, "the run 1 is over"))
        trial.train.report_training(1, {"loss": 1})
        self.assertIn("the run 1 is over", self.assertFails("denied", trial.train.flush))
        self.assertFails("denied", lambda: trial.train.report_training(2, {"loss": 1}))
        self.assertFails("denied", trial.close)

    def test_the_error_of_a_program_is_not_hidden_by_that_of_its_reports(self):
        self.master.troubles.append(("/metrics", 403, "the run 1 is over"))
        with self.assertRaises(ZeroDivisionError):
            with core.init() as trial:
                trial.train.report_training(1, {"loss": 1})
                1 / 0

    def test_reports_of_a_program_that_raises_are_stored(self):
        with self.assertRaises(ZeroDivisionError):
            with core.init() as trial:
                trial.train.report_training(1, {"loss": 1})
                1 / 0
        self.assertEqual(self.master.steps_of("training"), [1])

    def test_invalid_hyperparameters_end_the_program_in_order(self):
        program = ("from cadre import core\n"
                   "with core.init() as trial:\n"
                   "  trial.train.report_training(1, {'loss': 1})\n"
                   "  trial.train.invalid_hyperparameters()\n"
                   "print('not reached')\n")
        ended = subprocess.run([sys.executable, "-c", program], timeout=60, capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
        self.assertEqual(self.master.steps_of("training"), [1])
        self.assertTrue(self.master.news[0]["invalid_hyperparameters"])

    def test_checkpoints_go_to_the_master_and_back(self):
        content = os.urandom(12 << 20)
        with self.begin() as trial:
            trial.train.report_training(5, {"loss": 1})
            self.master.troubles += [("/files", "cut"), ("/files", 503), ("/files", "served and cut")]
            with trial.checkpoint.store_path({"epoch": 2}, steps=5) as (path, uuid):
                (path / "a").mkdir()
                (path / "a/model").write_bytes(content)
                (path / "empty").touch()
            self.assertEqual(self.master.steps_of("training"), [5])
            self.assertEqual(self.master.files[uuid], {"a/model": content, "empty": b""})
            with trial.checkpoint.restore_path(uuid) as path:
                self.assertEqual((path / "a/model").read_bytes(), content)
            self.assertFalse(path.exists())
            self.assertEqual(trial.checkpoint.find(uuid).metadata, {"epoch": 2})
            self.master.files[uuid]["a/model"] = content[:-1] + b"?"
            self.assertFails("corrupt", lambda: trial.checkpoint.download(uuid, self.folder / "out"))

    def test_progress_and_status_are_reported(self):
        with self.begin() as trial:
            trial.train.report_progress(0.5)
            trial.train.set_status("half")
        self.assertEqual((self.master.news[-1]["progress"], self.master.news[-1]["status"]), (0.5, "half"))

    def test_search_goes_on_while_the_length_grows(self):
        self.master.run["until"] = 10
        trial = self.begin()
        lengths = []
        for operation in trial.search.operations():
            lengths.append(operation.length)
            trial.train.report_validation(operation.length, {"loss": 1})
            self.master.run["until"] = min(30, operation.length + 10)
        self.assertEqual((lengths, self.master.steps_of("validation")), ([10, 20, 30], [10, 20, 30]))

    def test_an_interrupt_ends_a_call_that_waits_for_the_master(self):
        program = ("from cadre import core\n"
                   "trial = core.init()\n"
                   "print('begun', flush=True)\n"
                   "input()\n"
                   "trial.train.report_training(1, {'loss': 1})\n"
                   "print('waits', flush=True)\n"
                   "trial.train.flush()\n")
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "begun\n")
            back = self.master.restart_after(3)
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "waits\n")
            time.sleep(0.2)
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            self.assertIn("KeyboardInterrupt", process.stderr.read())
            self.assertLess(time.monotonic() - begun, 30)
            back.join()

    def test_many_reports_are_batched(self):
        begun = time.monotonic()
        with self.begin() as trial:
            for step in range(20_000):
                trial.train.report_training(step, {"loss": 0.5, "accuracy": 0.25})
        self.assertEqual(self.master.steps_of("training"), list(range(20_000)))
        self.assertLess(len(self.master.batches), 200)
        self.assertLess(time.monotonic() - begun, 20)

    def test_threads_may_report(self):
        with self.begin() as trial:
            threads = [threading.Thread(target=lambda name=name: [
                trial.train.report_metrics(name, step, {"a": 1}) for step in range(200)]) for name in "abcd"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for name in "abcd":
            self.assertEqual(self.master.steps_of(name), list(range(200)))
