"""What becomes of calls: timeouts, futures with asyncio, waiting for some of many, calls that return futures."""
import asyncio
import concurrent.futures
import json
import os
import threading
import time
import unittest

from scene import Scene, until  # first: it knows where cadre is
import cadre


class Plain:
    """Its attributes may have the names of its methods."""

    def __init__(self, state=0):
        self.state = state

    def wait(self, seconds):
        time.sleep(seconds)
        return seconds

    def echo(self, value):
        return value

    def fail(self):
        raise KeyError("no")

    def hide(self, name, value):
        setattr(self, name, value)

    def show(self, name):
        delattr(self, name)

    def step(self, n):
        return n + 1


Actor = cadre.remote_class(cpus=0.1)(Plain)
Async = cadre.remote_class(cpus=0.1, futures=True)(Plain)


class Futures(Scene):
    def setUp(self):
        super().setUp()
        self.actor = Actor()

    def tearDown(self):
        cadre.kill(self.actor)

    def test_a_timeout_is_a_timeout_error(self):
        slow = self.actor.wait.remote(1000)
        for kind in (TimeoutError, concurrent.futures.TimeoutError, cadre.ActorError, cadre.ActorTimeoutError):
            with self.assertRaises(kind) as raised:
                slow.get(timeout=0.01)
            self.assertEqual((raised.exception.code, str(raised.exception)), ("timed_out", "no response in time"))
        with self.assertRaises(TimeoutError):
            cadre.gather([slow], timeout=0.01)
        self.assertIsNone(raised.exception.errno)

    def test_none_is_no_timeout(self):
        self.assertEqual(self.actor.echo.remote(1).get(timeout=None), 1)
        self.assertEqual(cadre.gather([self.actor.echo.remote(2)], None), [2])

    def test_futures_can_be_awaited(self):
        async def main():
            one = await self.actor.echo.remote(1)
            many = await asyncio.gather(*(self.wrapped(self.actor.echo.remote(i)) for i in range(100)))
            there = self.actor.echo.remote(3)
            there.get()
            with self.assertRaises(KeyError):
                await self.actor.fail.remote()
            return one, many, await there

        self.assertEqual(asyncio.run(main()), (1, list(range(100)), 3))

    @staticmethod
    async def wrapped(future):
        return await future

    def test_the_loop_goes_on_while_a_future_is_awaited(self):
        async def main():
            slow = asyncio.ensure_future(self.wrapped(self.actor.wait.remote(0.5)))
            turns = 0
            while not slow.done():
                await asyncio.sleep(0.01)
                turns += 1
            return turns

        self.assertGreater(asyncio.run(main()), 3)

    def test_a_task_that_is_cancelled_cancels_its_call(self):
        async def main():
            blocker = self.actor.wait.remote(0.5)
            doomed = self.actor.hide.remote("state", "changed")
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(doomed, 0.05)
            await blocker
            return doomed

        with self.assertRaises(cadre.CancelledError):
            asyncio.run(main()).get(timeout=60)
        self.assertEqual(self.actor.state, 0)

    def test_waits_for_some_of_many(self):
        others = [Actor() for _ in range(2)]
        quick = [one.echo.remote(1) for one in others]
        slow = [self.actor.wait.remote(1000)]
        every = [quick[0], *slow, quick[1]]
        self.assertEqual(cadre.wait(every, 2, timeout=60), (quick, slow))
        self.assertEqual(cadre.wait(every, timeout=0.05), (quick, slow))
        self.assertEqual(cadre.wait(every, 0), (quick, slow))
        self.assertEqual(cadre.wait([], timeout=0.01), ([], []))
        self.assertEqual(cadre.wait(quick), (quick, []))
        for count in (-1, 4):
            with self.assertRaisesRegex(ValueError, "from 0 to 3"):
                cadre.wait(every, count)

    def test_waits_for_calls_and_messages_together(self):
        names = f"memory://{self.id()}"
        with cadre.Component("g", "a", "a", names=names) as a, \
                cadre.Component("g", "b", "b", peers={"a": 1}, names=names) as b:
            until(lambda: a.peers("b"), "both see each other")
            slow, message = self.actor.wait.remote(1000), a.request_async("b", "x")
            every = [slow, message, Actor().echo.remote(2)]
            self.assertEqual(cadre.wait(every, 1, timeout=60), (every[2:], every[:2]))
            b.reply(b.receive(), 1)
            self.assertEqual(cadre.wait(every, 2, timeout=60), (every[1:], every[:1]))
            self.assertEqual(cadre.wait(every, timeout=0.05), (every[1:], every[:1]))
            first, second = cadre.gather(every[1:], timeout=60)
            self.assertEqual((first.value, second), (1, 2))

    def test_waits_for_one_after_another_until_all_are_there(self):
        others = [Actor() for _ in range(3)]
        left = [one.echo.remote(i) for i in range(200) for one in others]
        seen = 0
        while left:
            ready, left = cadre.wait(left, 1, timeout=60)
            self.assertGreater(len(ready), 0)
            seen += len(ready)
        self.assertEqual(seen, 600)

    def test_waiting_sees_a_call_that_fails_and_an_actor_that_dies(self):
        failing = self.actor.fail.remote()
        self.assertEqual(cadre.wait([failing], 1, 60), ([failing], []))
        slow = self.actor.wait.remote(1000)
        threading.Timer(0.2, lambda: cadre.kill(self.actor)).start()
        self.assertEqual(cadre.wait([slow], 1, 60), ([slow], []))
        with self.assertRaises(cadre.ActorError):
            slow.get()

    def test_calls_of_a_class_with_futures_return_futures(self):
        actor = Async()
        blocker = actor.wait(0.3)
        behind = actor.echo(5)
        self.assertIsInstance(behind, cadre.Future)
        self.assertEqual(cadre.gather([blocker, behind, actor.step.remote(1)], timeout=60), [0.3, 5, 2])
        self.assertEqual(actor.state, 0, "attributes are read as ever")


