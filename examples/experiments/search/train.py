"""A trial whose metric is a formula instead of training, so that a search takes seconds.

By itself:     PYTHONPATH=build/release/python /usr/bin/python3 examples/experiments/search/train.py lr=0.01
On a cluster:  cadre experiment create -f examples/experiments/search.yaml examples/experiments/search
"""
import json
import math
import time

from cadre import core


def loss_at(step, lr, layers):
    """Falls with the steps towards a value that is best for lr = 0.01 and 3 layers; small learning rates take longer."""
    distance = math.log10(lr) + 2
    best = 0.1 + 0.15 * distance**2 + 0.05 * (layers - 3) ** 2
    return best + 0.9 * math.exp(-step / (6 - distance))


def main():
    with core.init(hyperparameters={"lr": 0.1, "layers": 2}, until=16) as trial:
        lr, layers = trial.info.hyperparameters["lr"], trial.info.hyperparameters["layers"]
        step = 0
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                step = json.loads((path / "state.json").read_text())["step"]
        while step < trial.info.until and not trial.preempt.should_stop():
            step += 1
            time.sleep(trial.info.data.get("seconds_per_step", 0))
            trial.train.report_training(step, {"loss": loss_at(step - 0.5, lr, layers)})
            trial.train.report_validation(step, {"loss": loss_at(step, lr, layers)})
        with trial.checkpoint.store_path(steps=step) as (path, _):
            (path / "state.json").write_text(json.dumps({"step": step}))
        if trial.preempt.should_stop():
            trial.preempt.acknowledge()


if __name__ == "__main__":
    main()
