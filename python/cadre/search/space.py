"""Hyperparameters and search methods as an experiment file has them: dicts with a ``type``."""
from typing import Any, Dict, List, Mapping, Optional, Sequence

__all__ = ["asha", "asha_promote", "categorical", "const", "double", "grid", "integer", "log", "pbt", "random", "single",
           "tpe"]

Spec = Dict[str, Any]


def _spec(type_name: str, fields: Mapping[str, Any]) -> Spec:
    return {"type": type_name, **{name: value for name, value in fields.items() if value is not None}}


# Hyperparameters. ``when`` makes one conditional: {"optimizer": "sgd"}.


def const(value: Any, *, when: Optional[Mapping[str, Any]] = None) -> Spec:
    """The same value in all trials; the value alone means the same."""
    return _spec("const", {"value": value, "when": when})


def integer(min: int, max: int, *, count: Optional[int] = None, step: Optional[int] = None, log: Optional[bool] = None,
            when: Optional[Mapping[str, Any]] = None) -> Spec:
    """A whole number from ``min`` to ``max``, both included: ``int`` in the file. ``count``: of its values in a grid.
    ``log``: the logarithm is evenly distributed."""
    return _spec("int", {"min": min, "max": max, "count": count, "step": step, "log": log, "when": when})


def double(min: float, max: float, *, count: Optional[int] = None, step: Optional[float] = None,
           when: Optional[Mapping[str, Any]] = None) -> Spec:
    """A real number from ``min`` to ``max``, which is included only in a grid."""
    return _spec("double", {"min": min, "max": max, "count": count, "step": step, "when": when})


def log(min: float, max: float, *, base: Optional[float] = None, count: Optional[int] = None,
        when: Optional[Mapping[str, Any]] = None) -> Spec:
    """A power of ``base`` (10) with an exponent from ``min`` to ``max``: log(-4, -1) is from 0.0001 to 0.1."""
    return _spec("log", {"min": min, "max": max, "base": base, "count": count, "when": when})


def categorical(values: Sequence[Any], *, when: Optional[Mapping[str, Any]] = None) -> Spec:
    """One of a list of values."""
    return _spec("categorical", {"values": list(values), "when": when})


# Samplers and search methods.


def tpe(*, startup: Optional[int] = None, gamma: Optional[float] = None, candidates: Optional[int] = None,
        multivariate: Optional[bool] = None) -> Spec:
    """A sampler that draws near the best results so far."""
    return _spec("tpe", {"startup": startup, "gamma": gamma, "candidates": candidates, "multivariate": multivariate})


def single() -> Spec:
    """One trial."""
    return _spec("single", {})


def random(*, max_trials: Optional[int] = None, max_concurrent_trials: Optional[int] = None,
           sampler: Optional[Spec] = None) -> Spec:
    """Trials that all run to their end. In a study without ``max_trials`` there is no limit."""
    return _spec("random", {"max_trials": max_trials, "max_concurrent_trials": max_concurrent_trials, "sampler": sampler})


def grid(*, max_concurrent_trials: Optional[int] = None) -> Spec:
    """A trial for each combination of values."""
    return _spec("grid", {"max_concurrent_trials": max_concurrent_trials})


def asha(*, max_trials: int, max_time: int, divisor: Optional[float] = None, max_rungs: Optional[int] = None,
         mode: Optional[str] = None, max_concurrent_trials: Optional[int] = None,
         bracket_rungs: Optional[List[int]] = None, sampler: Optional[Spec] = None) -> Spec:
    """Asynchronous successive halving: stops bad trials early."""
    return _spec("asha", {
        "max_trials": max_trials, "max_time": max_time, "divisor": divisor, "max_rungs": max_rungs, "mode": mode,
        "max_concurrent_trials": max_concurrent_trials, "bracket_rungs": bracket_rungs, "sampler": sampler})


def asha_promote(*, max_trials: int, max_time: int, divisor: Optional[float] = None, max_rungs: Optional[int] = None,
                 mode: Optional[str] = None, max_concurrent_trials: Optional[int] = None,
                 bracket_rungs: Optional[List[int]] = None, sampler: Optional[Spec] = None) -> Spec:
    """The same, but trials are suspended at a rung, and the best of them continue later."""
    return {**asha(max_trials=max_trials, max_time=max_time, divisor=divisor, max_rungs=max_rungs, mode=mode,
                   max_concurrent_trials=max_concurrent_trials, bracket_rungs=bracket_rungs, sampler=sampler),
            "type": "asha_promote"}


def pbt(*, interval: int, population: Optional[int] = None, truncation: Optional[float] = None,
        resample_probability: Optional[float] = None, perturb_factors: Optional[List[float]] = None,
        sampler: Optional[Spec] = None) -> Spec:
    """Population-based training: bad trials continue from states of good ones, with changed hyperparameters."""
    return _spec("pbt", {
        "interval": interval, "population": population, "truncation": truncation,
        "resample_probability": resample_probability, "perturb_factors": perturb_factors, "sampler": sampler})
