"""Every route of the API: what it does, and what it refuses: faulty input, no token, the wrong role, what is another's.

The table must have every operation that the served OpenAPI document has: a new route without a test fails here.
"""
import hashlib
import json
import unittest

import jsonschema

from cluster import Cluster
from experiment_cases import experiment_cases

HASH = hashlib.sha256(b"code").hexdigest()
# Requests that need no role, or that all users may send for themselves: the tests of the core check their responses.
ANYBODY = None


class World:
    """Users of every kind, a workspace of others, and a job of each."""

    def __init__(self):
        self.cluster = Cluster(master=("--listen", "127.0.0.1:0"))
        cluster = self.cluster
        for name in ("vision", "empty"):
            assert cluster.request("POST", "/workspaces", body={"name": name}).status == 200
        self.tokens = {
            "admin": cluster.admin,
            "ed": cluster.user("ed", {"default": "editor"}),
            "viewer": cluster.user("viewer", {"default": "viewer"}),
            "stranger": cluster.user("stranger", {"vision": "admin"}),
        }
        cluster.user("gone")
        self.job = cluster.run([], token=self.tokens["ed"], command={"argv": ["sleep", "1000"], "input": True})
        self.other = cluster.run(["sleep", "1000"], token=self.tokens["ed"])
        for job in (self.job, self.other):
            cluster.until(lambda: cluster.get(f"/tasks/{job}.0").json["stage"] == "running")
        document = cluster.get("/openapi.json", token=None)
        assert document.status == 200
        self.document = document.json
        self.operations = {
            entry["operationId"]: (method.upper(), path, entry)
            for path, methods in self.document["paths"].items()
            for method, entry in methods.items()
        }

    def fresh_job(self):
        return self.cluster.run(["sleep", "1000"], token=self.tokens["ed"])

    def fresh_agent(self):
        folder = self.cluster.folder / "spare"
        self.cluster.start("spare", ["agent", "--master", str(self.cluster.data), "--data", str(folder), "--id",
                                     "spare", "--slots", "none"])
        self.cluster.until(lambda: self.cluster.get("/agents/spare").status == 200)
        return "spare"

    def fresh_token(self):
        made = self.cluster.request("POST", "/tokens", token=self.tokens["ed"], body={"name": "short-lived"})
        return made.json["about"]["id"]


class Case:
    """`good`, `bad`: path names, query and body. `as_`: who may. `not_as`: who sees it but may not. `hidden`: to whom it
    is as if it were not there."""

    def __init__(self, good=None, bad=None, faults=(), as_="ed", not_as=ANYBODY, hidden=ANYBODY, raw=None):
        self.good = good or {}
        self.bad = bad
        self.faults = set(faults)
        self.as_ = as_
        self.not_as = not_as
        self.hidden = hidden
        self.raw = raw


