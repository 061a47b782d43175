"""Searches for good hyperparameters: in a program without a cluster, or as the program that decides about the trials of an
experiment.

    from cadre import search

    def train(trial):
        for epoch in range(1, 28):
            trial.report(epoch, loss_after(epoch, **trial.hyperparameters))
            if trial.should_stop():
                break

    space = {"lr": search.log(-5, -1), "optimizer": search.categorical(["sgd", "adam"]),
             "momentum": search.double(0, 0.99, when={"optimizer": "sgd"})}
    study = search.Study(space, search.asha(max_trials=64, max_time=27), file="study.jsonl")
    study.optimize(train)
    print(study.best.hyperparameters, study.best.best_value)

Spaces, search methods and samplers are those of experiments, as dicts or made by the functions here. A search of one's own
is a Searcher; run() lets it decide about the trials of an experiment of type custom.
"""
from cadre.search.errors import InvalidHyperparameters, SearchError, SpaceError
from cadre.search.program import Searcher, run
from cadre.search.space import (asha, asha_promote, categorical, const, double, grid, integer, log, pbt, random, single,
                                tpe)
from cadre.search.study import Study
from cadre.search.trial import Trial

__all__ = [
    "InvalidHyperparameters",
    "SearchError",
    "Searcher",
    "SpaceError",
    "Study",
    "Trial",
    "asha",
    "asha_promote",
    "categorical",
    "const",
    "double",
    "grid",
    "integer",
    "log",
    "pbt",
    "random",
    "run",
    "single",
    "tpe",
]
