"""Ctrl-C ends what waits, wherever that is."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HEAD = """
import sys
import cadre
folder = "file://" + sys.argv[1]
def component(**more):
    return cadre.Component("group", "a", "a-1", names=folder, **more)
def ready():
    print("ready", flush=True)
"""

WAITS = {
    "join": "c = component(peers={'b': 1}); ready(); c.join(timeout=3600)",
    "receive": "c = component(); c.join(); ready(); c.receive(timeout=3600)",
    "launch": "c = component(); c.join(); ready(); c.launch()",
    "names": "n = cadre.Names(folder); n.put('x', b''); ready(); n.wait('y', timeout=3600)",
    "watch": "n = cadre.Names(folder); ready()\nfor change in n.watch('y'): pass",
}


class Interrupts(unittest.TestCase):
    def test_interrupts_end_waiting_calls(self):
        for name, program in WAITS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                child = subprocess.Popen([sys.executable, "-c", HEAD + program, folder], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True, env=os.environ)
                self.assertEqual(child.stdout.readline(), "ready\n")
                child.send_signal(signal.SIGINT)
                _, said = child.communicate(timeout=60)
                self.assertIn("KeyboardInterrupt", said)


if __name__ == "__main__":
    unittest.main()
