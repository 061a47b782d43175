"""A master with one experiment of type custom, for tests: its trials report and end as soon as they are created."""
import json

from fake_trial_master import FakeTrialMaster


class FakeSearchMaster(FakeTrialMaster):
    """``value_of``: the metric of a trial from its hyperparameters and a step; trials run 3 steps."""

    def __init__(self, value_of):
        self.value_of = value_of
        self.events = [(1, {"type": "begun"})]
        self.last = 1
        self.answered = 0
        self.trials = []
        self.is_last = False
        self.state = "active"
        self.created = {}
        self.configs = []
        self.posts = []
        self.before = lambda operation: None
        self.after = lambda operation: None
        self.key = None
        super().__init__()

    @property
    def environment(self):
        return {"CADRE_MASTER": f"http://127.0.0.1:{self.port}", "CADRE_TOKEN": self.token}

    def start(self):
        super().start()
        self.server.handle_error = lambda *_: None  # clients are killed

    def take(self, handler, body):
        self.key = handler.headers.get("Idempotency-Key")
        operation = handler.path.partition("?")[0].split("/")[-1]
        self.before(operation)
        super().take(handler, body)
        self.after(operation)

    def note(self, event):
        self.last += 1
        self.events.append((self.last, event))

    def answer(self, method, path, query, body):
        if (method, path) == ("POST", ["experiments"]):
            self.created.setdefault(self.key, 12 + len(self.created))
            self.configs.append(json.loads(body)["config"])
            return 200, {"id": self.created[self.key]}
        if (method, path) == ("GET", ["experiments", "12"]):
            return 200, {"id": 12, "state": self.state}
        if (method, path) == ("GET", ["experiments", "12", "search", "events"]):
            after = max(int(query.get("after", 0)), self.answered)
            events = [{"number": number, "event": event} for number, event in self.events if number > after]
            return 200, {"events": events, "state": self.state}
        if (method, path) == ("POST", ["experiments", "12", "search", "actions"]):
            return self.perform(json.loads(body))
        return 404, {"title": "no", "status": 404, "detail": "there is no such object"}

    def perform(self, post):
        self.posts.append(post)
        if post["answers"] <= self.answered:
            return 200, {"id": 12}
        if any(action.get("hyperparameters", {}).get("x") == "wrong" for action in post["actions"]):
            return 400, {"title": "no", "status": 400, "detail": "the actions are invalid"}
        self.answered = post["answers"]
        self.last += 1  # the answer is an event, too
        for action in post["actions"]:
            if action["type"] == "create":
                self.run_trial(action["hyperparameters"])
            self.is_last = self.is_last or action["type"] == "shutdown"
        if self.is_last and self.answered >= self.events[-1][0]:
            self.state = "completed"
        return 200, {"id": 12}

    def run_trial(self, hyperparameters):
        trial = len(self.trials)
        self.trials.append(hyperparameters)
        for step in (1, 2, 3):
            self.note({"type": "reported", "trial": trial, "time": step, "metric": self.value_of(hyperparameters, step)})
        self.note({"type": "ended", "trial": trial, "exit": "completed"})
