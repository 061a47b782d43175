"""A search of one's own: a hill climber that tries the neighbours of the best point, and then closer ones.

    python3 examples/experiments/custom_search/climb.py climb.json

Interrupt it, kill it, restart the master: started again with the same file, it continues the same experiment."""
import pathlib
import sys

from cadre import search

HERE = pathlib.Path(__file__).parent


class Climber(search.Searcher):
    """The state is a dict of plain data: the best point, and the trials of the present round."""

    def __init__(self):
        self.best = {"exponent": -1.0, "layers": 1, "loss": None}  # lr is 10 to the power of the exponent
        self.width = 1.0
        self.trials = {}

    def state(self):
        return {"best": self.best, "width": self.width, "trials": [[number, one] for number, one in self.trials.items()]}

    def restore(self, state):
        self.best, self.width, self.trials = state["best"], state["width"], dict(state["trials"])

    def on_begin(self):
        self.try_points([(self.best["exponent"], self.best["layers"])])

    def on_report(self, trial, time, metric):
        one = self.trials[trial]
        if time == 6 and self.best["loss"] is not None and metric > self.best["loss"] + 0.4:
            one["is_behind"] = True
            self.stop(trial)
        one["loss"] = metric

    def on_end(self, trial, exit):
        self.trials[trial]["end"] = exit
        if all(one["end"] for one in self.trials.values()):
            self.next_round()

    def next_round(self):
        good = [one for one in self.trials.values()
                if one["end"] == "completed" and one["loss"] is not None and not one["is_behind"]]
        first = min(good, key=lambda one: one["loss"], default=None)
        if first is not None and (self.best["loss"] is None or first["loss"] < self.best["loss"]):
            self.best = {name: first[name] for name in self.best}
            print(f"loss {self.best['loss']:.3f} with lr = {10 ** self.best['exponent']:.4g} and "
                  f"{self.best['layers']} layers", flush=True)
        else:
            self.width /= 2
        if self.width < 0.25:
            return self.shutdown()
        exponent, layers = self.best["exponent"], self.best["layers"]
        self.try_points([(exponent - self.width, layers), (exponent + self.width, layers),
                         (exponent, layers - 1), (exponent, layers + 1)])

    def try_points(self, points):
        self.trials = {}
        for exponent, layers in points:
            if -4 <= exponent <= 0 and 1 <= layers <= 6:
                number = self.create({"lr": 10.0 ** exponent, "layers": layers})
                self.trials[number] = {"exponent": exponent, "layers": layers, "loss": None, "is_behind": False, "end": ""}


if __name__ == "__main__":
    climber = Climber()
    state = search.run(climber, file=sys.argv[1] if len(sys.argv) > 1 else "climb.json", config=HERE / "climb.yaml",
                       code=HERE.parent / "search")
    print(f"{state}; the best has {climber.best['layers']} layers and lr = {10 ** climber.best['exponent']:.4g}")
