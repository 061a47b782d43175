"""Who may do what with experiments, trials and checkpoints of others: a table over every route of the API document, so
that a route without a rule fails here; and quotas."""
import json
import pathlib
import re
import tempfile
import unittest
import urllib.parse

from scene import Scene

UNKNOWN = "00000000-0000-4000-8000-000000000000"

# It saves a checkpoint, begins another one, and tells the test its token.
holding = """
    import os, time
    from cadre import core
    with core.init() as trial:
        with trial.checkpoint.store_path(steps=1) as (path, uuid):
            (path / "model").write_text("of " + os.environ["CADRE_TRIAL"])
        trial.train.report_training(1, {"loss": 1})
        trial.train.report_validation(1, {"loss": 1})
        print("TOKEN", os.environ["CADRE_TOKEN"], flush=True)
        while not trial.preempt.should_stop():
            time.sleep(0.1)
"""

single = {
    "name": "rights",
    "searcher": {"type": "custom", "metric": "loss"},
    "hyperparameters": {"x": 1},
    "resources": {"slots_per_trial": 1},
}

# Callers: the owner, an admin of the workspace and one of the cluster, an editor and a viewer of the workspace, an
# editor of another one, and tasks: of the trial itself, of another trial of its owner, and of another user.
CALLERS = ("owner", "lead", "admin", "editor", "viewer", "stranger", "task", "other_task", "stranger_task")
ALLOWED = "allowed"


def everybody(**others):
    return {**dict.fromkeys(CALLERS, ALLOWED), **others}


READ = everybody(stranger=404, stranger_task=404)
CHANGE = everybody(editor=403, viewer=403, stranger=404, stranger_task=404)
OF_THE_TASK = {**dict.fromkeys(CALLERS, 403), "task": ALLOWED}
LISTS = everybody()  # what one may not see is left out


class Rule:
    """Who gets which status, for a request with these fields. `ends` what others need: only refusals are tried."""

    def __init__(self, who, query=None, body=None, raw=None, ends=False):
        self.who, self.query, self.body, self.raw, self.ends = who, query, body, raw, ends


FILE = {"name": "model", "size": 1, "offset": 0, "hash": "0" * 64}
REPORT = {"reports": [{"group": "training", "steps": 1, "metrics": {"loss": 0.5}}]}
RULES = {
    "list_experiments": Rule(LISTS),
    "create_experiment": Rule(everybody(viewer=403, stranger=404, stranger_task=404), body={"config": {
        **single, "workspace": "lab", "entrypoint": "true", "resources": {"slots_per_trial": 0}}}),
    "get_experiment": Rule(READ),
    "list_trials": Rule(READ),
    "list_checkpoints": Rule(READ),
    "compare_trials": Rule(READ, query={"name": "loss", "group": "training", "trials": 5}),
    "get_trial": Rule(READ),
    "get_curve": Rule(READ, query={"name": "loss", "group": "training"}),
    "read_reports": Rule(READ, query={"group": "training"}),
    "get_checkpoint": Rule(READ),
    "read_checkpoint_file": Rule(READ, query={"name": "model"}),
    "pause_experiment": Rule(CHANGE, body={}, ends=True),
    "activate_experiment": Rule(CHANGE, body={}),
    "cancel_experiment": Rule(CHANGE, body={}, ends=True),
    "kill_experiment": Rule(CHANGE, body={}, ends=True),
    "set_experiment": Rule(CHANGE, body={"notes": "seen"}),
    "delete_experiment": Rule(CHANGE, ends=True),
    "get_search_events": Rule(CHANGE, query={"after": 0}, ends=True),  # it waits for an event
    "post_search_actions": Rule(CHANGE, body={"answers": 1, "actions": []}),
    "cancel_trial": Rule(CHANGE, body={}, ends=True),
    "kill_trial": Rule(CHANGE, body={}, ends=True),
    "continue_trial": Rule(CHANGE, body={}),
    "delete_checkpoint": Rule(CHANGE, ends=True),
    "begin_run": Rule(OF_THE_TASK, body={}),
    "report_trial": Rule(OF_THE_TASK, body={"progress": 0.5}),
    "report_metrics": Rule(OF_THE_TASK, body=REPORT),
    "begin_checkpoint": Rule(OF_THE_TASK, body={}),
    "complete_checkpoint": Rule(OF_THE_TASK, body={"steps": 1, "files": []}, ends=True),
    # Nobody adds files to a checkpoint that is complete, not even its own task.
    "put_checkpoint_file": Rule(dict.fromkeys(CALLERS, 403), query=FILE, raw=b"x"),
}


