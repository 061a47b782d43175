"""The interface of a program to its trial: hyperparameters, metrics, checkpoints, preemption and search, and the other
processes of a distributed trial.

    from cadre import core

    with core.init(hyperparameters={"lr": 0.1}) as trial:
        lr = trial.info.hyperparameters["lr"]
        for step in range(1, 1001):
            trial.train.report_training(step, {"loss": train(lr)})
            if trial.preempt.should_stop():
                break
        with trial.checkpoint.store_path(steps=step) as (path, uuid):
            save(path / "model")

On a cluster this is the trial of the task. Elsewhere the same program runs by itself, and a folder keeps its metrics and
checkpoints. Reports are sent in the background, in order; an error in one is raised by a later call. All functions are
thread-safe, except that those which all ranks of a distributed trial call together must be called by one thread of each
at a time.
"""
from cadre.core.checkpoint import Checkpoint, Checkpoints
from cadre.core.context import Context, Info, init
from cadre.core.control import Operation, Preempt, Search
from cadre.core.distributed import Distributed
from cadre.core.errors import CoreError, InvalidHyperparameters
from cadre.core.reports import Profiler, Train

__all__ = [
    "Checkpoint",
    "Checkpoints",
    "Context",
    "CoreError",
    "Distributed",
    "Info",
    "InvalidHyperparameters",
    "Operation",
    "Preempt",
    "Profiler",
    "Search",
    "Train",
    "init",
]
