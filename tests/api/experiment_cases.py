"""Cases of the routes of experiments, for routes_test.py. Programs of trials call with the token of their task."""
import hashlib
import uuid

CONTENT = b"weights"
CONTENT_HASH = hashlib.sha256(CONTENT).hexdigest()


class Experiments:
    """Experiments of the user `ed`. The trials do nothing; this test calls in their place."""

    def __init__(self, world):
        self.cluster = world.cluster
        self.owner = world.tokens["ed"]
        self.number = self.fresh(slots=1)  # not on the agent without slots, which another case removes
        self.trial = f"{self.number}.0"
        world.tokens["trial"] = self.token_of(self.trial)
        self.run = world.tokens["trial"]
        self.request("POST", f"/trials/{self.trial}/run", body={})
        report = {"group": "validation", "steps": 1, "metrics": {"loss": 0.5}}
        self.request("POST", f"/trials/{self.trial}/metrics", body={"reports": [report]})

    def request(self, method, path, **more):
        answer = self.cluster.request(method, path, token=self.run, **more)
        assert answer.status == 200, answer.body
        return answer.json

    @staticmethod
    def config(command="echo $CADRE_TOKEN; sleep 1000", searcher=None, slots=0):
        return {"name": "routes", "entrypoint": command, "searcher": searcher or {"type": "single", "metric": "loss"},
                "resources": {"slots_per_trial": slots}}

    def fresh(self, **config):
        made = self.cluster.request("POST", "/experiments", token=self.owner, body={"config": self.config(**config)})
        assert made.status == 200, made.body
        number = made.json["id"]
        if "searcher" not in config:
            self.cluster.until(lambda: self.cluster.get(f"/trials/{number}.0").json["jobs"])
        return number

    def ended(self):
        number = self.fresh(command="true")
        self.cluster.until(lambda: self.cluster.get(f"/experiments/{number}").json["state"] == "completed")
        return number

    def token_of(self, trial):
        found = []

        def is_printed():
            task = f"{self.cluster.get(f'/trials/{trial}').json['jobs'][0]}.0"
            found[:] = [line["text"] for line in self.cluster.get(f"/tasks/{task}/logs").json["lines"]]
            return found

        self.cluster.until(is_printed)
        return found[0]

    def begun_checkpoint(self):
        made = str(uuid.uuid4())
        self.request("PUT", f"/trials/{self.trial}/checkpoints/{made}")
        return made

    def filled_checkpoint(self):
        made = self.begun_checkpoint()
        self.request("PUT", f"/checkpoints/{made}/files", raw=CONTENT,
                     query={"name": "model", "size": len(CONTENT), "offset": 0, "hash": CONTENT_HASH})
        return made

    def checkpoint(self):
        made = self.filled_checkpoint()
        self.request("POST", f"/trials/{self.trial}/checkpoints/{made}/complete", body={"steps": 1, "files": FILES})
        return made


FILES = [{"name": "model", "size": len(CONTENT), "hash": CONTENT_HASH}]


