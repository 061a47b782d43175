"""A trial whose metric is a formula instead of training, so that a search takes seconds: cadre experiment create -f
examples/experiments/search.yaml examples/experiments/search"""
import json
import math
import time

from cadre import core


def loss_at(step, lr, layers):
    """Falls with the steps towards a value that depends on the hyperparameters; the best are lr = 0.01 and 3 layers."""
    best = 0.1 + 0.15 * (math.log10(lr) + 2) ** 2 + 0.05 * (layers - 3) ** 2
    return best + 0.9 * math.exp(-step / 6)


def main():
    with core.init(hyperparameters={"lr": 0.1, "layers": 2, "seconds_per_step": 0.0}) as trial:
        parameters = trial.info.hyperparameters
        step = 0
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                step = json.loads((path / "state.json").read_text())["step"]
        length = trial.info.until or int(trial.info.data.get("length", 16))
        while step < length and not trial.preempt.should_stop():
            step += 1
            time.sleep(parameters["seconds_per_step"])
            trial.train.report_training(step, {"loss": loss_at(step - 0.5, parameters["lr"], parameters["layers"])})
            trial.train.report_validation(step, {"loss": loss_at(step, parameters["lr"], parameters["layers"])})
        with trial.checkpoint.store_path(steps=step) as (path, _):
            (path / "state.json").write_text(json.dumps({"step": step}))
        if trial.preempt.should_stop():
            trial.preempt.acknowledge()


if __name__ == "__main__":
    main()