class Attributes(Scene):
    def test_an_attribute_that_hides_a_method_is_the_attribute(self):
        @cadre.remote_class(cpus=0.1)
        class Hidden(Plain):
            def __init__(self):
                self.step = 7

        hidden = Hidden()
        self.assertEqual(hidden.step, 7)
        actor = Actor()
        self.assertEqual(actor.step(1), 2)
        actor.hide("step", 5)
        self.assertEqual((actor.step, actor.echo(1)), (5, 1))
        actor.step = 6
        self.assertEqual(actor.step, 6)
        actor.show("step")
        self.assertEqual(actor.step(1), 2)

    def test_an_attribute_hides_a_method_before_the_constructor_has_ended_too(self):
        class Slow(Plain):
            def __init__(self, seconds, error=None):
                time.sleep(seconds)
                if error:
                    raise error
                self.step = 7

        Hidden = cadre.remote_class(cpus=0.1, wait=False)(Slow)
        self.assertEqual(Hidden(0.5).step, 7)
        began = time.monotonic()
        hidden = Hidden(1000)
        future = hidden.echo.remote(1)
        self.assertLess(time.monotonic() - began, 100, "what it does not hide is called without waiting")
        self.assertFalse(future.ready())
        cadre.kill(hidden)
        failed = Hidden(0.1, ValueError("no step"))
        with self.assertRaisesRegex(cadre.RemoteError, "no step"):
            failed.step
        with_futures = cadre.remote_class(cpus=0.1, wait=False, futures=True)(Slow)(0.1)
        self.assertEqual(with_futures.step, 7)
        self.assertEqual(with_futures.echo(2).get(timeout=60), 2)
        plain = cadre.remote_class(cpus=0.1, wait=False)(Plain)()
        self.assertEqual(plain.step(1), 2)

    def test_one_that_can_be_called_is_called_there(self):
        actor = Actor()
        actor.hide("step", Doubled())
        self.assertEqual(actor.step(21), 42)

    def test_reports_of_an_actor_do_not_affect_its_callers(self):
        @cadre.remote_class(cpus=0.1)
        class Reporter(Plain):
            def report(self, value):
                import cadre as inner
                inner.report(value)
                return os.getpid()

        actor = Reporter()
        pid = actor.report({"loss": 1})
        job = actor._cadre_actor.job
        until(lambda: self.cluster.get(f"/jobs/{job}").json["tasks"][0]["last_report"] == '{"loss": 1}',
              "the report arrives")
        announced = self.cluster.get(f"/jobs/{job}").json["tasks"][0]["announcement"]
        other = Reporter()
        other.report(1)
        another = json.loads(self.cluster.get(f"/jobs/{other._cadre_actor.job}").json["tasks"][0]["announcement"])
        for value in ("text", [1, 2], None, {"key": "x", "host": "y"}, another):
            self.assertEqual(actor.report(value), pid)
        self.assertEqual(self.cluster.get(f"/jobs/{job}").json["tasks"][0]["announcement"], announced)
        time.sleep(1)  # the session hears of each
        self.assertEqual(actor.report(1), pid, "it is the same process")
        self.assertEqual(actor._cadre_actor.restarts, 0)


class Doubled:
    def __call__(self, n):
        return 2 * n


if __name__ == "__main__":
    unittest.main(verbosity=2)