def cases(world):
    job, other = world.job, world.other
    task = f"{job}.0"
    unknown = {"query": {"nonsense": 1}}
    command = {"command": {"argv": ["true"]}}
    member = {"members": [command]}
    return {
        "submit": Case({"body": member}, {"body": {"priority": 0, "pool": "", "nonsense": 1, "members": []}},
                       ["priority", "pool", "nonsense", "members"], not_as="viewer", hidden="stranger"),
        "run_task": Case({"body": command}, {"body": {"slots": -1, "cpus": "many", "command": {}}},
                         ["slots", "cpus", "command.argv"], not_as="viewer", hidden="stranger"),
        "list_jobs": Case({"query": {"most": 2}}, {"query": {"most": 0, "ended": "perhaps", "before": "x"}},
                          ["most", "ended", "before"]),
        "get_job": Case({"path": {"job": job}}, {"path": {"job": "x"}, "query": {"seen": "y"}}, ["job", "seen"],
                        as_="viewer", hidden="stranger"),
        "end_job": Case({"path": {"job": world.fresh_job()}}, {"path": {"job": job}, "body": {"grace": "-1s", "x": 1}},
                        ["grace", "x"], not_as="viewer", hidden="stranger"),
        "kill_job": Case({"path": {"job": world.fresh_job()}}, {"path": {"job": "x"}, "body": {"x": 1}}, ["job", "x"],
                         not_as="viewer", hidden="stranger"),
        "move_job": Case({"path": {"job": job}, "body": {"other": other}},
                         {"path": {"job": job}, "body": {"behind": 3}}, ["other", "behind"], not_as="viewer",
                         hidden="stranger"),
        "set_job": Case({"path": {"job": job}, "body": {"priority": 42}},
                        {"path": {"job": job}, "body": {"priority": 100, "weight": 0, "max_slots": -1}},
                        ["priority", "weight", "max_slots"], not_as="viewer", hidden="stranger"),
        "why": Case({"path": {"job": job}}, {"path": {"job": "x"}, **unknown}, ["job", "nonsense"], as_="viewer",
                    hidden="stranger"),
        "list_tasks": Case({"query": {"most": 3}}, {"query": {"most": "x", "before": "y"}}, ["most", "before"]),
        "get_task": Case({"path": {"task": task}}, {"path": {"task": "1.x"}, **unknown}, ["task", "nonsense"],
                         as_="viewer", hidden="stranger"),
        "end_task": Case({"path": {"task": f"{world.fresh_job()}.0"}},
                         {"path": {"task": "x"}, "body": {"grace": "soon"}}, ["task", "grace"], not_as="viewer",
                         hidden="stranger"),
        "kill_task": Case({"path": {"task": f"{world.fresh_job()}.0"}}, {"path": {"task": "x"}, "body": {"y": 1}},
                          ["task", "y"], not_as="viewer", hidden="stranger"),
        "exec": Case({"path": {"task": task}, "body": {"argv": ["echo", "here"]}},
                     {"path": {"task": task}, "body": {"argv": [], "x": 1}}, ["argv", "x"], not_as="viewer",
                     hidden="stranger"),
        "send_input": Case({"path": {"task": task}, "body": {"offset": 0}},
                           {"path": {"task": task}, "body": {"offset": -1, "seen": -1, "x": 1}},
                           ["offset", "seen", "x"], not_as="viewer", hidden="stranger"),
        "read_logs": Case({"path": {"task": task}, "query": {"tail": 3}},
                          {"path": {"task": task}, "query": {"tail": -1, "level": "loud", "since": "noon", "x": 1}},
                          ["tail", "level", "since", "x"], as_="viewer", hidden="stranger"),
        "list_actors": Case({"query": {"most": 2, "ended": "true"}},
                            {"query": {"most": 0, "ended": "perhaps", "before": "x"}}, ["most", "ended", "before"]),
        "list_sessions": Case({"query": {"most": 2}}, {"query": {"most": 0, "x": 1}}, ["most", "x"]),
        "keep_session": Case({"path": {"session": "routes"}, "body": {"host": "here", "pid": 1, "program": "test"}},
                       {"path": {"session": "x" * 65}, "body": {"pid": -1, "seen": "y", "wait": "1h", "x": 1}},
                       ["session", "pid", "seen", "wait", "x"]),
        "end_session": Case({"path": {"session": "routes"}}, {"path": {"session": "routes"}, **unknown}, ["nonsense"],
                            hidden="viewer"),
        "list_agents": Case({}, {"query": {"most": 0, "x": 1}}, ["most", "x"]),
        "get_agent": Case({"path": {"agent": "a1"}}, {"path": {"agent": "a1"}, **unknown}, ["nonsense"]),
        "set_agent": Case({"path": {"agent": "a1"}, "body": {"state": "enabled"}},
                          {"path": {"agent": "a1"}, "body": {"state": "tired", "x": 1}}, ["state", "x"], as_="admin",
                          not_as="ed"),
        "remove_agent": Case({"path": {"agent": world.fresh_agent()}}, {"path": {"agent": "a1"}, **unknown},
                             ["nonsense"], as_="admin", not_as="ed"),
        "set_slot": Case({"path": {"agent": "a1", "slot": 3}, "body": {"state": "enabled"}},
                         {"path": {"agent": "a1", "slot": "x"}, "body": {}}, ["slot", "state"], as_="admin",
                         not_as="ed"),
        "list_slots": Case({}, {"query": {"most": "x", "y": 1}}, ["most", "y"]),
        "list_pools": Case({}, unknown, ["nonsense"]),
        "get_status": Case({}, unknown, ["nonsense"]),
        "make_join_token": Case({"body": {"valid": "10m"}}, {"body": {"pool": "", "valid": "0s"}}, ["pool", "valid"],
                                as_="admin", not_as="ed"),
        "get_code": Case({"path": {"hash": HASH}}, {"path": {"hash": "short"}, **unknown}, ["hash", "nonsense"]),
        "put_code": Case({"path": {"hash": HASH}, "query": {"size": 4, "offset": 0}},
                         {"path": {"hash": "short"}, "query": {"size": -1}}, ["hash", "size", "offset"],
                         not_as="viewer", raw=b"code"),
        "login": Case({"body": {"user": "smith", "password": "correct horse"}}, {"body": {"valid": "0s", "x": 1}},
                      ["user", "password", "valid", "x"]),
        "logout": Case({}, {"body": {"x": 1, "y": 2}}, ["x", "y"], as_="leaver"),
        "get_me": Case({}, unknown, ["nonsense"]),
        "list_users": Case({}, {"query": {"most": 0, "x": 1}}, ["most", "x"], as_="admin", not_as="ed"),
        "get_user": Case({"path": {"user": "ed"}}, {"path": {"user": "ed"}, **unknown}, ["nonsense"], hidden="viewer"),
        "create_user": Case({"body": {"name": "newcomer", "password": "correct horse"}},
                            {"body": {"name": "", "password": "short", "max_slots": -2, "x": 1}},
                            ["name", "max_slots", "x"], as_="admin", not_as="ed"),
        "set_user": Case({"path": {"user": "ed"}, "body": {"max_slots": 100}},
                         {"path": {"user": "ed"}, "body": {"max_slots": "x", "admin": 3}}, ["max_slots", "admin"],
                         as_="admin", hidden="viewer"),
        "delete_user": Case({"path": {"user": "gone"}}, {"path": {"user": "ed"}, **unknown}, ["nonsense"], as_="admin",
                            hidden="viewer"),
        "list_tokens": Case({}, {"query": {"all": "x", "y": 1}}, ["all", "y"]),
        "create_token": Case({"body": {"name": "one"}}, {"body": {"name": "x" * 200, "valid": "0s"}},
                             ["name", "valid"]),
        "revoke_token": Case({"path": {"token": world.fresh_token()}}, {"path": {"token": "x"}, **unknown},
                             ["nonsense"], hidden="viewer"),
        "list_workspaces": Case({}, unknown, ["nonsense"]),
        "get_workspace": Case({"path": {"workspace": "default"}}, {"path": {"workspace": "default"}, **unknown},
                              ["nonsense"], as_="viewer", hidden="stranger"),
        "create_workspace": Case({"body": {"name": "new"}}, {"body": {"name": "", "max_slots": -2}},
                                 ["name", "max_slots"], as_="admin", not_as="ed"),
        "set_workspace": Case({"path": {"workspace": "default"}, "body": {"max_slots": 1000}},
                              {"path": {"workspace": "default"}, "body": {"max_slots": -2, "x": 1}},
                              ["max_slots", "x"], as_="admin", not_as="ed", hidden="stranger"),
        "delete_workspace": Case({"path": {"workspace": "empty"}}, {"path": {"workspace": "empty"}, **unknown},
                                 ["nonsense"], as_="admin", hidden="stranger"),
        "set_member": Case({"path": {"workspace": "default", "user": "viewer"}, "body": {"role": "viewer"}},
                           {"path": {"workspace": "default", "user": "viewer"}, "body": {"role": "king", "x": 1}},
                           ["role", "x"], as_="admin", not_as="ed", hidden="stranger"),
        "remove_member": Case({"path": {"workspace": "vision", "user": "stranger"}},
                              {"path": {"workspace": "vision", "user": "stranger"}, **unknown}, ["nonsense"],
                              as_="admin", hidden="ed"),
        "list_names": Case({"path": {"workspace": "default"}, "query": {"prefix": "a"}},
                           {"path": {"workspace": "default"}, "query": {"prefix": "a//b", "x": 1}}, ["prefix", "x"],
                           as_="viewer", hidden="stranger"),
        "put_name": Case({"path": {"workspace": "default"}, "body": {"session": "of-a-test", "key": "a", "value": "v"}},
                         {"path": {"workspace": "default"},
                          "body": {"session": "short", "key": "a/", "ttl": "1ms", "value": "v", "x": 1}},
                         ["session", "key", "ttl", "x"], not_as="viewer", hidden="stranger"),
        "get_name": Case({"path": {"workspace": "default"}, "query": {"key": "a"}},
                         {"path": {"workspace": "default"}, "query": {"key": "", "x": 1}}, ["key", "x"], as_="viewer",
                         hidden="stranger"),
        "keep_names": Case({"path": {"workspace": "default"},
                            "body": {"session": "of-a-test", "names": [{"key": "a", "epoch": 1}]}},
                           {"path": {"workspace": "default"}, "body": {"session": "of-a-test", "names": [{"key": 1}]}},
                           ["names[0].key", "names[0].epoch"], not_as="viewer", hidden="stranger"),
        "watch_names": Case({"path": {"workspace": "default"}},
                            {"path": {"workspace": "default"}, "query": {"wait": "1h", "seen": "x"}}, ["wait", "seen"],
                            as_="viewer", hidden="stranger"),
        "remove_name": Case({"path": {"workspace": "default"}, "query": {"key": "a"}},
                            {"path": {"workspace": "default"}, "query": {"x": 1}}, ["key", "x"], not_as="viewer",
                            hidden="stranger"),
        "remove_names": Case({"path": {"workspace": "default"}, "query": {"prefix": "a"}},
                             {"path": {"workspace": "default"}, "query": {"x": 1}}, ["prefix", "x"], not_as="viewer",
                             hidden="stranger"),
        "release_names": Case({"path": {"workspace": "default"}, "body": {"session": "of-a-test", "keys": ["a"]}},
                              {"path": {"workspace": "default"}, "body": {"session": "of-a-test", "keys": ["/"]}},
                              ["keys[0]"], not_as="viewer", hidden="stranger"),
        "list_audit": Case({"query": {"most": 5}}, {"query": {"most": 0, "before": -1}}, ["most", "before"],
                           as_="admin", not_as="ed"),
        **experiment_cases(Case, world),
    }


