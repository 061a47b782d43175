"""Ten thousand hostile frames on each socket of an actor and of a component: refused, and no memory is kept for them."""
import glob
import json
import os
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest

import cadre
from scene import Scene, until

FRAMES = 10_000
KEPT_KIB_MAX = 4_096  # what the second half of the frames may cost
if "CADRE_SANITIZED" in os.environ:
    KEPT_KIB_MAX += 256 << 10  # of what is freed, so much is held for a while


def memory_kib():
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text()).group(1))


def hostile_frame(dice):
    """Noise, the beginning of a greeting, lengths beyond all bounds, and frames as callers send them."""
    zmtp = b"\xff" + bytes(7) + b"\x01\x7f\x03\x01" + b"CURVE".ljust(20, b"\0") + bytes(32)
    body = dice.randbytes(dice.randint(0, 200))
    call = struct.pack("<IBBHQIIQ", 0x316c6163, dice.randint(0, 255), 0, 0, dice.getrandbits(64), 3, 0,
                       dice.choice((len(body), 2**32, 2**63, 2**64 - 1))) + b"add".ljust(16, b"\0") + body
    return dice.choice((dice.randbytes(dice.randint(1, 400)), zmtp[:dice.randint(1, 64)],
                        zmtp + b"\x06" + b"\xff" * 8, zmtp + b"\x02" + struct.pack(">Q", 2**62) + body,
                        call, bytes(96) + call, struct.pack("<I", 2**32 - 1) + body))


def send_frames(connect, count, seed):
    dice = random.Random(seed)
    sent = 0
    while sent < count:
        with connect() as stranger:
            stranger.settimeout(30)
            try:
                for _ in range(dice.randint(1, 8)):
                    stranger.sendall(hostile_frame(dice))
                    sent += 1
                if dice.random() < 0.1:
                    stranger.recv(16)
            except OSError:  # it was cut off
                pass
    return sent


def connector(family, where):
    def connect():
        stranger = socket.socket(family, socket.SOCK_STREAM)
        stranger.settimeout(30)
        stranger.connect(where)
        return stranger

    return connect


@cadre.remote_class(cpus=0.1)
class Counter:
    def __init__(self):
        self.count = 0

    def add(self):
        self.count += 1
        return self.count

    def memory(self):
        return memory_kib()


class Actors(Scene):
    def test_the_pipes_of_an_actor(self):
        actor = Counter()
        actor.add()
        card = json.loads(self.cluster.get(f"/jobs/{actor._cadre_actor.job}").json["tasks"][0]["announcement"])
        sockets = {"TCP": connector(socket.AF_INET, ("127.0.0.1", card["port"])),
                   "unix": connector(socket.AF_UNIX, "\0" + card["name"])}
        count = 1
        for name, connect in sockets.items():
            send_frames(connect, FRAMES // 2, seed=1)
            half = actor.memory()
            self.assertGreaterEqual(send_frames(connect, FRAMES // 2, seed=2), FRAMES // 2)
            kept = actor.memory() - half
            print(f"actor, {name}: {FRAMES} frames, {kept} KiB kept of the second half")
            self.assertLess(kept, KEPT_KIB_MAX, name)
            count += 1
            self.assertEqual(actor.add(), count)  # still the same object


PEER = textwrap.dedent("""
    import re, sys, cadre
    component = cadre.Component("siege", "server", "server-1", names=sys.argv[1])
    component.join()
    print("ready", flush=True)
    while True:
        message = component.receive(timeout=600)
        kib = int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
        component.reply(message, kib)
    """)


class Components(unittest.TestCase):
    def test_the_sockets_of_a_component(self):
        folder = tempfile.TemporaryDirectory(prefix="cadre-siege-")
        self.addCleanup(folder.cleanup)
        names = "file://" + folder.name
        peer = subprocess.Popen([sys.executable, "-c", PEER, names], stdout=subprocess.PIPE, text=True)
        self.addCleanup(peer.stdout.close)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        self.assertEqual(peer.stdout.readline(), "ready\n")
        client = cadre.Component("siege", "client", "client-1", peers={"server": 1}, names=names)
        self.addCleanup(client.close)
        client.join()

        def memory():
            reply = client.request("server-1", "memory", timeout=60)
            return getattr(reply, "value", reply)

        self.assertGreater(memory(), 0)
        texts = [pathlib.Path(file).read_text(errors="replace")
                 for file in glob.glob(folder.name + "/**", recursive=True) if os.path.isfile(file)]
        text = next(text for text in texts if '"name":"server-1"' in text)
        found = set(re.findall(r"(?:tcp|ipc)://[^\"\\\s]+", text))
        self.assertTrue(found, text)
        for address in sorted(found):
            if address.startswith("tcp://"):
                host, port = address[len("tcp://"):].rsplit(":", 1)
                connect = connector(socket.AF_INET, (host, int(port)))
            else:
                path = address[len("ipc://"):]
                connect = connector(socket.AF_UNIX, "\0" + path[1:] if path.startswith("@") else path)
            send_frames(connect, FRAMES // 2, seed=3)
            half = memory()
            send_frames(connect, FRAMES // 2, seed=4)
            kept = memory() - half
            print(f"component, {address}: {FRAMES} frames, {kept} KiB kept of the second half")
            self.assertLess(kept, KEPT_KIB_MAX, address)
        self.assertIsNone(peer.poll())


if __name__ == "__main__":
    unittest.main(verbosity=2)
