"""Components in Python, in one process, in several, and with a peer that is killed."""
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import cadre
import numpy


def together(*components):
    """Joins all at once, as processes would."""
    threads = [threading.Thread(target=one.join) for one in components]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


class Learner:
    """A plain class."""

    def __init__(self, start):
        self.learned = start

    def learn(self, amount):
        self.learned += amount
        return self.learned


class Components(unittest.TestCase):
    def make(self, type, name, peers=None, **more):
        return cadre.Component("g", type, name, peers=peers, names=f"memory://{self.id()}", **more)

    def test_values_survive_the_way(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        together(a, b)
        value = {"none": None, "yes": True, "int": -5, "large": 2**64 - 1, "float": 1.5, "text": "größe", "bytes": b"\x00\xff",
                 "list": [1, [2, {"x": []}]]}
        a.send("b", "plain", value, session=3)
        a.send("b", "raw", body=b"\x00raw")
        a.send("b", "empty")
        plain, raw, empty = b.receive(), b.receive(), b.receive()
        self.assertEqual(plain.value, value)
        self.assertEqual((plain.tag, plain.source, plain.source_type, plain.destination, plain.session, plain.is_task),
                         ("plain", "a", "a", "b", 3, False))
        self.assertEqual(raw.body, b"\x00raw")
        self.assertEqual(empty.body, b"")
        with self.assertRaises(ValueError):
            empty.value

    def test_unsendable_values_are_reported_with_their_position(self):
        a = self.make("a", "a")
        loop = []
        loop.append(loop)
        for value, error, words in ((object(), TypeError, "the value is a object"),
                                    ({"x": [1, object()]}, TypeError, "the value.x[1] is a object"),
                                    ({1: {(2, 3): object()}}, TypeError, "the value[1][(2, 3)] is a object"),
                                    (2**70, ValueError, "64 bits"), (loop, ValueError, "nested"),
                                    ("\udc80", ValueError, "not Unicode"),
                                    (numpy.array([object()]), TypeError, "the value is a numpy array of objects, which cannot be"),
                                    ([numpy.zeros(2, "i4,f8")], TypeError, "the value[0] is a numpy array of records"),
                                    (numpy.zeros(2, numpy.longdouble), TypeError, "convert it first")):
            with self.assertRaises(error) as said:
                a.send("b", "x", value)
            self.assertIn(words, str(said.exception))
        with self.assertRaises(TypeError):
            a.send("b", "x", 1, body=b"")
        with self.assertRaises(TypeError) as said:
            a.send("b", "x", body=3)
        self.assertEqual(str(said.exception), "body is 3, but must be bytes")
        with self.assertRaises(ValueError):
            self.make("a", "c", overflow="sometimes")

    def test_arrays_sets_and_dicts_of_any_key_survive_the_way(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        together(a, b)
        dtypes = ("?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "<M8[ns]", "<m8[s]",
                  "S3", "<U2")
        arrays = [numpy.arange(12).astype(dtype).reshape(3, 4) for dtype in dtypes]
        arrays += [numpy.arange(6, dtype=">f4"), numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)), numpy.arange(20)[::3],
                   numpy.zeros((0, 3)), numpy.array(2.5), numpy.random.default_rng(1).random((300, 200))]
        a.send("b", "arrays", arrays)
        got = b.receive().value
        self.assertEqual(len(got), len(arrays))
        for sent, came in zip(arrays, got):
            self.assertIsInstance(came, numpy.ndarray)
            self.assertEqual((came.shape, came.dtype.kind, came.dtype.itemsize), (sent.shape, sent.dtype.kind, sent.dtype.itemsize))
            numpy.testing.assert_array_equal(came, sent)
            self.assertTrue(came.flags.writeable and came.flags.aligned)
        values = [{1: "a", -2.5: "b", (1, ("x", 2)): [1], None: 2, b"k": 3, frozenset({4}): 5, "t": 6}, {1, "x", (2, 3)}, set(), {},
                  numpy.float32(1.5), numpy.int64(-7), numpy.uint64(2**64 - 1), numpy.bool_(True), numpy.float64(0.1), 1 + 2j,
                  numpy.datetime64("2026-01-02"), numpy.str_("s"), bytearray(b"ab"), memoryview(b"cd")]
        for value in values:
            a.send("b", "value", value)
            came = b.receive().value
            self.assertEqual(came, value)
        a.send("b", "value", (1, (2, frozenset({3}))))
        self.assertEqual(b.receive().value, [1, [2, {3}]])
        a.send("b", "value", [numpy.int32(3), numpy.float16(0.5)])
        self.assertEqual([type(one) for one in b.receive().value], [int, float])

    def test_a_large_array_is_looked_at_where_it_arrived(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        together(a, b)
        for tag in ("x", "xy", "a longer tag of odd length"):
            a.send("b", tag, {"small": numpy.arange(3), "large": numpy.arange(1_000_000)})
            message = b.receive()
            large = message.value["large"]
            self.assertIs(message.value["large"], large)
            self.assertFalse(large.flags.owndata)
            self.assertTrue(large.flags.aligned)
            del message
            self.assertEqual(large.sum(), 499_999_500_000)
            large += 1

    def test_values_that_are_none_are_refused(self):
        for bytes in (b"\xc7\x00\x01", b"\xc7\x03\x01\x03<f8", b"\xc7\x05\x01\x03<O8\x00", b"\xd4\x05\x00", b"\xd4\x03\xc0",
                      b"\xc7\x03\x03\x91\x80\x00", b"\xc7\x0d\x01\x03<f8\x01" + b"\xff" * 8,
                      b"\xc7\x15\x01\x03<f8\x02" + b"\xff" * 7 + b"\x7f" + b"\x01" + b"\x00" * 7, b"\x82\x01\x02\x01\x03", b"\xdd\xff\xff\xff\xff"):
            with self.assertRaises(ValueError, msg=bytes):
                cadre._native.unpack(bytes)

    def test_the_return_value_of_a_handler_is_the_reply(self):
        server, worker = self.make("learner", "l", {"worker": 1}), self.make("worker", "w", {"learner": 1})
        kept = []

        def on_answered(message):
            server.reply(message, "by itself")
            return "not this"

        server.on("double", lambda message: 2 * message.value)
        server.on("nothing", lambda message: None)
        server.on("array", lambda message: numpy.arange(message.value), concurrent=True)
        server.on("unsendable", lambda message: object())
        server.on("answered", on_answered)
        server.on("keep", kept.append)
        server.on("kept", lambda message: server.reply(kept.pop(), "later"))
        server.on("stop", lambda message: server.stop())
        together(server, worker)
        serving = threading.Thread(target=server.launch)
        serving.start()
        self.assertEqual(worker.request("l", "double", 21).value, 42)
        self.assertIsNone(worker.request("l", "nothing").value)
        self.assertEqual(worker.request("l", "array", 3).value.tolist(), [0, 1, 2])
        with self.assertRaises(cadre.ComponentError) as refused:
            worker.request("l", "unsendable")
        self.assertIn("the result is a object", str(refused.exception))
        self.assertEqual(worker.request("l", "answered").value, "by itself")
        future = worker.request_async("l", "keep")
        self.assertIsNone(worker.request("l", "kept").value)
        self.assertEqual(future.get(60).value, "later")
        worker.send("l", "double", 1)
        worker.send("l", "stop")
        serving.join()
        self.assertEqual(server.counters()["handler_failures"], 0)

    def test_an_event_handler_replies_to_all_requests(self):
        server = self.make("learner", "l", {"worker": 2})
        workers = [self.make("worker", f"w{i}", {"learner": 1}) for i in range(2)]
        fired = []

        def on_all(messages):
            fired.append(sorted(message.source for message in messages))
            return len(fired)

        server.when("worker:sync:5", on_all)
        server.when("worker:stop:1", lambda messages: server.stop())
        together(server, *workers)
        serving = threading.Thread(target=server.launch)
        serving.start()
        for i in range(3):
            answers = [one.request_async("l", "sync") for one in workers]
            self.assertEqual([one.get(60).value for one in answers], [i + 1, i + 1])
        workers[0].send("l", "stop")
        serving.join()
        self.assertEqual(fired, [["w0", "w1"]] * 3, "5 of 2 workers are all of them")

    def test_a_reply_may_have_a_tag(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        together(a, b)
        for tag, expected in (("", "ask"), ("done", "done")):
            future = a.request_async("b", "ask")
            b.reply(b.receive(), 1, tag=tag)
            self.assertEqual((future.get(60).tag, future.get(60).value), (expected, 1))

    def test_futures(self):
        a = self.make("a", "a", {"b": 2})
        others = [self.make("b", f"b{i}", {"a": 1}) for i in range(2)]
        together(a, *others)
        asked = a.request_async("b0", "x", 1)
        self.assertFalse(asked.ready())
        with self.assertRaises(TimeoutError) as late:
            asked.get(timeout=0.01)
        self.assertEqual(late.exception.code, "timed_out")
        scattered = a.scatter_async([("b0", "x", 2), ("nobody", "x", 3), ("b1", "x", 4)])
        broadcast = a.broadcast_async("b", "x", 5)
        sent = a.send_async("b1", "note", 6)
        self.assertIsInstance(sent.get(timeout=None), int)
        done = threading.Event()
        self.assertIs(broadcast.then(lambda future: done.set() if future is broadcast else None), broadcast)

        async def wait():
            return await asked, await scattered

        for one, count in zip(others, (3, 3)):
            for _ in range(count):
                task = one.receive()
                if task.is_task:
                    one.reply(task, [one.name, task.value])
        answer, replies = asyncio.run(wait())
        self.assertEqual(answer.value, ["b0", 1])
        self.assertEqual([reply.message and reply.message.value for reply in replies], [["b0", 2], None, ["b1", 4]])
        self.assertEqual(replies[1].error.code, "not_found")
        self.assertTrue(done.wait(60))
        self.assertEqual([reply.message.value for reply in broadcast.get()], [["b0", 5], ["b1", 5]])
        cancelled = a.request_async("b0", "x", 7)
        cancelled.cancel()
        with self.assertRaises(cadre.ComponentError) as conflict:
            cancelled.get()
        self.assertEqual(conflict.exception.code, "conflict")
        with self.assertRaises(cadre.ComponentError):
            a.send_async("nobody", "x").get(60)
        open_end = a.request_async("b0", "x", timeout=None)
        a.close()
        with self.assertRaises(cadre.ComponentError):
            open_end.get(60)

    def test_broadcasts_without_waiting_take_the_arguments_of_those_that_wait(self):
        a = self.make("a", "a", {"b": 2})
        others = [self.make("b", f"b{i}", {"a": 1}) for i in range(2)]
        together(a, *others)
        future = a.broadcast_async("b", "raw", body=b"\x00 raw", timeout=60)
        for one in others:
            task = one.receive()
            self.assertEqual(bytes(task.body), b"\x00 raw")
            one.reply(task, body=bytes(task.body) + one.name.encode())
        self.assertEqual([bytes(reply.message.body) for reply in future.get(60)], [b"\x00 rawb0", b"\x00 rawb1"])
        for call in (a.broadcast, a.broadcast_async):
            with self.assertRaisesRegex(TypeError, "either a value or a body"):
                call("b", "raw", 1, body=b"x")

    def test_several_futures_are_waited_for_together(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        together(a, b)
        asked = [a.request_async("b", "x", i) for i in range(3)]
        self.assertEqual(cadre.wait(asked, 1, timeout=0.05), ([], asked))
        with self.assertRaises(cadre.ComponentTimeoutError) as late:
            cadre.gather(asked, timeout=0.05)
        self.assertRegex(str(late.exception), r"^the future was not ready after 0\.0\d{1,2} s$")
        tasks = [b.receive() for _ in asked]
        b.reply(tasks[1], "one")
        self.assertEqual(cadre.wait(asked, 1, timeout=60), ([asked[1]], [asked[0], asked[2]]))
        self.assertEqual(cadre.wait(asked, 1), ([asked[1]], [asked[0], asked[2]]), "one is ready already")
        b.reply(tasks[0], "zero")
        b.reply(tasks[2], "two")
        self.assertEqual(cadre.wait(asked), (asked, []))
        self.assertEqual([one.value for one in cadre.gather(asked)], ["zero", "one", "two"])
        with self.assertRaisesRegex(ValueError, "from 0 to 3"):
            cadre.wait(asked, 4)
        with self.assertRaises(cadre.ComponentError) as refused:
            cadre.gather([asked[0], a.request_async("nobody", "x")])
        self.assertEqual(refused.exception.code, "not_found")

    def test_none_is_no_deadline(self):
        a, b = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1})
        joining = threading.Thread(target=a.join, args=(None,))
        joining.start()
        b.join(None)
        joining.join()

        def answer():
            time.sleep(0.2)
            b.reply(b.receive(timeout=None), "late")

        answering = threading.Thread(target=answer)
        answering.start()
        self.assertEqual(a.request("b", "x", timeout=None).value, "late")
        answering.join()
        a.send("b", "x", timeout=None)
        self.assertEqual(a.scatter([], timeout=None), [])
        b.receive()
        self.assertEqual(a.close(linger=None), [])

    def test_a_program_may_end_while_its_threads_wait_and_handlers_run(self):
        program = """
import cadre, threading, time
def endless(message):
    running.set()
    while True: time.sleep(0.01)
class Last:  # goes when the interpreter has ended for all other threads
    def __del__(self, sleep=time.sleep): sleep(0.5)
last, running = Last(), threading.Event()
a = cadre.Component("g", "a", "a", peers={"b": 1}, names="memory://x")
b = cadre.Component("g", "b", "b", peers={"a": 1}, names="memory://x")
joining = threading.Thread(target=b.join)
joining.start()
a.join(), joining.join()
b.on("work", endless)
def receive():
    while True:
        try: a.receive(timeout=0.01)
        except cadre.ComponentError: pass
for one in (b.launch, receive): threading.Thread(target=one, daemon=True).start()
a.send("b", "work")
running.wait()
"""
        done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_message_is_forwarded(self):
        a, b, c = self.make("a", "a", {"b": 1}), self.make("b", "b", {"a": 1, "c": 1}), self.make("c", "c", {"b": 1})
        together(a, b, c)
        a.send("b", "note", {"x": numpy.arange(3)}, session=7)
        b.forward(b.receive(), "c")
        came = c.receive()
        self.assertEqual((came.tag, came.source, came.session, came.is_task), ("note", "b", 7, False))
        self.assertEqual(came.value["x"].tolist(), [0, 1, 2])

    def test_a_sender_fails_or_drops_the_oldest_when_there_is_no_room(self):
        for overflow in ("fail", "drop_oldest"):
            a = cadre.Component("g", "a", "a", peers={"b": 1}, names=f"memory://{self.id()}{overflow}", overflow=overflow, queue_max=100)
            b = cadre.Component("g", "b", "b", peers={"a": 1}, names=f"memory://{self.id()}{overflow}")
            together(a, b)
            sent, refused = 0, None
            while sent < 20_000 and refused is None:
                try:
                    a.send("b", "x", sent)
                    sent += 1
                except cadre.ComponentError as error:
                    refused = error
            dropped = a.counters()["dropped"]
            if overflow == "fail":
                self.assertEqual((refused.code, dropped), ("unavailable", 0))
            else:
                self.assertEqual((refused, sent), (None, 20_000))
                self.assertGreater(dropped, 0)
            came = [b.receive().value for _ in range(sent - dropped)]
            self.assertEqual((came, came[-1]), (sorted(came), sent - 1))
            if overflow == "fail":
                self.assertEqual(came[0], 0)
            with self.assertRaises(TimeoutError):
                b.receive(timeout=0.1)

    def test_an_event_in_the_form_of_another_framework_gets_a_hint(self):
        a = self.make("a", "a")
        for event, words in ((("worker:update:5", "tester:done:1", "AND"), "write 'worker:update:5 AND tester:done:1'"),
                             (("OR", "a:b:1", ("c:d:1", "e:f:1", "&&")), "write 'a:b:1 OR (c:d:1 AND e:f:1)'"),
                             (("worker", "update", 5), "write 'worker:update:5'"), (7, "'worker:update:60%'")):
            with self.assertRaises(TypeError) as hint:
                a.when(event, print)
            self.assertIn(words, str(hint.exception))
            with self.assertRaises(TypeError):
                cadre.dist(a, {event: print})(Learner)(1)
        for event in ("AND(worker:update:5, tester:done:1)", "&& worker:update:5 tester:done:1"):
            with self.assertRaises(cadre.ComponentError) as hint:
                a.when(event, print)
            self.assertIn("write the operator between two terms", str(hint.exception))

    def test_errors_have_a_code(self):
        a = self.make("a", "a")
        with self.assertRaises(cadre.ComponentError) as early:
            a.send("b", "x")
        self.assertEqual(early.exception.code, "conflict")
        a.join()
        with self.assertRaises(cadre.ComponentError) as nobody:
            a.request("b", "x")
        self.assertEqual(nobody.exception.code, "not_found")
        with self.assertRaises(cadre.ComponentError) as late:
            a.receive(timeout=0.01)
        self.assertEqual(late.exception.code, "timed_out")
        with self.assertRaises(cadre.ComponentError) as alone:
            self.make("c", "c", {"d": 2}).join(timeout=0.2)
        self.assertIn("2 of 2 d", str(alone.exception))

    def test_a_class_receives_messages_and_keeps_its_members(self):
        server, worker = self.make("learner", "l", {"worker": 1}), self.make("worker", "w", {"learner": 1})

        def on_learn(learner, component, message):
            component.reply(message, learner.learn(message.value))

        def on_fail(learner, component, message):
            raise RuntimeError("no idea")

        seen = []

        def on_two(learner, component, messages):
            seen.append([one.value for one in messages])

        table = {"learn": on_learn, "fail": on_fail, "stop": lambda l, c, m: c.stop(), "worker:update:2:total": on_two}
        Distributed = cadre.dist(server, table)(Learner)
        node = Distributed(1)
        self.assertIsInstance(node, Learner)
        self.assertEqual(Distributed.__name__, "Learner")
        self.assertEqual(node.learn(1), 2)
        together(server, worker)
        serving = threading.Thread(target=node.launch)
        serving.start()
        self.assertEqual(worker.request("l", "learn", 40).value, 42)
        with self.assertRaises(cadre.ComponentError) as refused:
            worker.request("l", "fail")
        self.assertEqual(refused.exception.code, "refused")
        self.assertIn("no idea", str(refused.exception))
        for i in range(5):
            worker.send("l", "update", i)
        worker.send("l", "stop")
        serving.join()
        self.assertEqual(seen, [[0, 1], [2, 3]])
        self.assertEqual(node.learned, 42)

    def test_concurrent_handlers_run_at_once_and_launch_waits_for_them(self):
        server, worker = self.make("learner", "l", {"worker": 1}), self.make("worker", "w", {"learner": 1})
        meeting = threading.Barrier(3)
        may_end = threading.Event()
        ended = []

        def on_meet(learner, component, message):
            meeting.wait(60)
            if message.is_task:
                component.reply(message, learner.learned)

        def on_fail(learner, component, message):
            raise RuntimeError("no idea")

        def on_linger(learner, component, message):
            component.stop()
            may_end.wait(60)
            ended.append(message.tag)

        table = {"meet": cadre.concurrent(on_meet), "meet alone": on_meet, "fail": cadre.concurrent(on_fail),
                 "linger": cadre.concurrent(on_linger)}
        node = cadre.dist(server, table)(Learner)(7)
        together(server, worker)
        serving = threading.Thread(target=node.launch)
        serving.start()
        worker.send("l", "meet")
        worker.send("l", "meet")
        self.assertEqual(worker.request("l", "meet alone").value, 7)
        with self.assertRaises(cadre.ComponentError) as refused:
            worker.request("l", "fail")
        self.assertIn("no idea", str(refused.exception))
        worker.send("l", "linger")
        self.assertEqual(ended, [])
        may_end.set()
        serving.join()
        self.assertEqual(ended, ["linger"])
        with self.assertRaises(TypeError):
            cadre.dist(server, {"worker:update:2": cadre.concurrent(on_meet)})(Learner)(1)

    def test_a_bad_event_is_said_with_its_column(self):
        with self.assertRaises(cadre.ComponentError) as bad:
            self.make("a", "a").when("worker:update AND", print)
        self.assertIn("column", str(bad.exception))

    def test_requests_to_many_peers_run_concurrently(self):
        a = self.make("a", "a", {"b": 3})
        others = [self.make("b", f"b{i}", {"a": 1}) for i in range(3)]
        together(a, *others)

        def serve(one):
            for _ in range(2):
                task = one.receive()
                one.reply(task, [one.name, task.value])

        threads = [threading.Thread(target=serve, args=(one,)) for one in others]
        for one in threads:
            one.start()
        self.assertEqual([(r.peer, r.message.value) for r in a.broadcast("b", "x", 1)],
                         [(f"b{i}", [f"b{i}", 1]) for i in range(3)])
        replies = a.scatter([("b2", "x", 2), ("nobody", "x", 3), ("b0", "x", 4), ("b1", "x", 5)])
        self.assertEqual([r.message and r.message.value for r in replies], [["b2", 2], None, ["b0", 4], ["b1", 5]])
        self.assertEqual(replies[1].error.code, "not_found")
        for one in threads:
            one.join()


CHILD = """
import sys, cadre
c = cadre.Component("g", "child", "child", peers={"parent": 1}, names=sys.argv[1])
c.on("double", lambda m: c.reply(m, 2 * m.value))
held = []
c.on("hang", held.append)
c.join()
c.launch()
"""


class Processes(unittest.TestCase):
    def test_detects_a_killed_peer(self):
        with tempfile.TemporaryDirectory() as folder:
            names = f"file://{folder}"
            child = subprocess.Popen([sys.executable, "-c", CHILD, names])
            lost = threading.Event()
            parent = cadre.Component("g", "parent", "parent", peers={"child": 1}, names=names)
            parent.on_peer_down(lambda peer, why, ids: lost.set())
            parent.join()
            self.assertEqual([parent.request("child", "double", i).value for i in range(50)], [2 * i for i in range(50)])
            threading.Timer(0.1, os.kill, (child.pid, signal.SIGKILL)).start()
            with self.assertRaises(cadre.ComponentError) as gone:
                parent.request("child", "hang", timeout=60)
            self.assertEqual(gone.exception.code, "unavailable")
            self.assertTrue(lost.wait(60))
            child.wait()
            self.assertEqual(parent.close(), [])


class Examples(unittest.TestCase):
    def start(self, name, *arguments):
        path = os.path.join(os.environ["CADRE_EXAMPLES"], "components", name)
        return subprocess.Popen([sys.executable, path, *arguments], stdout=subprocess.PIPE, text=True)

    def test_two_greet_each_other(self):
        with tempfile.TemporaryDirectory() as folder:
            worker, greeter = (self.start("hello.py", role, f"file://{folder}") for role in ("worker", "greeter"))
            self.assertEqual(worker.communicate(timeout=60)[0], "hello worker, you are number 1\n")
            self.assertEqual(greeter.communicate(timeout=60)[0], "greeted 1\n")
            self.assertEqual((worker.returncode, greeter.returncode), (0, 0))

    def test_a_parameter_server_fits_its_model(self):
        server = self.start("parameter_server.py", "3")
        fitted, true = (line.split()[1:] for line in server.communicate(timeout=90)[0].splitlines())
        self.assertEqual(server.returncode, 0)
        for a, b in zip(fitted, true):
            self.assertAlmostEqual(float(a), float(b), places=1)


if __name__ == "__main__":
    unittest.main()
