"""Distributed programs on this host, without a cluster: cadre launch, torchrun, collective calls, and their failures."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest

PROGRAM = os.environ["CADRE_PROGRAM"]
PYTHON = os.environ.get("CADRE_TRIAL_PYTHON", "/usr/bin/python3")
EXAMPLE = pathlib.Path(os.environ["CADRE_EXAMPLES"]) / "experiments/data_parallel/train.py"

# All calls with all types of numbers; the result is the same on all ranks, to the last bit.
all_calls = """
    import hashlib, numpy
    from cadre import core
    with core.init(show_progress=False) as trial:
        ranks = trial.distributed
        assert ranks.size == 3 and ranks.nodes == 1 and ranks.local_size == 3 and ranks.local_rank == ranks.rank
        assert ranks.gather({"rank": ranks.rank}) == ([{"rank": r} for r in range(3)] if ranks.rank == 0 else None)
        assert ranks.allgather("x" * ranks.rank) == ["", "x", "xx"]
        assert ranks.broadcast([ranks.rank, "first"]) == [0, "first"]
        ranks.barrier()
        digest = hashlib.sha256()
        for dtype in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                      "uint64", "bool"):
            for count in (0, 1, 1000, 200_000):
                all = [(numpy.random.default_rng([r, count]).normal(0, 100, count)).astype("int64").astype(dtype)
                       for r in range(3)]
                if dtype.startswith("float"):
                    all = [one / dtype_of(3) for one, dtype_of in zip(all, [numpy.dtype(dtype).type] * 3)]
                for op in ("sum", "mean", "min", "max"):
                    found = ranks.allreduce(all[ranks.rank], op=op)
                    digest.update(found.tobytes())
                    wide = [one.astype("float32") for one in all] if dtype == "float16" else all
                    if dtype == "bool" and op in ("sum", "mean"):
                        wide = [one.astype("int64") for one in all]
                    if op == "mean" and wide[0].dtype.kind in "iu":
                        wide = [one.astype("float64") for one in wide]
                    if op in ("sum", "mean"):
                        expected = (wide[0] + wide[1]) + wide[2]
                        expected = expected / wide[0].dtype.type(3) if op == "mean" else expected
                    else:
                        expected = getattr(numpy, op + "imum")(getattr(numpy, op + "imum")(wide[0], wide[1]), wide[2])
                    if dtype == "float16":
                        expected = expected.astype("float16")
                    assert found.dtype == expected.dtype, (dtype, op, found.dtype, expected.dtype)
                    assert numpy.array_equal(found, expected), (dtype, op, count)
        assert ranks.allreduce(ranks.rank + 1) == 6 and ranks.allreduce(0.5, op="max") == 0.5
        array = numpy.full((3, 5), float(ranks.rank))
        assert ranks.allreduce(array, out=array) is array and (array == 3).all()
        assert len(set(ranks.allgather(digest.hexdigest()))) == 1
        assert trial.preempt.should_stop() is False
        with trial.checkpoint.store_path(steps=1, shard=True) as (path, uuid):
            (path / f"part-{ranks.rank}").write_text(str(ranks.rank))
        with trial.checkpoint.restore_path(uuid) as path:
            assert sorted(one.name for one in path.glob("part-*")) == ["part-0", "part-1", "part-2"]
        print("all calls passed", flush=True)
