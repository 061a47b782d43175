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

    config = "{}"

    def start_master(self):
        url = [one for one in self.master_arguments if "://" in one]
        with open(self.folder / "master.log", "ab") as log:
            self.processes["master"] = subprocess.Popen([os.environ["CADRE_COUNTING"], self.config, str(self.data), *url],
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

    def test_its_requests_are_served_with_those_of_the_cluster(self):
        self.assertEqual(self.increment("a", by=3).json, {"name": "a", "value": 3, "bulk": 0})
        self.assertEqual(self.increment("a").json, {"name": "a", "value": 4, "bulk": 0})
        self.assertEqual(self.cluster.get("/counters").json, {"counters": [{"name": "a", "value": 4, "bulk": 0}]})
        refused = self.increment("a", by=0)
        self.assertEqual((refused.status, refused.json["faults"][0]["path"]), (400, "by"))
        self.assertEqual(self.increment("a", token="wrong").status, 401)
        self.cluster.wait_for(self.cluster.run(["/bin/true"]))

    def test_its_rows_survive_a_killed_master(self):
        self.increment("kept", by=7)
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.cluster.get("/counters").json, {"counters": [{"name": "kept", "value": 7, "bulk": 0}]})

    def test_its_shell_performs_its_effects(self):
        self.increment("big", by=999)
        self.increment("big", by=2)
        log = self.cluster.folder / "master.log"
        self.cluster.until(lambda: "counter big is at 1001" in log.read_text())
        self.assertNotIn("counter big is at 999", log.read_text())

    def test_a_repeated_request_with_a_key_counts_once(self):
        for _ in range(3):
            answer = self.increment("once", headers={"Idempotency-Key": "k1"})
            self.assertEqual(answer.json, {"name": "once", "value": 1, "bulk": 0})
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
        self.assertEqual(parts["counter"], [{"counters": [{"name": "seen", "value": 5, "bulk": 0}]}])
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
        changes = document["components"]["schemas"]["change_message"]["oneOf"][0]["properties"]["changes"]
        self.assertEqual(changes["items"]["properties"]["noun"]["examples"],
                         ["job", "task", "agent", "experiment", "trial", "checkpoint", "counter"])

    def test_its_settings_are_a_section_of_the_master_file(self):
        self.increment("first")
        self.cluster.kill_master()
        self.cluster.config = "counter: {counters_max: 1}"
        self.cluster.start_master()
        self.assertEqual(self.increment("second").status, 409)
        self.assertEqual(self.increment("first").status, 200)
        self.cluster.kill_master()
        for wrong, why in (("counter: {counters_max: 0}", "counter.counters_max: must be from 1"),
                           ("countr: {}", "countr: is not a known key; did you mean 'counter'?")):
            ended = subprocess.run([os.environ["CADRE_COUNTING"], wrong, str(self.cluster.data)], timeout=60,
                                   stderr=subprocess.PIPE, text=True)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(why, ended.stderr)

    def cadre(self, *words):
        return subprocess.run([os.environ["CADRE_PROGRAM"], "--master", str(self.cluster.data), *words], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_its_requests_can_be_sent_from_the_command_line(self):
        called = self.cadre("api", "call", "increment_counter", "name=line", "by=3")
        self.assertEqual((called.returncode, called.stderr), (0, ""))
        self.assertEqual(json.loads(called.stdout), {"name": "line", "value": 3, "bulk": 0})
        self.assertIn("increment_counter", self.cadre("api", "list").stdout)
        self.assertEqual(self.value_of("line"), (3, 0))
        refused = self.cadre("api", "call", "increment_counter", "name=line", "by=0")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("by", refused.stderr)
        wrong = self.cadre("api", "call", "increment_counter", "by=1")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("requires the field 'name'", wrong.stderr)

    def add(self, name, token="admin", **fields):
        return self.cluster.request("POST", f"/counters/{name}/bulk", token=token, body=fields)

    def value_of(self, name):
        return {one["name"]: (one["value"], one["bulk"]) for one in self.cluster.get("/counters").json["counters"]}[name]

    def test_its_bulk_side_serves_past_the_control_loop(self):
        self.increment("b", by=1)
        self.assertEqual(self.add("b", by=5).json, {"total": 5})
        self.assertEqual(self.add("b", by=2).json, {"total": 7})
        self.cluster.until(lambda: self.value_of("b") == (1, 7))
        refused = self.add("b", by=0)
        self.assertEqual((refused.status, refused.json["faults"][0]["path"]), (400, "by"))
        self.assertEqual(self.add("b", token="wrong").status, 401)
        self.assertEqual(self.add("other").status, 404)
        viewer = self.cluster.user("vic", {"default": "viewer"})
        self.assertEqual(self.add("b", token=viewer).status, 404)
        self.assertNotIn("add_in_bulk", [one["act"] for one in self.cluster.get("/audit").json["entries"]])
        self.cluster.kill_master()
        self.cluster.start_master()
        self.assertEqual(self.value_of("b"), (1, 7))
        self.assertEqual(self.add("b").json, {"total": 8})

    def test_its_bulk_side_caches_rights_and_has_metrics(self):
        self.increment("m")
        for _ in range(10):
            self.assertEqual(self.add("m").status, 200)
        connection = self.cluster.connect()
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics", headers={"Authorization": "Bearer " + self.cluster.admin})
        lines = connection.getresponse().read().decode().splitlines()
        values = dict(line.rsplit(" ", 1) for line in lines if line.startswith("cadre_bulk_") and "counter" in line)
        self.assertEqual(values['cadre_bulk_requests_total{part="counter"}'], "10")
        self.assertEqual(values['cadre_bulk_requests_refused_total{part="counter",reason="unauthenticated"}'], "0")
        hits, misses = (int(values['cadre_bulk_rights_lookups_total{part="counter",result="%s"}' % result])
                        for result in ("hit", "miss"))
        self.assertEqual(hits + misses, 10)
        self.assertGreater(hits, 0)

    def test_the_token_of_an_older_run_of_a_task_is_refused_by_its_bulk_side(self):
        """The first run of the task fails; its token must not add anything once the second has begun."""
        self.increment("fenced")
        job = self.cluster.request("POST", "/jobs", body={"members": [{
            "command": {"argv": ["/bin/sh", "-c", 'echo "token $CADRE_TOKEN"; [ $CADRE_EPOCH -gt 1 ] && exec sleep 60; '
                                                  'sleep 2; exit 1']},
            "restart": {"type": "on_failure", "first_wait": "0s"}}]}).json["id"]

        def token_of(run):
            lines = []

            def has_line():
                page = self.cluster.get(f"/tasks/{job}.0/logs", query={"epoch": run})
                lines[:] = [one["text"].split()[1] for one in page.json["lines"] if one["text"].startswith("token ")]
                return lines

            self.cluster.until(has_line)
            return lines[0]

        tokens = [token_of(1)]
        self.assertEqual(self.add("fenced", token=tokens[0]).json, {"total": 1})
        tokens.append(token_of(2))
        self.assertEqual(self.add("fenced", token=tokens[0]).status, 401)
        self.assertEqual(self.add("fenced", token=tokens[1]).json, {"total": 2})


if __name__ == "__main__":
    unittest.main()
