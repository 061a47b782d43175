"""A part that the program does not have: its routes, rows, changes, metrics and audit work without a line elsewhere."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "api"))

import websocket  # noqa: E402

from cluster import Cluster  # noqa: E402


class CountingCluster(Cluster):
    """A master with the part `counter`, and an agent of the ordinary program."""

    def start_master(self):
        url = [one for one in self.master_arguments if "://" in one]
        with open(self.folder / "master.log", "ab") as log:
            self.processes["master"] = subprocess.Popen([os.environ["CADRE_COUNTING"], str(self.data), *url],
                                                        stdout=log, stderr=log)
        self.until(self.is_up)


class CounterPart(unittest.TestCase):
    def setUp(self):
        self.cluster = CountingCluster()
        self.addCleanup(self.cluster.close)

    def increment(self, name, token="admin", **fields):
        headers = fields.pop("headers", None)
        return self.cluster.request("POST", f"/counters/{name}/increments", token=token, body=fields, headers=headers)

    def follow(self):
        url = f"ws://127.0.0.1:{self.cluster.port}/api/v1/changes"
        return websocket.create_connection(url, timeout=30, header=[f"Authorization: Bearer {self.cluster.admin}"])

    def test_its_requests_are_served_beside_those_of_the_cluster(self):
        self.assertEqual(self.increment("a", by=3).json, {"name": "a", "value": 3})
        self.assertEqual(self.increment("a").json, {"name": "a", "value": 4})
        self.assertEqual(self.cluster.get("/counters").json, {"counters": [{"name": "a", "value": 4}]})
        refused = self.increment("a", by=0)
        self.assertEqual((refused.status, refused.json["faults"][0]["path"]), (400, "by"))
        self.assertEqual(self.increment("a", token="wrong").status, 401)
        self.cluster.wait_for(self.cluster.run(["/bin/true"]))

    def test_its_rows_survive_a_killed_master(self):
        self.increment("kept", by=7)
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.cluster.get("/counters").json, {"counters": [{"name": "kept", "value": 7}]})

    def test_a_repeated_request_with_a_key_counts_once(self):
        for _ in range(3):
            answer = self.increment("once", headers={"Idempotency-Key": "k1"})
            self.assertEqual(answer.json, {"name": "once", "value": 1})
        self.assertEqual(self.increment("once").json["value"], 2)

    def test_its_changes_are_followed_and_its_state_is_in_the_snapshot(self):
        self.increment("seen", by=5)
        socket = self.follow()
        self.addCleanup(socket.close)
        parts = {}
        more = True
        while more:
            message = json.loads(socket.recv())
            parts.setdefault(message["part"], []).append(message["snapshot"])
            more = message["more"]
        self.assertEqual(parts["counter"], [{"counters": [{"name": "seen", "value": 5}]}])
        self.assertIn("jobs", parts["cluster"][0])
        self.increment("seen")
        while True:
            found = [one for one in json.loads(socket.recv())["changes"] if one["noun"] == "counter"]
            if found:
                break
        self.assertEqual((found[0]["id"], found[0]["what"]), ("seen", "6"))

    def test_it_is_in_the_audit_log_the_metrics_and_the_openapi_document(self):
        self.increment("shown", by=2)
        entries = self.cluster.get("/audit").json["entries"]
        self.assertIn(("increment_counter", "counter shown"), [(one["act"], one["object"]) for one in entries])
        connection = self.cluster.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + self.cluster.admin})
        self.assertIn('\ncadre_counter_value{name="shown"} 2\n', connection.getresponse().read().decode())
        document = self.cluster.request("GET", "/openapi.json", token=None).json
        increment = document["paths"]["/counters/{name}/increments"]["post"]
        self.assertEqual(increment["operationId"], "increment_counter")
        self.assertIn("Idempotency-Key", [one["name"] for one in increment["parameters"]])


if __name__ == "__main__":
    unittest.main()