class Rights(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene(agent=("--artificial-slots", "8"))
        cluster = cls.cluster
        assert cluster.request("POST", "/workspaces", body={"name": "lab"}).status == 200
        cls.tokens = {
            "admin": cluster.admin,
            "owner": cluster.user("ann", {"lab": "editor"}),
            "lead": cluster.user("lea", {"lab": "admin"}),
            "editor": cluster.user("bob", {"lab": "editor"}),
            "viewer": cluster.user("vic", {"lab": "viewer"}),
            "stranger": cluster.user("eve", {"default": "editor"}),
        }
        cls.experiment = cls.begin("owner", "lab")
        cls.tokens["task"] = cls.token_of(cls.experiment)
        cls.tokens["other_task"] = cls.token_of(cls.begin("owner", "lab"))
        cls.tokens["stranger_task"] = cls.token_of(cls.begin("stranger", "default"))
        listed = cluster.get(f"/experiments/{cls.experiment}/checkpoints").json["checkpoints"]
        cls.checkpoint = listed[0]["id"]
        cls.document = cluster.get("/openapi.json", token=None).json

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    @classmethod
    def begin(cls, who, workspace):
        config = {**single, "workspace": workspace, "searcher": {"type": "custom", "metric": "loss"}}
        number = cls.cluster.create(config, cls.cluster.folder_of(holding), cls.tokens[who])
        made = cls.cluster.request("POST", f"/experiments/{number}/search/actions", token=cls.tokens[who], body={
            "answers": 1, "actions": [{"type": "create", "hyperparameters": {"x": 1}}]})
        assert made.status == 200, made.body
        return number

    @classmethod
    def token_of(cls, number):
        found = []

        def is_there():
            job = cls.cluster.trial(f"{number}.0")["jobs"][-1]
            found[:] = re.findall(r"TOKEN (\S+)", cls.cluster.cadre("logs", job, fails=True).stdout)
            return found

        cls.cluster.until(is_there)
        return found[-1]

    def operations(self):
        for path, methods in self.document["paths"].items():
            if re.match(r"/(experiments|trials|checkpoints)\b", path):
                for method, operation in methods.items():
                    yield operation["operationId"], method.upper(), path

    def ask(self, caller, name, method, path, experiment=None, checkpoint=None):
        rule = RULES[name]
        experiment = self.experiment if experiment is None else experiment
        target = (path.replace("{experiment}", str(experiment)).replace("{trial}", f"{experiment}.0")
                  .replace("{checkpoint}", checkpoint or self.checkpoint))
        self.assertNotIn("{", target)
        return self.cluster.request(method, target, token=self.tokens[caller], query=rule.query, body=rule.body,
                                    raw=rule.raw)

    def test_0_every_route_has_a_rule(self):
        self.assertEqual({name for name, _, _ in self.operations()}, set(RULES))

    def test_1_requests_without_the_right_are_refused(self):
        for name, method, path in self.operations():
            for caller in CALLERS:
                wanted = RULES[name].who[caller]
                if wanted == ALLOWED:
                    continue
                with self.subTest(route=name, caller=caller):
                    answer = self.ask(caller, name, method, path)
                    self.assertEqual(answer.status, wanted, answer.body)
        self.assertEqual(self.cluster.trial(f"{self.experiment}.0")["state"], "running")
        self.assertEqual(self.cluster.get(f"/checkpoints/{self.checkpoint}").json["state"], "completed")

    def test_2_requests_with_the_right_are_served(self):
        for name, method, path in self.operations():
            if RULES[name].ends:
                continue
            for caller in CALLERS:
                if RULES[name].who[caller] != ALLOWED:
                    continue
                with self.subTest(route=name, caller=caller):
                    answer = self.ask(caller, name, method, path)
                    self.assertNotIn(answer.status, (401, 403, 404), answer.body)

    def test_3_what_is_hidden_looks_like_what_is_not_there(self):
        for name, method, path in self.operations():
            if RULES[name].who["stranger"] != 404 or "{" not in path:
                continue
            with self.subTest(route=name):
                hidden = self.ask("stranger", name, method, path)
                missing = self.ask("stranger", name, method, path, experiment=99_999, checkpoint=UNKNOWN)
                neutral = re.sub(rf"\b{self.experiment}\b", "99999", hidden.json["detail"])
                self.assertEqual((hidden.status, neutral.replace(self.checkpoint, UNKNOWN)),
                                 (missing.status, missing.json["detail"]))

    def test_4_lists_leave_out_what_one_may_not_see(self):
        for caller, sees in (("viewer", True), ("stranger", False), ("stranger_task", False)):
            listed = self.cluster.get("/experiments", token=self.tokens[caller], query={"most": 1000}).json
            numbers = [one["id"] for one in listed["experiments"]]
            self.assertEqual(self.experiment in numbers, sees, caller)

    def test_5_no_experiment_begins_with_a_checkpoint_that_its_owner_may_not_read(self):
        for source in (self.checkpoint, f"{self.experiment}.0"):
            for caller, status in (("stranger", 404), ("stranger_task", 404)):
                answer = self.cluster.request("POST", "/experiments", token=self.tokens[caller], body={
                    "config": {**single, "workspace": "default", "entrypoint": "true"}, "warm_start": source})
                self.assertEqual(answer.status, status, answer.body)

    def test_6_uuids_and_names_of_files_lead_nowhere_else(self):
        task = self.tokens["task"]
        trial = f"{self.experiment}.0"
        for uuid in ("../../../../etc/passwd", "..", "A" * 36, "' OR 1=1 --" + "a" * 25, "%00" * 12,
                     "7D3C6A52-0B7E-4F6E-9D0A-3F1F4CF2B9A1"):
            quoted = urllib.parse.quote(uuid, safe="")
            begun = self.cluster.request("PUT", f"/trials/{trial}/checkpoints/{quoted}", token=task, body={})
            self.assertIn(begun.status, (400, 404), (uuid, begun.body))
            read = self.cluster.get(f"/checkpoints/{quoted}", token=task)
            self.assertIn(read.status, (400, 404), (uuid, read.body))
        taken = self.cluster.request("PUT", f"/trials/{trial}/checkpoints/{self.checkpoint}", token=task, body={})
        self.assertEqual(taken.status, 409, taken.body)
        taken = self.cluster.request("PUT", f"/trials/{trial}/checkpoints/{self.checkpoint}",
                                     token=self.tokens["stranger_task"], body={})
        self.assertEqual(taken.status, 403, taken.body)
        fresh = "11111111-2222-4333-8444-555555555555"
        self.assertEqual(self.cluster.request("PUT", f"/trials/{trial}/checkpoints/{fresh}", token=task,
                                              body={}).status, 200)
        for name in ("../escaped", "/etc/passwd", "a/../../b", "a//b", ".", "a\0b", "a\nb", "x/./y", "\\..\\b" + "\x7f"):
            put = self.cluster.request("PUT", f"/checkpoints/{fresh}/files", token=task, raw=b"x",
                                       query={**FILE, "name": name})
            self.assertEqual(put.status, 400, (name, put.body))
        for name in ("step", "../" + self.checkpoint + "/model", "model/../model"):
            read = self.cluster.get(f"/checkpoints/{self.checkpoint}/files", token=task, query={"name": name})
            self.assertEqual(read.status, 404, (name, read.body))
        self.assertEqual(list(pathlib.Path(tempfile.gettempdir()).glob("escaped")), [])
        # A checkpoint whose files were never uploaded is not complete, whatever its task says.
        path = f"/trials/{trial}/checkpoints/{fresh}/complete"
        files = [{"name": "model", "size": 1, "hash": "0" * 64}]
        done = self.cluster.request("POST", path, token=task, body={"steps": 1, "files": files})
        self.assertEqual(done.status, 400, done.body)
        self.assertIn("was not uploaded", done.json["detail"])
        listed = self.cluster.get(f"/experiments/{self.experiment}/checkpoints").json["checkpoints"]
        self.assertNotIn(fresh, [one["id"] for one in listed])

    def test_7_the_owner_may_end_and_delete(self):
        self.cluster.cadre("experiment", "kill", self.experiment, CADRE_TOKEN=self.tokens["owner"])
        self.cluster.wait_for_end(self.experiment)
        for route, method in (("report_metrics", "POST"), ("begin_run", "POST")):
            path = next(path for name, _, path in self.operations() if name == route)
            answer = self.ask("task", route, method, path)
            self.assertIn(answer.status, (401, 403), "the token ends with the task")
        self.cluster.cadre("experiment", "delete", self.experiment, "--yes", CADRE_TOKEN=self.tokens["owner"])


class Quotas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-quota-"))
        config = folder / "master.yaml"
        config.write_text("cluster: {job_bytes_of_user_max: 1MiB}\n")
        cls.cluster = Scene(master=("--config", config), agent=("--artificial-slots", "8"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def run_trials(self, token, program="import time; time.sleep(0.3)", **config):
        config = {"name": "quotas", "hyperparameters": {"x": {"type": "double", "min": 0, "max": 1}},
                  "searcher": {"type": "random", "metric": "loss", "max_trials": 8, "max_concurrent_trials": 0}, **config}
        return self.cluster.create(config, self.cluster.folder_of(program), token)

    def test_the_slots_of_a_user_bound_the_trials_that_run(self):
        token = self.cluster.user("ann", {"default": "editor"}, max_slots=2)
        number = self.run_trials(token)
        most = 0
        while self.cluster.experiment(number)["state"] == "active":
            held = self.cluster.get("/status").json["slots_used"]
            most = max(most, held)
        self.assertEqual(self.cluster.experiment(number)["state"], "completed")
        self.assertLessEqual(most, 2)
        self.assertGreater(most, 0)

    def test_a_trial_that_needs_more_slots_than_the_quota_is_refused_at_once(self):
        token = self.cluster.user("cas", {"default": "editor"}, max_slots=2)
        folder = self.cluster.folder_of("")
        path = folder / "x.json"
        path.write_text(json.dumps({"name": "x", "entrypoint": "true", "searcher": {"type": "single", "metric": "loss"},
                                    "resources": {"slots_per_trial": 3}}))
        refused = self.cluster.cadre("experiment", "create", path, folder, fails=True, CADRE_TOKEN=token)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("may hold 2 at most", refused.stderr)

    def test_trials_beyond_the_memory_for_jobs_of_a_user_wait_and_all_complete(self):
        token = self.cluster.user("bob", {"default": "editor"})
        number = self.run_trials(token, environment={"variables": {f"LARGE_{i}": "x" * 90_000 for i in range(3)}})
        reasons = {one.get("reason", "") for one in self.cluster.trials(number)}
        self.assertTrue(any("job_bytes_of_user_max" in reason for reason in reasons), reasons)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual((ended["state"], ended["trials"]["completed"]), ("completed", 8))


if __name__ == "__main__":
    unittest.main()
