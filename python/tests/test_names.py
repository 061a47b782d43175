"""Names in Python: what is put is found, in one process and between several; what nobody keeps alive is gone."""
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import cadre
from cadre.names import Change, Entry


class NamesTest(unittest.TestCase):
    def setUp(self):
        self.url = f"memory://{self.id()}"

    def shared_url(self):
        """One that other processes can use too."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return f"file://{folder.name}"

    def test_put_names_are_found(self):
        with cadre.Names(self.url) as names:
            epoch = names.put("a/text", "größe")
            names.put("a/bytes", b"\x00\xff")
            self.assertEqual(names.get("a/text"), Entry("a/text", "größe".encode(), epoch))
            self.assertEqual(names.get("a/text").text, "größe")
            self.assertEqual([entry.value for entry in names.list("a")], [b"\x00\xff", "größe".encode()])
            self.assertEqual(names.put("a/text", "again"), epoch)
            names.remove("a/text")
            self.assertEqual(names.remove_subtree("a"), 1)
            self.assertEqual(names.list(), [])

    def test_errors_have_a_code_and_a_reason(self):
        with cadre.Names(self.url) as names, cadre.Names(self.url) as other:
            names.put("a", "1")
            for code, call in (("not_found", lambda: names.get("b")),
                               ("not_found", lambda: names.remove("b")),
                               ("invalid", lambda: names.put("a//b", "x")),
                               ("invalid", lambda: names.put("a", "x", ttl=0.001)),
                               ("conflict", lambda: other.put("a", "2", only_if_absent=True)),
                               ("timed_out", lambda: names.wait("b", 0.01)),
                               ("invalid", lambda: cadre.Names("nonsense").get("a"))):
                with self.assertRaises(cadre.NamesError) as caught:
                    call()
                self.assertEqual(caught.exception.code, code, str(caught.exception))
                same = pickle.loads(pickle.dumps(caught.exception))
                self.assertEqual((same.code, str(same)), (code, str(caught.exception)))

    def test_only_text_and_bytes_are_values(self):
        with cadre.Names(self.url) as names:
            for value in (3, None, ["x"], 1.5):
                with self.assertRaises(TypeError) as caught:
                    names.put("a", value)
                self.assertEqual(str(caught.exception), f"value is {value!r}, but must be a str or bytes")
            for value in (b"ab", bytearray(b"ab"), memoryview(b"xaxb")[1::2]):
                names.put("a", value)
                self.assertEqual(names.get("a").text, "ab")

    def test_wait_returns_when_the_name_appears(self):
        with cadre.Names(self.url) as names, cadre.Names(self.url) as other:
            timer = threading.Timer(0.05, lambda: other.put("late", "v"))
            timer.start()
            self.assertEqual(names.wait("late", 60).text, "v")
            timer.join()

    def test_a_watch_returns_existing_names_and_changes(self):
        with cadre.Names(self.url) as names, cadre.Names(self.url) as other:
            first = other.put("a/b", "1")
            watch = names.watch("a")
            self.assertEqual(watch.next(60), Change(False, Entry("a/b", b"1", first)))
            other.put("a/b", "2")
            self.assertEqual(next(watch).entry.value, b"2")
            with self.assertRaises(cadre.NamesError) as caught:
                watch.next(0.01)
            self.assertEqual(caught.exception.code, "timed_out")
            other.remove("a/b")
            self.assertEqual(watch.next(60), Change(True, Entry("a/b", b"2", first)))
            with self.assertRaises(cadre.NamesError):
                other.close()
                other.get("a")
            watch.close()
            with self.assertRaises(cadre.NamesError):
                watch.next()

    def test_a_watch_keeps_its_names(self):
        with cadre.Names(self.url) as other:
            other.put("a", "1")
            for change in cadre.Names(self.url).watch("a"):
                gc.collect()
                if change.entry.value == b"2":
                    break
                other.put("a", "2")

    def test_on_lost_is_called_for_a_lost_name(self):
        with cadre.Names(self.url) as names, cadre.Names(self.url) as other:
            lost = threading.Event()
            keys = []
            names.on_lost(lambda key: (keys.append(key), lost.set()))
            names.put("a", "mine", ttl=0.2)
            other.put("a", "taken")
            self.assertTrue(lost.wait(60))
            self.assertEqual(keys, ["a"])

    def test_a_process_that_is_killed_leaves_nothing(self):
        url = self.shared_url()
        with cadre.Names(url) as names:
            program = ("import cadre, sys, time\n"
                       "names = cadre.Names(sys.argv[1])\n"
                       "names.put('child', 'alive', ttl=0.5)\n"
                       "time.sleep(600)\n")
            child = subprocess.Popen([sys.executable, "-c", program, url], env=os.environ)
            try:
                watch = names.watch("child")
                self.assertEqual(watch.next(60).entry.value, b"alive")
            finally:
                child.kill()
                child.wait()
            self.assertTrue(watch.next(60).is_gone)

    def test_the_example_finds_what_it_puts(self):
        url = self.shared_url()

        def start(*arguments):
            example = os.path.join(os.environ["CADRE_EXAMPLES"], "names", "names.py")
            return subprocess.Popen([sys.executable, example, url, *arguments], text=True, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE)

        watch, puts, waits = start("watch", "demo"), start("put", "demo/server", "here"), start("wait", "demo/server")
        try:
            self.assertEqual(waits.communicate(timeout=60)[0], "here\n")
            self.assertEqual(watch.stdout.readline(), "demo/server is here\n")
            puts.communicate(timeout=60)
            self.assertEqual(puts.returncode, 0)
            self.assertEqual(watch.stdout.readline(), "demo/server is gone\n")
        finally:
            for one in (watch, puts, waits):
                one.kill()
                one.communicate()


if __name__ == "__main__":
    unittest.main()
