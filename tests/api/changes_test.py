"""A client of the change stream gets each change exactly once across disconnects; after a long absence it gets an error."""
import json
import random
import sqlite3
import threading
import time
import unittest

import websocket

from cluster import Cluster


def follow(cluster, token, since=None, timeout=30):
    query = "" if since is None else f"?since={since}"
    url = f"ws://127.0.0.1:{cluster.port}/api/v1/changes{query}"
    return websocket.create_connection(url, timeout=timeout, header=[f"Authorization: Bearer {token}"])


class Follower:
    """Takes in messages over any number of connections, and checks them as they come."""

    def __init__(self, cluster, token="admin"):
        self.cluster = cluster
        self.token = cluster.admin if token == "admin" else token
        self.socket = None
        self.cursor = None
        self.seq = None
        self.changes = []
        self.resets = 0

    def connect(self):
        self.close()
        self.socket = follow(self.cluster, self.token, self.cursor)

    def close(self):
        if self.socket is not None:
            self.socket.shutdown()
        self.socket = None

    def take(self, message):
        self.cursor = message["cursor"]
        if message["type"] == "reset":
            self.resets += 1
            self.seq = message["seq"]
            return
        for change in message["changes"]:
            assert change["seq"] > self.seq, (change, self.seq)
            self.seq = change["seq"]
            self.changes.append(change)
        upto = int(self.cursor.split("-")[0])
        assert upto >= self.seq
        self.seq = upto

    def go_on_after(self, cursor):
        self.cursor = cursor
        self.seq = int(cursor.split("-")[0])

    def read(self):
        self.take(json.loads(self.socket.recv()))


