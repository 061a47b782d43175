"""Components in Python, in one process, in several, and with a peer that is killed."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import cadre


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

    def test_what_cannot_be_sent_is_said_with_its_place(self):
        a = self.make("a", "a")
        loop = []
        loop.append(loop)
        for value, error, words in ((object(), TypeError, "the value is a object"), ({"x": [1, {2}]}, TypeError, "the value.x[1] is a set"),
                                    ({1: 2}, TypeError, "key"), (2**70, ValueError, "64 bits"), (loop, ValueError, "nested")):
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

    def test_a_class_is_reached_by_messages_and_stays_what_it_is(self):
        server, worker = self.make("learner", "l", {"worker": 1}), self.make("worker", "w", {"learner": 1})

        def on_learn(learner, component, message):
            component.reply(message, learner.learn(message.value))

        def on_fail(learner, component, message):
            raise RuntimeError("no idea")

        seen = []

        def on_two(learner, component, messages):
            seen.append([one.value for one in messages])

        table = {"learn": on_learn, "fail": on_fail, "stop": lambda l, c, m: c.stop(), "worker:update:2": on_two}
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

    def test_many_are_asked_at_once(self):
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
c.on("hang", lambda m: None)
c.join()
c.launch()
"""


class Processes(unittest.TestCase):
    def test_a_process_is_asked_and_missed_when_it_is_killed(self):
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
