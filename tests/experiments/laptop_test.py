"""A program of cadre.core runs unchanged without a cluster and on one, with the same metrics and checkpoints."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from scene import PYTHON, Scene

program = """
    import json, os, random
    from cadre import core
    with core.init(hyperparameters={"lr": 0.1, "model": {"layers": 2}},
                   seed=int(os.environ.get("LOCAL_SEED", "7"))) as trial:
        draw = random.Random(trial.info.seed)
        step, weight = 0, 0.0
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                version, inner, gauss = json.loads((path / "random").read_text())
                draw.setstate((version, tuple(inner), gauss))
                step, weight = json.loads((path / "state").read_text())
        while step < 20 and not trial.preempt.should_stop():
            step += 1
            weight += trial.info.hyperparameters["lr"] * (draw.random() - weight)
            trial.train.report_training(step, {"weight": weight, "model": {"layers": 2}})
            if step % 5 == 0:
                trial.train.report_validation(step, {"loss": abs(weight - 0.5), "note": "fine"})
                with trial.checkpoint.store_path(steps=step, metadata={"weight": weight}) as (path, uuid):
                    (path / "random").write_text(json.dumps(draw.getstate()))
                    (path / "state").write_text(json.dumps([step, weight]))
        if trial.preempt.should_stop():
            trial.preempt.acknowledge()
"""

config = {
    "name": "laptop",
    "hyperparameters": {"lr": 0.1, "model": {"layers": 2}},
    "searcher": {"type": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "checkpoints": {"save_trial_best": 0, "save_trial_latest": 4},
}


def flat(metrics):
    """The names of nested metrics joined with dots, as the master stores them."""
    found = {}
    for name, value in metrics.items():
        inner = {f"{name}.{key}": one for key, one in flat(value).items()} if isinstance(value, dict) else {name: value}
        found.update(inner)
    return found


class Laptop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_the_same_program_off_and_on_the_cluster(self):
        folder = self.cluster.folder_of(program)
        number = self.cluster.create(config, folder)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual(ended["state"], "completed", self.cluster.output_of(f"{number}.0"))
        trial = self.cluster.trial(f"{number}.0")
        on = {}
        for group in ("training", "validation"):
            page = self.cluster.get(f"/trials/{number}.0/reports", query={"group": group, "most": 1000}).json
            on[group] = [(one["steps"], one["metrics"]) for one in page["reports"]]
        saved = self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]
        self.cluster.until(lambda: len(saved) == 4)

        local = pathlib.Path(tempfile.mkdtemp(dir=self.cluster.folder))
        # Only the seed, which the search draws, is given; the program is the same file.
        text = (folder / "train.py").read_text()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CADRE_")}
        environment.update(PYTHONPATH=str(pathlib.Path(os.environ["CADRE_PROGRAM"]).parent / "python"),
                           CADRE_LOCAL_FOLDER=str(local), LOCAL_SEED=str(trial["seed"]))
        (local / "train.py").write_text(text)
        done = subprocess.run([PYTHON, str(folder / "train.py")], env=environment, cwd=local, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        off = {"training": [], "validation": []}
        for line in (local / "metrics.jsonl").read_text().splitlines():
            report = json.loads(line)
            off[report["group"]].append((report["steps"], flat(report["metrics"])))
        self.assertEqual(off, on)
        cards = [json.loads(path.read_text()) for path in (local / "checkpoints").glob("*.json")]
        self.assertEqual(sorted((card["steps"], card["metadata"], sorted((file["name"], file["hash"])
                                                                        for file in card["files"])) for card in cards),
                         sorted((one["steps"], one["metadata"], self.files_of(one["id"])) for one in saved))

    def files_of(self, checkpoint):
        return sorted((file["name"], file["hash"]) for file in self.cluster.get(f"/checkpoints/{checkpoint}").json["files"])


if __name__ == "__main__":
    unittest.main()
