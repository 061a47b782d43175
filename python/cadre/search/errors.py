"""Errors of searches."""
from typing import Any, List, Tuple

__all__ = ["InvalidHyperparameters", "SearchError", "SpaceError"]


class SearchError(RuntimeError):
    """A search cannot do what was asked. ``code`` is invalid, not_found, conflict, unavailable, timed_out, denied or
    corrupt."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (type(self), (self.code, str(self)))


class SpaceError(ValueError):
    """Hyperparameters or settings of a search are wrong. ``faults`` has all of them as (path, what is wrong)."""

    def __init__(self, faults: List[Tuple[str, str]]) -> None:
        super().__init__("\n".join(f"{path}: {text}" if path else text for path, text in faults))
        self.faults = faults

    def __reduce__(self) -> Any:
        return (SpaceError, (self.faults,))


class InvalidHyperparameters(Exception):
    """Raised by the function of ``Study.optimize()``: these hyperparameters cannot be used. Another trial replaces it."""
