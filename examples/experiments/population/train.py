"""A member of a population. Its reward grows in each step as fast as its hyperparameters allow, so a member that continues
from the checkpoint of a better one has the better reward at once: cadre experiment create -f
examples/experiments/population.yaml examples/experiments/population"""
import json
import math
import time

from cadre import core


def gain(lr, dropout):
    """Of one step: at most 1, at lr = 0.001 without dropout."""
    return max(0.0, 1 - abs(math.log10(lr) + 3) / 2) * (1 - dropout)


def main():
    with core.init(hyperparameters={"lr": 0.01, "dropout": 0.1}) as trial:
        parameters = trial.info.hyperparameters
        length = trial.info.until or 100
        state = {"step": 0, "reward": 0.0}
        if trial.info.latest_checkpoint is not None:
            with trial.checkpoint.restore_path(trial.info.latest_checkpoint) as path:
                state = json.loads((path / "state.json").read_text())
        while state["step"] < length and not trial.preempt.should_stop():
            time.sleep(trial.info.data.get("seconds_per_step", 0.0))
            state = {"step": state["step"] + 1, "reward": state["reward"] + gain(parameters["lr"], parameters["dropout"])}
            if state["step"] % 10 == 0:  # save before the report: another member may continue from here at once
                save(trial, state)
                trial.train.report_validation(state["step"], {"reward": state["reward"]})
        if trial.preempt.should_stop():
            save(trial, state)
            trial.preempt.acknowledge()


def save(trial, state):
    with trial.checkpoint.store_path(steps=state["step"]) as (path, _):
        (path / "state.json").write_text(json.dumps(state))


if __name__ == "__main__":
    main()
