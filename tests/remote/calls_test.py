"""Remote classes in Python: calls, attributes, errors, futures, order, arrays."""
import os
import signal
import subprocess
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

    def test_exceptions_of_callbacks_are_contained(self):
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

    def test_errors_name_unsendable_values(self):
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

    def test_many_calls_complete_without_waiting(self):
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

    def test_impossible_requests_are_refused_with_a_reason(self):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