class Changes(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()

    def tearDown(self):
        self.cluster.close()

    def test_a_follower_that_is_cut_and_healed_sees_each_change_once(self):
        cluster = self.cluster
        steady = Follower(cluster)
        steady.connect()
        steady.read()
        first = steady.cursor
        done = threading.Event()
        jobs = []

        def work():
            for _ in range(60):
                jobs.append(cluster.run(["true"]))
            for job in list(jobs):
                cluster.wait_for(job)
            done.set()

        threading.Thread(target=work).start()
        dice = random.Random(7)
        shaky = Follower(cluster)
        shaky.go_on_after(first)
        cuts = 0
        while not done.is_set() or cuts < 40:
            shaky.connect()
            cuts += 1
            for _ in range(dice.randint(0, 4)):
                shaky.socket.settimeout(0.2)
                try:
                    shaky.read()
                except (websocket.WebSocketTimeoutException, websocket.WebSocketException, OSError):
                    break
            shaky.close()
        last = max(one["seq"] for one in self.all_changes(first))
        for follower in (steady, shaky):
            if follower.socket is None:
                follower.connect()
            follower.socket.settimeout(30)
            while follower.seq < last:
                follower.read()
            follower.close()
        self.assertEqual(shaky.resets, 0)
        self.assertEqual(steady.changes, shaky.changes)
        ended = [one["id"] for one in steady.changes if (one["noun"], one["what"]) == ("job", "ended")]
        self.assertEqual(sorted(map(int, ended)), sorted(jobs))

    def all_changes(self, since):
        """Those after a cursor, read to where the master is now."""
        follower = Follower(self.cluster)
        follower.go_on_after(since)
        follower.connect()
        now = follow(self.cluster, self.cluster.admin)
        last = json.loads(now.recv())["seq"]
        now.shutdown()
        while follower.seq < last:
            follower.read()
        follower.close()
        return follower.changes

    def test_nothing_is_missed_when_the_master_is_killed(self):
        cluster = self.cluster
        follower = Follower(cluster)
        follower.connect()
        follower.read()
        first = follower.cursor
        jobs = []
        for round_number in range(4):
            jobs += [cluster.run(["sh", "-c", "sleep 0.3"]) for _ in range(5)]
            time.sleep(0.1 * round_number)
            cluster.kill_master()
            cluster.start_master()
            follower.connect()
            follower.read()
        for job in jobs:
            cluster.wait_for(job)
        want = self.all_changes(first)
        while follower.seq < want[-1]["seq"]:
            follower.read()
        follower.close()
        self.assertEqual(follower.resets, 1)
        self.assertEqual(follower.changes, want)
        ended = {one["id"] for one in want if (one["noun"], one["what"]) == ("job", "ended")}
        self.assertEqual(ended, {str(job) for job in jobs})

    def test_with_an_old_or_foreign_cursor_a_client_gets_a_reset(self):
        running = self.cluster.run(["sleep", "1000"])
        self.cluster.wait_for(running, "running")
        here = Follower(self.cluster)
        here.connect()
        here.read()
        here.close()
        number, sight = here.cursor.split("-")
        for since in (None, f"{10**9}-{sight}", f"{number}-0", number, "garbage"):
            socket = follow(self.cluster, self.cluster.admin, since)
            message = json.loads(socket.recv())
            socket.shutdown()
            self.assertEqual(message["type"], "reset")
            self.assertEqual([job["id"] for job in message["snapshot"]["jobs"]], [running])
            self.assertEqual([agent["id"] for agent in message["snapshot"]["agents"]], ["a1"])

    def test_with_too_many_missed_changes_a_client_gets_a_reset(self):
        config = self.cluster.folder / "few.yaml"
        config.write_text("keeping: {changes: 5, tidy_every: 100ms}\n")
        self.cluster.kill_master()
        self.cluster.master_arguments = ["--config", str(config)]
        self.cluster.start_master()
        follower = Follower(self.cluster)
        follower.connect()
        follower.read()
        follower.close()
        for job in [self.cluster.run(["true"]) for _ in range(10)]:
            self.cluster.wait_for(job)
        now = self.all_changes(follower.cursor)[-1]["seq"]
        database = sqlite3.connect(self.cluster.data / "cadre.db", timeout=30)
        self.cluster.until(lambda: database.execute("SELECT count(*) FROM changes").fetchone()[0] <= 5)
        database.close()
        self.cluster.kill_master()  # which forgets what it had in memory
        self.cluster.start_master()
        follower.connect()
        follower.read()
        self.assertEqual(follower.resets, 2)
        self.assertGreaterEqual(follower.seq, now)
        follower.close()

    def test_no_user_gets_changes_that_they_may_not_see(self):
        cluster = self.cluster
        self.assertEqual(cluster.request("POST", "/workspaces", body={"name": "secret"}).status, 200)
        follower = Follower(cluster, cluster.user("ann", {"default": "viewer"}))
        follower.connect()
        follower.read()
        hidden = cluster.run(["true"], workspace="secret")
        cluster.wait_for(hidden)
        seen = cluster.run(["true"])
        cluster.wait_for(seen)
        while not any(one["what"] == "ended" and one["noun"] == "job" for one in follower.changes):
            follower.read()
        self.assertEqual({one["id"].split(".")[0] for one in follower.changes if one["noun"] != "agent"}, {str(seen)})
        self.assertEqual(follower.resets, 1)
        # A new role makes more objects visible; a revoked token ends the stream.
        cluster.request("PUT", "/workspaces/secret/members/ann", body={"role": "viewer"})
        while follower.resets < 2:
            follower.read()
        # The same for a client that was disconnected meanwhile.
        for method, body in (("DELETE", None), ("PUT", {"role": "editor"})):
            follower.close()
            self.assertEqual(cluster.request(method, "/workspaces/secret/members/ann", body=body).status, 200)
            before = follower.resets
            follower.connect()
            follower.read()
            self.assertEqual(follower.resets, before + 1)
        token = cluster.get("/tokens", query={"user": "ann"}).json["tokens"][0]["id"]
        self.assertEqual(cluster.request("DELETE", f"/tokens/{token}").status, 200)
        while follower.socket.recv():  # nothing: it was closed
            pass
        self.assertFalse(follower.socket.connected)

    def test_without_a_token_there_are_no_changes(self):
        for token in ("", "cadre-" + "0" * 48):
            with self.assertRaises(websocket.WebSocketBadStatusException) as refused:
                follow(self.cluster, token)
            self.assertEqual(refused.exception.status_code, 401)


if __name__ == "__main__":
    unittest.main(verbosity=2)
