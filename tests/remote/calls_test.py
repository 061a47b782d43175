"""Remote classes in Python: calls, attributes, errors, futures, order, arrays, files."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from unittest import mock

import numpy

from scene import Scene, hosts_of_actors, until  # first: it knows where cadre is
import cadre


@cadre.remote_class(cpus=0.1)
class Counter:
    """Counts."""

    kind = "counter"

    def __init__(self, start=0):
        self.x = start
        self.seen = []

    def add(self, n=1, *, twice=False):
        self.x += 2 * n if twice else n
        return self.x

    def note(self, what):
        self.seen.append(what)

    def fail(self, text):
        raise ValueError(text)

    def leave(self):
        raise SystemExit(3)

    def lock(self):
        return threading.Lock()

    def sleep(self, seconds):
        time.sleep(seconds)
        return seconds

    def pid(self):
        return os.getpid()

    def echo(self, value):
        return value

    def total(self, array):
        return float(array.sum()), array.flags.writeable

    def greet(self, name):
        print(f"hello {name}")


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


class OfTheScript(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} {b}")
        self.a = a


class Calls(Scene):
    def setUp(self):
        super().setUp()
        self.counter = Counter(3)

    def tearDown(self):
        cadre.kill(self.counter)

    def test_methods_and_attributes(self):
        self.assertEqual(self.counter.add(1), 4)
        self.assertEqual(self.counter.add(2, twice=True), 8)
        self.assertEqual(self.counter.x, 8)
        self.counter.x = 20
        self.assertEqual(self.counter.add(), 21)
        self.assertEqual(self.counter.kind, "counter")
        self.counter.fresh = {"a": [1, 2]}
        self.assertEqual(self.counter.fresh, {"a": [1, 2]})
        with self.assertRaises(AttributeError):
            self.counter.nothing
        self.assertNotEqual(self.counter.pid(), os.getpid())

    def test_an_exception_comes_back_and_the_actor_lives_on(self):
        with self.assertRaises(ValueError) as raised:
            self.counter.fail("no such luck")
        error = raised.exception
        self.assertIsInstance(error, cadre.RemoteError)
        self.assertEqual(error.type_name, "builtins.ValueError")
        self.assertEqual(error.args[0], "no such luck")
        self.assertIn("raise ValueError(text)", error.traceback)
        self.assertIn("no such luck", str(error))
        with self.assertRaises(cadre.RemoteError):
            self.counter.leave()
        self.assertEqual(self.counter.x, 3)

    def test_exceptions_of_all_kinds(self):
        @cadre.remote_class(cpus=0.1)
        class Thrower:
            def open(self):
                open("/nowhere/at/all")

            def decode(self):
                b"\xff".decode()

            def own(self):
                class Own(Exception):
                    pass
                raise Own("mine")

            def of_the_script(self):
                raise OfTheScript(1, 2)

            def solve(self):
                numpy.linalg.inv(numpy.zeros((2, 2)))

        thrower = Thrower()
        with self.assertRaises(FileNotFoundError) as raised:
            thrower.open()
        self.assertIn("/nowhere/at/all", str(raised.exception))
        self.assertEqual((raised.exception.errno, raised.exception.filename), (2, "/nowhere/at/all"))
        with self.assertRaises(UnicodeDecodeError) as raised:
            thrower.decode()
        self.assertEqual(raised.exception.type_name, "builtins.UnicodeDecodeError")
        with self.assertRaises(numpy.linalg.LinAlgError):
            thrower.solve()
        with self.assertRaises(OfTheScript) as raised:
            thrower.of_the_script()
        self.assertEqual((raised.exception.a, raised.exception.type_name), (1, "__main__.OfTheScript"))
        with self.assertRaises(cadre.RemoteError) as raised:
            thrower.own()
        self.assertTrue(raised.exception.type_name.endswith("Own"))

    def test_an_exception_keeps_its_type_through_two_actors(self):
        @cadre.remote_class(cpus=0.1)
        class Inner:
            def f(self, kind, *args):
                raise kind(*args)

        @cadre.remote_class(cpus=0.1)
        class Outer:
            def __init__(self):
                self.inner = Inner()

            def f(self, *args):
                return self.inner.f(*args)

        outer = Outer()
        for kind, args, name in ((ValueError, ("1 2",), "builtins.ValueError"),
                                 (OfTheScript, (1, 2), "__main__.OfTheScript")):
            with self.assertRaises(kind) as raised:
                outer.f(kind, *args)
            self.assertEqual(raised.exception.type_name, name)
            self.assertEqual(raised.exception.args, ("1 2",))
            self.assertIn("raise kind(*args)", raised.exception.traceback)
            self.assertIn("self.inner.f(*args)", raised.exception.traceback)
        self.assertEqual(raised.exception.a, 1)

    def test_an_exception_that_cannot_be_shown(self):
        @cadre.remote_class(cpus=0.1)
        class Thrower:
            def f(self):
                class Mute(Exception):
                    def __str__(self):
                        raise RuntimeError("no")
                raise Mute()

            def half_made(self):
                class HalfMade(cadre.RemoteError):
                    def __init__(self):
                        pass
                raise HalfMade()

            def unsendable(self):
                raise cadre.RemoteError("x", threading.Lock(), "")

            def g(self):
                return "alive"

        thrower = Thrower()
        for method in (thrower.f, thrower.half_made, thrower.unsendable):
            with self.assertRaises(cadre.RemoteError):
                method.remote().get(timeout=60)
        self.assertEqual(thrower.g(), "alive")

    def test_many_small_arrays_and_long_names(self):
        arrays = [numpy.full(2000, i) for i in range(1500)] + [numpy.zeros(3)] * 1500
        back = self.counter.echo(arrays)
        self.assertTrue(all((a == b).all() for a, b in zip(arrays, back)))
        with self.assertRaises(cadre.ActorError) as raised:
            getattr(self.counter, "x" * 5000)
        self.assertEqual(raised.exception.code, "invalid")
        self.assertEqual(self.counter.add(), 4)

    def test_what_a_callback_raises_hurts_nobody(self):
        failing = self.counter.fail.remote("x")
        failing.then(lambda one: one.get())
        with self.assertRaises(ValueError):
            failing.get(timeout=60)
        called = threading.Event()
        self.counter.echo.remote(1).then(lambda one: called.set())
        self.assertTrue(called.wait(60))

    def test_arrays_stay_as_they_were_when_a_child_lets_them_go(self):
        kept = self.counter.echo(numpy.full(100_000, 7))
        pid = os.fork()
        if pid == 0:
            del kept
            os._exit(0)
        os.waitpid(pid, 0)
        for i in range(6):
            self.counter.echo(numpy.full(100_000, i))
        self.assertTrue((kept == 7).all())

    def test_waiting_can_be_interrupted(self):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            self.counter.sleep(100)
        timer.join()

    def test_a_result_that_cannot_be_sent_is_an_error_of_that_call_only(self):
        with self.assertRaises(TypeError) as raised:
            self.counter.lock()
        self.assertIn("the result of lock cannot be sent: cannot pickle '_thread.lock'", raised.exception.args[0])
        self.assertEqual(self.counter.add(), 4)

    def test_what_cannot_be_sent_is_named(self):
        lock = threading.Lock()

        @cadre.remote_class(cpus=0.1)
        class Locked:
            def f(self):
                return lock

        for call, what in ((lambda: self.counter.add(1, lock), "argument 2 of add"),
                           (lambda: self.counter.add.remote(1, twice=[lock]), "argument 'twice' of add"),
                           (lambda: setattr(self.counter, "x", lock), "the value of x"),
                           (lambda: Counter(lock), "argument 1 of Counter"),
                           (Locked, "the class "),
                           (lambda: self.counter.echo(self.counter), "argument 1 of echo")):
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertIn(what, str(raised.exception))
            self.assertIn("cannot be sent", str(raised.exception))
        self.assertEqual(self.counter.add(), 4)

    def test_a_remote_class_is_not_made_remote_again(self):
        with self.assertRaises(TypeError) as raised:
            cadre.remote_class(cpus=0.2)(Counter)
        self.assertIn("Counter.__cadre_class__", str(raised.exception))
        other = cadre.remote_class(cpus=0.2)(Counter.__cadre_class__)(5)
        self.assertEqual(other.add(), 6)

    def test_a_queue_behind_a_failing_call_gets_its_own_answers(self):
        futures = [self.counter.fail.remote(str(i)) if i % 3 == 0 else self.counter.echo.remote(i) for i in range(300)]
        for i, future in enumerate(futures):
            if i % 3 == 0:
                with self.assertRaises(ValueError) as raised:
                    future.get(timeout=60)
                self.assertEqual(raised.exception.args[0], str(i))
            else:
                self.assertEqual(future.get(timeout=60), i)

    def test_threads_each_get_their_own_answers(self):
        wrong = []

        def ask(number):
            for i in range(100):
                if number == 0:
                    try:
                        self.counter.fail(str(i))
                        wrong.append(i)
                    except ValueError as error:
                        if error.args[0] != str(i):
                            wrong.append(error)
                elif self.counter.echo((number, i)) != (number, i):
                    wrong.append((number, i))

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_pipelined_calls_run_in_order(self):
        for i in range(2000):
            self.counter.note.remote(i)
        self.assertEqual(self.counter.seen, list(range(2000)))

    def test_many_calls_go_and_are_answered_though_nobody_waits_for_them(self):
        futures = [self.counter.add.remote() for _ in range(100)]
        until(lambda: all(one.ready() for one in futures), "all are answered")

    def test_answers_do_not_wait_for_a_slow_call_behind_them(self):
        calls = [self.counter.add.remote() for _ in range(100)]
        slow = self.counter.sleep.remote(3600)
        self.assertEqual(cadre.gather(calls, timeout=60), list(range(4, 104)))
        self.assertFalse(slow.ready())

    def test_futures(self):
        slow = self.counter.sleep.remote(0.3)
        self.assertFalse(slow.ready())
        with self.assertRaises(cadre.ActorError) as raised:
            slow.get(timeout=0.01)
        self.assertEqual(raised.exception.code, "timed_out")
        called = threading.Event()
        slow.then(lambda one: called.set() if one.get() == 0.3 else None)
        self.assertTrue(called.wait(60))
        self.assertTrue(slow.ready())
        self.assertEqual(slow.get(), 0.3)
        self.assertEqual(cadre.gather([self.counter.echo.remote(i) for i in range(20)], timeout=60), list(range(20)))

    def test_a_call_that_has_not_begun_can_be_cancelled(self):
        slow = self.counter.sleep.remote(0.5)
        doomed = self.counter.add.remote(100)
        doomed.cancel()
        with self.assertRaises(cadre.CancelledError):
            doomed.get(timeout=60)
        self.assertEqual(slow.get(), 0.5)
        self.assertEqual(self.counter.x, 3)
        slow.cancel()  # too late: nothing happens
        self.assertEqual(slow.get(), 0.5)

    def test_arrays_of_all_sizes_go_both_ways(self):
        for size in (0, 1, 1000, 8191, 100_000, 3_000_001):
            array = numpy.arange(size, dtype=numpy.float64)
            back = self.counter.echo(array)
            self.assertTrue(numpy.array_equal(back, array), size)
            back += 1  # it is one's own
            total, writeable = self.counter.total(array)
            self.assertEqual(total, float(array.sum()))
            self.assertTrue(writeable)
        several = [numpy.full(50_000, i, dtype=numpy.int32) for i in range(40)]
        back = self.counter.echo({"all": several, "one": several[3]})
        self.assertTrue(all(numpy.array_equal(a, b) for a, b in zip(back["all"], several)))

    def test_arrays_that_are_kept_stay_as_they_were(self):
        kept = [self.counter.echo(numpy.full(100_000, i, dtype=numpy.int64)) for i in range(30)]
        for i, array in enumerate(kept):
            self.assertTrue((array == i).all())

    def test_objects_of_the_main_script_travel_by_value(self):
        pair = self.counter.echo(Pair(1, [2]))
        self.assertEqual((pair.a, pair.b), (1, [2]))
        self.assertEqual(self.counter.echo(lambda x: x + 1)(4), 5)

    def test_a_constructor_that_raises(self):
        @cadre.remote_class(cpus=0.1)
        class Broken:
            def __init__(self):
                raise KeyError("the key")

        with self.assertRaises(KeyError) as raised:
            Broken()
        self.assertIn("the key", raised.exception.traceback)

    def test_without_waiting_for_the_object(self):
        @cadre.remote_class(cpus=0.1, wait=False)
        class Late:
            def f(self):
                return "here"

        self.assertEqual(Late().f(), "here")

        @cadre.remote_class(cpus=0.1, wait=False)
        class Broken:
            def __init__(self):
                raise KeyError("the key")

            def f(self):
                pass

        broken = Broken()
        future = broken.f.remote()
        for call in (future.get, future.get, broken.f, lambda: broken.x, lambda: setattr(broken, "x", 1)):
            with self.assertRaises(KeyError) as raised:
                call()
            self.assertIn("the key", raised.exception.args[0])
            self.assertIn('raise KeyError("the key")', raised.exception.traceback)

    def test_a_constructor_takes_as_long_as_it_likes(self):
        @cadre.remote_class(cpus=0.1, timeout=1)
        class Slow:
            def __init__(self):
                time.sleep(2)
                self.x = 1

        waited = []
        native = cadre._native.Actor.created
        with mock.patch.object(cadre._native.Actor, "created", lambda *args: waited.append(args[1]) or native(*args)):
            self.assertEqual(Slow().x, 1)
        self.assertGreater(waited[0], 1e6)

    def test_concurrent_calls(self):
        @cadre.remote_class(cpus=0.1, concurrent=4)
        class Meeting:
            def __init__(self):
                self.barrier = threading.Barrier(4)

            def meet(self):
                return self.barrier.wait(60) >= 0

        meeting = Meeting()
        self.assertEqual(cadre.gather([meeting.meet.remote() for _ in range(4)], timeout=60), [True] * 4)

    def test_connect_twice_is_one_session_and_elsewhere_an_error(self):
        cadre.connect()
        cadre.connect(self.cluster.url)
        cadre.connect(self.cluster.url.replace("http", "cadre") + "/")
        with self.assertRaises(cadre.ActorError) as raised:
            cadre.connect("cadre://127.0.0.1:1")
        self.assertEqual(raised.exception.code, "conflict")
        self.assertIn("disconnect()", str(raised.exception))

    def test_what_cannot_be_had_is_refused_in_words(self):
        @cadre.remote_class(cpus=100_000)
        class Huge:
            pass

        with self.assertRaises(cadre.ActorError) as raised:
            Huge()
        self.assertIn("cpus", str(raised.exception))
        with self.assertRaises(ValueError):
            cadre.remote_class(memory="much")

    def test_an_actor_is_not_sent_to_another(self):
        with self.assertRaises(TypeError):
            self.counter.echo(self.counter)

    def test_it_is_listed_with_its_calls_and_its_output_can_be_read(self):
        for _ in range(5):
            self.counter.greet("you")
        with self.assertRaises(ValueError):
            self.counter.fail("x")
        job = self.counter._cadre_actor.job

        def shown():
            row = [one for one in self.actors() if one["id"] == job][0]
            return row["calls"] >= 6 and row["errors"] == 1 and row["actor"] == "Counter"

        until(shown, "its calls are shown")
        until(lambda: self.cli("actor", "logs", str(job)).count("hello you") == 5, "its output is kept")
        self.assertIn("Counter", self.cli("actor", "list"))
        self.cli("actor", "kill", str(job))
        until(lambda: "stopped" in self.answer_or_error(), "it is killed")

    def answer_or_error(self):
        try:
            return str(self.counter.add())
        except cadre.ActorError as error:
            return str(error)

    def cli(self, *arguments):
        program = os.environ["CADRE_PROGRAM"]
        return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


class Slots(Scene):
    def test_an_actor_may_have_several(self):
        @cadre.remote_class(cpus=0.1, slots=3)
        class Wide(Counter.__cadre_class__):
            def slots(self):
                return os.environ["CADRE_SLOTS"]

        self.assertEqual(len(Wide().slots().split(",")), 3)


class Travel(Scene):
    """A program in a folder of its own, with files beside it."""

    def run_script(self, files, script):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**files, "main.py": script}.items():
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if not name.endswith("/"):
                    path.write_text(textwrap.dedent(text))
                else:
                    path.mkdir(exist_ok=True)
            done = subprocess.run([sys.executable, folder + "/main.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_modules_beside_the_main_script_and_files_go_along(self):
        said = self.run_script({
            "helper.py": "def twice(x):\n    return 2 * x\n",
            "worker.py": """
                import cadre, os, helper
                @cadre.remote_class(cpus=0.1, files=["data/*.txt", "deep", "hollow"])
                class Worker:
                    def f(self, x):
                        return helper.twice(x)
                    def files(self):
                        return open("data/a.txt").read(), open("deep/er/b.txt").read(), os.listdir("hollow")
                """,
            "data/a.txt": "content of a",
            "deep/er/b.txt": "content of b",
            "hollow/": "",
        }, """
            import cadre, worker
            cadre.connect()
            w = worker.Worker()
            print(w.f(21), w.files())
            """)
        self.assertEqual(said.strip(), "42 ('content of a', 'content of b', [])")

    def test_a_file_that_is_not_there_is_an_error_with_its_name(self):
        said = self.run_script({}, """
            import cadre
            cadre.connect()
            @cadre.remote_class(files=["missing.txt"])
            class A: pass
            try:
                A()
            except FileNotFoundError as error:
                print(error)
            """)
        self.assertIn("missing.txt", said)

    def test_a_module_that_did_not_come_along_is_named_with_what_to_do(self):
        said = self.run_script({"far/__init__.py": "", "far/away.py": "def f(): pass\n"}, """
            import cadre
            from far import away
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self, what=None):
                    away.f()
            @cadre.remote_class(cpus=0.1)
            class B:
                def f(self, what): pass
            for call in (A, lambda: B().f(away.f)):
                try:
                    call()
                except ModuleNotFoundError as error:
                    print(error.name, error.args[0])
            """)
        self.assertEqual(said.count("far No module named 'far'; the actor does not have it"), 2)
        self.assertEqual(said.count("files=['far']"), 2)

    def test_leaving_while_an_actor_is_made(self):
        said = self.run_script({}, """
            import cadre, threading, time
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def __init__(self): time.sleep(1000)
            def make():
                try:
                    A()
                except cadre.ActorError as error:
                    print(error, flush=True)
            threads = [threading.Thread(target=make) for _ in range(4)]
            for one in threads: one.start()
            def refuse(): raise cadre.ActorError("unavailable", "too late")
            time.sleep(0.01)
            cadre.remote.connect = refuse  # else one that comes later opens a new session
            cadre.disconnect()
            for one in threads: one.join(60)
            print("left", [one.is_alive() for one in threads])
            """)
        self.assertIn("left [False, False, False, False]", said)

    def test_actors_make_actors(self):
        said = self.run_script({}, """
            import cadre
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Leaf:
                def f(self, x):
                    return x + 1
            @cadre.remote_class(cpus=0.1)
            class Root:
                def f(self, x):
                    leaves = [Leaf() for _ in range(2)]
                    return sum(leaf.f(x) for leaf in leaves)
            print(Root().f(10))
            """)
        self.assertEqual(said.strip(), "22")

    def test_what_came_along_with_an_actor_goes_along_with_those_that_it_makes(self):
        said = self.run_script({
            "helper.py": "def twice(x):\n    return 2 * x\n",
            "leaf.py": """
                import cadre, helper
                @cadre.remote_class(cpus=0.1, files=["data.txt"])
                class Leaf:
                    def f(self, x):
                        return helper.twice(x), open("data.txt").read(), open("deep/er.txt").read()
                """,
            "data.txt": "data",
            "deep/er.txt": "deeper",
        }, """
            import cadre, helper, os
            from leaf import Leaf
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Local:
                def f(self, x):
                    return helper.twice(x), os.path.exists("deep"), os.path.exists("own.txt")
            @cadre.remote_class(cpus=0.1, files=["deep", "data.txt"])
            class Root:
                def f(self, x):
                    open("own.txt", "w").close()
                    os.chdir("/")
                    return Leaf().f(x), Local().f(x)
            print(Root().f(10))
            """)
        self.assertEqual(said.strip(), "((20, 'data', 'deeper'), (20, True, False))")

    def test_a_child_process_has_a_session_of_its_own(self):
        said = self.run_script({}, """
            import cadre, os, sys
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self):
                    return "fine"
            mine = A()
            pid = os.fork()
            if pid == 0:
                cadre.connect()
                print("child", A().f(), flush=True)
                cadre.disconnect()
                os._exit(0)
            print("waited", os.waitpid(pid, 0)[1], flush=True)
            print("parent", mine.f(), flush=True)
            """)
        self.assertEqual(said.split("\n")[:3], ["child fine", "waited 0", "parent fine"])

    def test_a_child_process_that_ends_leaves_its_parents_actors_alone(self):
        said = self.run_script({}, """
            import cadre, os, sys
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self):
                    return "fine"
            mine = A()
            pid = os.fork()
            if pid == 0:
                try:
                    mine.f()
                except cadre.ActorError as error:
                    print(error.code, flush=True)
                del mine
                sys.exit(0)
            print("waited", os.waitpid(pid, 0)[1], flush=True)
            print("parent", mine.f(), flush=True)
            """)
        self.assertEqual(said.split("\n")[:3], ["conflict", "waited 0", "parent fine"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