"""


class Distributed(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-distributed-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        own = {name: value for name, value in os.environ.items() if not name.startswith("CADRE_")}
        self.environment = {**own, "PYTHONPATH": os.environ["CADRE_PYTHONPATH"], "PYTHONDONTWRITEBYTECODE": "1"}

    def program(self, text):
        path = self.folder / "program.py"
        path.write_text(textwrap.dedent(text))
        return str(path)

    def start(self, *words, **environment):
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                env={**self.environment, **environment})

    def run_to_end(self, *words, **environment):
        process = self.start(*words, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def launch(self, *words, **environment):
        return self.run_to_end(PROGRAM, "launch", *words, **environment)

    def start_as_torchrun(self, path, rank, size, run="none", **environment):
        variables = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": 0,
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": os.getpid(), "TORCHELASTIC_RUN_ID": run,
                     "TORCHELASTIC_RESTART_COUNT": 0, "CADRE_LOCAL_FOLDER": self.folder / "run"}
        return self.start(PYTHON, path, **{name: str(value) for name, value in variables.items()}, **environment)

    def test_all_collective_calls_of_launched_processes(self):
        code, out, err = self.launch("--workers", "3", "--", PYTHON, self.program(all_calls))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(sorted(out.splitlines()), [f"[rank {rank}] all calls passed" for rank in range(3)])

    def test_processes_started_by_torchrun_find_each_other(self):
        path = self.program(all_calls)
        processes = [self.start_as_torchrun(path, rank, 3) for rank in range(3)]
        for process in processes:
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (0, "all calls passed\n"), err)

    def test_a_missing_rank_is_named(self):
        path = self.program("from cadre import core; core.init(join_timeout=1)")
        process = self.start_as_torchrun(path, 0, 2, run="alone")
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertIn("the gang is not complete after 1 s: rank 1 on host ", err)
        other = self.start_as_torchrun(path, 1, 2, run="alone")
        _, err = other.communicate(timeout=60)
        self.assertIn("rank 0, at whose socket the others meet", err)

    def test_processes_of_torchrun_on_several_hosts_are_refused_with_the_remedy(self):
        path = self.program("from cadre import core; core.init()")
        _, _, err = self.run_to_end(PYTHON, path, RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1",
                                    MASTER_PORT="1")
        self.assertIn("start them with `cadre launch`", err)

    def test_variables_of_launched_processes(self):
        show = ("import os; print(*(os.environ[n] for n in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', "
                "'GROUP_RANK', 'GROUP_WORLD_SIZE', 'MASTER_ADDR', 'CADRE_SLOTS', 'CUDA_VISIBLE_DEVICES')), "
                "int(os.environ['MASTER_PORT']) > 0)")
        code, out, err = self.launch("--per-slot", "--", PYTHON, "-c", show, CADRE_SLOTS="4,7",
                                     CUDA_VISIBLE_DEVICES="GPU-a,GPU-b")
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted(out.splitlines()), ["[rank 0] 0 2 0 2 0 1 127.0.0.1 4 GPU-a True",
                                                    "[rank 1] 1 2 1 2 0 1 127.0.0.1 7 GPU-b True"])

    def test_one_process_takes_the_place_of_the_launcher(self):
        code, out, err = self.launch("--", "sh", "-c", "echo $RANK $WORLD_SIZE; echo here >&2; exit 5")
        self.assertEqual((code, out, err), (5, "0 1\n", "here\n"))
        code, out, _ = self.launch("echo", "--option", "of the command")
        self.assertEqual((code, out), (0, "--option of the command\n"))
        code, out, _ = self.launch("--", "echo", "--workers", "--", "3")
        self.assertEqual((code, out), (0, "--workers -- 3\n"))
        code, out, _ = self.launch("echo", "one", "--workers", "3")
        self.assertEqual((code, out), (0, "one --workers 3\n"))

    def test_errors_in_the_command_line_and_programs_that_do_not_exist(self):
        self.assertEqual(self.launch()[0], 125)
        self.assertEqual(self.launch("--workers", "0", "--", "true")[0], 125)
        for workers in ("1", "2"):
            code, _, err = self.launch("--workers", workers, "--", "no-such-program")
            self.assertEqual(code, 125)
            self.assertIn("cannot start no-such-program: No such file or directory", err)

    def test_lines_keep_their_stream_and_are_never_mixed(self):
        text = ("import os, sys\nfor i in range(2000):\n    print('x' * 100, file=[sys.stdout, sys.stderr][i % 2])\n"
                "sys.stdout.write('no newline')")
        code, out, err = self.launch("--workers", "2", "--", PYTHON, "-c", text)
        self.assertEqual(code, 0, err[-300:])
        for stream, last in ((out, 1), (err, 0)):
            for rank in (0, 1):
                lines = [line for line in stream.splitlines() if line.startswith(f"[rank {rank}] ")]
                self.assertEqual(lines[:1000], [f"[rank {rank}] " + "x" * 100] * 1000)
                self.assertEqual(lines[1000:], [f"[rank {rank}] no newline"] * last)

    def test_a_failed_process_is_named_and_ends_the_others(self):
        began = time.monotonic()
        code, _, err = self.launch("--workers", "3", "--", "sh", "-c", "[ $RANK = 1 ] && exit 42; exec sleep 100")
        self.assertEqual(code, 42)
        self.assertRegex(err, "^cadre launch: rank 1 on host .* failed with exit code 42; ending all processes\n$")
        code, _, err = self.launch("--workers", "2", "--", "sh", "-c", "[ $RANK = 1 ] && kill -9 $$; exec sleep 100")
        self.assertEqual(code, 128 + 9)
        self.assertRegex(err, "rank 1 on host .* was killed by signal 9; ending all processes\n$")
        self.assertLess(time.monotonic() - began, 30)

    def test_a_lost_rank_is_named_in_the_errors_of_the_others(self):
        text = """
            import os, signal, sys, time
            from cadre import core
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that the error is seen before the launcher ends all
            trial = core.init(show_progress=False)
            trial.distributed.barrier()
            if trial.distributed.rank == 1:
                time.sleep(0.5)  # what it has sent is on its way
                os._exit(3)
            began = time.monotonic()
            try:
                trial.distributed.barrier()
            except core.CoreError as error:
                print(error, time.monotonic() - began < 3, flush=True)
            os._exit(0)
        """
        code, out, err = self.launch("--workers", "3", "--", PYTHON, self.program(text))
        self.assertEqual(code, 3)
        lost = r"rank 1 on host .* was lost: the connection to it was closed True\n"
        lines = "".join(sorted(out.splitlines(keepends=True)))
        self.assertRegex(lines, rf"^\[rank 0\] {lost}\[rank 2\] {lost}$", err)

    def test_different_calls_are_named(self):
        text = """
            import numpy
            from cadre import core
            with core.init(show_progress=False) as trial:
                try:
                    if trial.distributed.rank == 0:
                        trial.distributed.allreduce(numpy.zeros(5))
                    else:
                        trial.preempt.should_stop()
                except core.CoreError as error:
                    print(error, flush=True)
        """
        _, out, _ = self.launch("--workers", "2", "--", PYTHON, self.program(text))
        for line in out.splitlines():
            self.assertIn("the calls of the ranks differ: call 2 is ", line)
            self.assertIn("allreduce (sum of 5 float64) on rank 0 on host ", line)
            self.assertIn("broadcast on rank 1 on host ", line)
        self.assertEqual(len(out.splitlines()), 2, out)

    def test_stop_requests_are_passed_on_and_the_second_kills(self):
        text = """
            import signal, time
            def stop(number, frame):
                print("stops", flush=True)
            signal.signal(signal.SIGTERM, stop)
            signal.signal(signal.SIGINT, stop)
            print("ready", flush=True)
            for _ in range(2):
                signal.pause()
        """
        process = self.start(PROGRAM, "launch", "--workers", "2", "--", PYTHON, self.program(text))
        self.assertEqual(sorted(process.stdout.readline() for _ in range(2)), ["[rank 0] ready\n", "[rank 1] ready\n"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(sorted(process.stdout.readline() for _ in range(2)), ["[rank 0] stops\n", "[rank 1] stops\n"])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=30), 128 + 9)
        process.communicate()

    def test_processes_end_with_the_launcher(self):
        process = self.start(PROGRAM, "launch", "--workers", "2", "--", "sh", "-c", "echo $$; exec sleep 1000")
        pids = [int(process.stdout.readline().split()[-1]) for _ in range(2)]
        process.kill()
        process.communicate()
        until = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{pid}/cmdline").exists() and
                  pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    def test_the_example_has_the_losses_of_one_process(self):
        losses = []
        for workers in ("1", "3"):
            run = self.folder / workers
            code, out, err = self.launch("--workers", workers, "--", PYTHON, str(EXAMPLE), CADRE_LOCAL_FOLDER=str(run))
            self.assertEqual(code, 0, out + err)
            rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
            losses.append([row["metrics"]["loss"] for row in rows if row["group"] == "training"])
        self.assertEqual(len(losses[0]), 40)
        self.assertEqual(len(losses[1]), 40)
        for alone, together in zip(*losses):
            self.assertAlmostEqual(alone, together, delta=1e-5)
        self.assertLess(losses[0][-1], losses[0][0] / 4)


if __name__ == "__main__":
    unittest.main()