# These have tests of their own.
ELSEWHERE = {"health", "openapi", "follow_changes"}


class Routes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cluster = cls.world.cluster
        made = cluster.request("POST", "/users", body={"name": "smith", "password": "correct horse"})
        assert made.status == 200, made.body
        cls.world.tokens["leaver"] = cluster.user("leaver")
        cls.cases = cases(cls.world)

    @classmethod
    def tearDownClass(cls):
        cls.world.cluster.close()

    def ask(self, name, said, who, raw=None):
        method, path, _ = self.world.operations[name]
        for key, value in said.get("path", {}).items():
            path = path.replace("{" + key + "}", str(value))
        token = self.world.tokens[who] if who is not None else None
        return self.world.cluster.request(method, path, token=token, query=said.get("query"), body=said.get("body"),
                                          raw=raw)

    def assert_problem(self, answer, status):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        problem = answer.json
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["detail"])
        self.check_schema(problem, {"$ref": "#/components/schemas/problem"})
        return problem

    def check_schema(self, value, schema):
        jsonschema.Draft202012Validator({**schema, "components": self.world.document["components"]}).validate(value)

    def test_0_all_routes_have_a_case(self):
        self.assertEqual(set(self.world.operations) - ELSEWHERE, set(self.cases))

    def test_1_without_a_token_nothing_is_returned(self):
        for name, case in self.cases.items():
            with self.subTest(name):
                if self.world.operations[name][2].get("security") == []:
                    continue
                answer = self.ask(name, case.good, None)
                self.assert_problem(answer, 401)
                self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
                self.assert_problem(self.ask(name, case.bad, None), 401)

    def test_2_an_invalid_token_is_refused_before_faults_are_reported(self):
        self.world.tokens["nobody"] = "cadre-" + "0" * 48
        for name, case in self.cases.items():
            with self.subTest(name):
                if self.world.operations[name][2].get("security") == []:
                    continue
                self.assert_problem(self.ask(name, case.good, "nobody"), 401)
                self.assert_problem(self.ask(name, case.bad, "nobody"), 401)

    def test_3_all_faults_are_reported_at_once(self):
        for name, case in self.cases.items():
            with self.subTest(name):
                problem = self.assert_problem(self.ask(name, case.bad, case.as_), 400)
                self.assertEqual({fault["path"] for fault in problem["faults"]}, case.faults)
                self.assertTrue(all(fault["message"] for fault in problem["faults"]))

    def test_4_requests_without_the_required_role_are_refused(self):
        for name, case in self.cases.items():
            if case.not_as is ANYBODY:
                continue
            with self.subTest(name):
                self.assert_problem(self.ask(name, case.good, case.not_as, case.raw), 403)

    def test_5_objects_of_another_workspace_are_hidden(self):
        for name, case in self.cases.items():
            if case.hidden is ANYBODY:
                continue
            with self.subTest(name):
                self.assert_problem(self.ask(name, case.good, case.hidden, case.raw), 404)

    def test_5_calls_of_programs_do_not_tell_whether_a_trial_exists(self):
        for name, case in self.cases.items():
            if case.as_ != "trial" or "trial" not in case.good["path"]:
                continue
            with self.subTest(name):
                for trial in (case.good["path"]["trial"], "999.0"):
                    said = {**case.good, "path": {**case.good["path"], "trial": trial}}
                    detail = self.assert_problem(self.ask(name, said, "stranger"), 403)["detail"]
                    self.assertIn("only", detail)

    def test_6_valid_requests_get_responses_that_match_the_schema(self):
        for name, case in self.cases.items():
            with self.subTest(name):
                answer = self.ask(name, case.good, case.as_, case.raw)
                self.assertEqual(answer.status, 200, answer.body)
                (kind, content), = self.world.operations[name][2]["responses"]["200"]["content"].items()
                self.assertEqual(answer.headers["Content-Type"], kind)
                if kind == "application/octet-stream":
                    continue
                values = [answer.json] if kind == "application/json" else map(json.loads, answer.body.splitlines())
                for value in values:
                    self.check_schema(value, content["schema"])

    def test_7_lists_come_page_by_page(self):
        cluster = self.world.cluster
        for _ in range(5):
            cluster.run(["true"], token=self.world.tokens["ed"])
        whole = [job["id"] for job in cluster.get("/jobs", query={"most": 1000}).json["jobs"]]
        pages, before = [], None
        while True:
            page = cluster.get("/jobs", query={"most": 2, **({"before": before} if before else {})}).json
            pages += [job["id"] for job in page["jobs"]]
            before = page.get("next")
            if before is None:
                break
        self.assertEqual(pages, whole)
        names, after = [], ""
        while True:
            page = cluster.get("/users", query={"most": 2, "after": after}).json
            names += [user["name"] for user in page["users"]]
            after = page["next"]
            if not after:
                break
        self.assertEqual(names, [user["name"] for user in cluster.get("/users").json["users"]])

    def test_8_paths_and_methods_that_are_not_there(self):
        cluster = self.world.cluster
        self.assert_problem(cluster.get("/nothing"), 404)
        self.assert_problem(cluster.get("/jobs/1/2/3/4"), 404)
        answer = cluster.request("DELETE", "/jobs")
        self.assert_problem(answer, 405)
        self.assertEqual(set(answer.headers["Allow"].split(", ")), {"GET", "POST"})
        self.assert_problem(cluster.get("/jobs/%zz"), 400)
        self.assert_problem(cluster.get("/jobs/999999999"), 404)
        self.assert_problem(cluster.get("/jobs/99999999999999999999999"), 400)
        self.assert_problem(cluster.request("POST", "/jobs", raw=b"{nonsense"), 400)
        self.assert_problem(cluster.request("POST", "/jobs", raw=b"[1]"), 400)
        self.assert_problem(cluster.get("/changes"), 400)


if __name__ == "__main__":
    unittest.main(verbosity=2)