def experiment_cases(case, world):
    experiments = Experiments(world)
    number, trial = experiments.number, experiments.trial
    removable = experiments.checkpoint()
    checkpoint = experiments.checkpoint()  # with which the trial would continue
    custom = experiments.fresh(searcher={"type": "custom", "metric": "loss"})
    faulty = {"experiment": "x"}
    unknown = {"query": {"nonsense": 1}}
    extra = {"body": {"nonsense": 1}}

    def reads(good, bad, faults):
        return case(good, bad, faults, as_="viewer", hidden="stranger")

    def changes(good, bad, faults, **more):
        return case(good, bad, faults, not_as="viewer", hidden="stranger", **more)

    def of_trial(good, bad, faults, **more):
        """Only the program of the trial may call it, also not the owner."""
        return case(good, bad, faults, as_="trial", not_as="ed", **more)

    def act_on_fresh(make=experiments.fresh):
        return changes({"path": {"experiment": make()}}, {"path": faulty, **extra}, ["experiment", "nonsense"])

    def act_on_trial(make=experiments.fresh):
        return changes({"path": {"trial": f"{make()}.0"}}, {"path": {"trial": "12"}, **extra}, ["trial", "nonsense"])

    return {
        "create_experiment": changes({"body": {"config": experiments.config(command="true")}},
                                     {"body": {"warm_start": "x" * 65, "nonsense": 1}},
                                     ["config", "warm_start", "nonsense"]),
        "list_experiments": case({"query": {"most": 2}}, {"query": {"most": 0, "state": "tired", "archived": "x"}},
                                 ["most", "state", "archived"]),
        "get_experiment": reads({"path": {"experiment": number}}, {"path": faulty, **unknown},
                                ["experiment", "nonsense"]),
        "set_experiment": changes({"path": {"experiment": number}, "body": {"notes": "a note", "priority": 40}},
                                  {"path": {"experiment": number}, "body": {"name": "", "priority": 0, "weight": -1}},
                                  ["name", "priority", "weight"]),
        "pause_experiment": act_on_fresh(),
        "activate_experiment": act_on_fresh(),
        "cancel_experiment": act_on_fresh(),
        "kill_experiment": act_on_fresh(),
        "delete_experiment": changes({"path": {"experiment": experiments.ended()}}, {"path": faulty, **unknown},
                                     ["experiment", "nonsense"]),
        "get_search_events": changes({"path": {"experiment": custom}}, {"path": faulty, "query": {"after": -1}},
                                     ["experiment", "after"]),
        "post_search_actions": changes(
            {"path": {"experiment": custom}, "body": {"answers": 1, "actions": [{"type": "create"}]}},
            {"path": {"experiment": custom}, "body": {"answers": 0, "actions": [{"type": "dance"}]}},
            ["answers", "actions[0].type"]),
        "list_trials": reads({"path": {"experiment": number}, "query": {"order": "metric"}},
                             {"path": {"experiment": number}, "query": {"order": "beauty", "most": 0}},
                             ["order", "most"]),
        "get_trial": reads({"path": {"trial": trial}}, {"path": {"trial": "12"}, **unknown}, ["trial", "nonsense"]),
        "cancel_trial": act_on_trial(),
        "kill_trial": act_on_trial(),
        "continue_trial": act_on_trial(experiments.ended),
        "compare_trials": reads({"path": {"experiment": number}, "query": {"name": "loss"}},
                                {"path": {"experiment": number}, "query": {"trials": 0, "most": "x"}},
                                ["trials", "most"]),
        "get_curve": reads({"path": {"trial": trial}, "query": {"name": "loss", "group": "validation"}},
                           {"path": {"trial": trial}, "query": {"from": -1, "most": 0}}, ["name", "from", "most"]),
        "read_reports": reads({"path": {"trial": trial}}, {"path": {"trial": trial}, "query": {"most": 0}}, ["most"]),
        "list_checkpoints": reads({"path": {"experiment": number}},
                                  {"path": {"experiment": number}, "query": {"trial": -1, "deleted": "x"}},
                                  ["trial", "deleted"]),
        "get_checkpoint": reads({"path": {"checkpoint": checkpoint}}, {"path": {"checkpoint": "x"}, **unknown},
                                ["checkpoint", "nonsense"]),
        "read_checkpoint_file": reads({"path": {"checkpoint": checkpoint}, "query": {"name": "model"}},
                                      {"path": {"checkpoint": checkpoint}, "query": {"offset": -1, "most": 0}},
                                      ["name", "offset", "most"]),
        "delete_checkpoint": changes({"path": {"checkpoint": removable}},
                                     {"path": {"checkpoint": "x"}, **unknown}, ["checkpoint", "nonsense"]),
        "begin_run": of_trial({"path": {"trial": trial}}, {"path": {"trial": "12"}, **extra}, ["trial", "nonsense"]),
        "report_trial": of_trial({"path": {"trial": trial}, "body": {"progress": 0.5}},
                                 {"path": {"trial": trial}, "body": {"progress": 2, "status": "x" * 300}},
                                 ["progress", "status"]),
        "report_metrics": of_trial(
            {"path": {"trial": trial}, "body": {"reports": [
                {"group": "validation", "steps": 2, "metrics": {"loss": 0.25}}]}},
            {"path": {"trial": trial}, "body": {"reports": [{"group": "", "steps": -1}]}},
            ["reports[0].group", "reports[0].steps", "reports[0].metrics"]),
        "begin_checkpoint": of_trial({"path": {"trial": trial, "checkpoint": str(uuid.uuid4())}},
                                     {"path": {"trial": "12", "checkpoint": "x"}}, ["trial", "checkpoint"]),
        "put_checkpoint_file": of_trial(
            {"path": {"checkpoint": experiments.begun_checkpoint()},
             "query": {"name": "model", "size": len(CONTENT), "offset": 0, "hash": CONTENT_HASH}},
            {"path": {"checkpoint": "x"}, "query": {"name": "model", "size": -1}},
            ["checkpoint", "size", "offset", "hash"], raw=CONTENT),
        "complete_checkpoint": of_trial(
            {"path": {"trial": trial, "checkpoint": experiments.filled_checkpoint()},
             "body": {"steps": 2, "files": FILES}},
            {"path": {"trial": trial, "checkpoint": "x"}, "body": {"steps": -1}}, ["checkpoint", "steps", "files"]),
    }
