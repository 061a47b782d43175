"""Values of programs as plain data: what stands in JSON."""
import collections.abc
from typing import Any

__all__ = ["plain_metrics", "plain_value"]

_scalars = (bool, int, float, str)
_types = frozenset(_scalars)


def plain_metrics(metrics: Any, path: str = "") -> Any:
    """Metrics with plain numbers: numpy scalars, and arrays and tensors of one element, become numbers."""
    if type(metrics) in _types:
        return metrics
    if isinstance(metrics, collections.abc.Mapping):
        return {_name(key, path): plain_metrics(value, f"{path}.{key}" if path else key) for key, value in metrics.items()}
    if isinstance(metrics, _scalars):  # also numpy.float64
        return metrics
    return _item(metrics, path)


def plain_value(value: Any, path: str) -> Any:
    """The same of any plain data: None, lists and arrays are allowed, too."""
    if value is None or type(value) in _types:
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_name(key, path): plain_value(one, f"{path}.{key}") for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(one, f"{path}[{at}]") for at, one in enumerate(value)]
    if isinstance(value, _scalars):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{path} is a {type(value).__name__}; use numbers, str, bool, None, lists and dicts")


def _name(key: Any, path: str) -> str:
    if isinstance(key, str):
        return key
    raise TypeError(f"a name in {path or 'the metrics'} is {key!r}, but must be a str")


def _item(value: Any, path: str) -> Any:
    where = f"the metric {path}" if path else "metrics"
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{where} is a {type(value).__name__}; report numbers, str, bool, or dicts of them")
    try:
        found = item()
    except (ValueError, RuntimeError):
        shape = tuple(getattr(value, "shape", ()))
        raise TypeError(f"{where} is an array of shape {shape}; report one number for each name") from None
    if isinstance(found, _scalars):
        return found
    raise TypeError(f"{where} is a {type(found).__name__}; report numbers, str, bool, or dicts of them")
