"""Errors of trials."""
from typing import Any, Tuple

__all__ = ["CoreError", "InvalidHyperparameters", "take"]


class CoreError(RuntimeError):
    """An operation failed. ``code`` is invalid, not_found, conflict, unavailable, timed_out, denied (for example because
    the run is over) or corrupt."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (CoreError, (self.code, str(self)))


class InvalidHyperparameters(SystemExit):
    """Ends the program with exit code 0: its hyperparameters cannot be used, and the master knows."""

    def __init__(self) -> None:
        super().__init__(0)


def take(outcome: Tuple[bool, Any]) -> Any:
    """The value of an outcome of the native module, or its error."""
    is_good, content = outcome
    if is_good:
        return content
    raise CoreError(*content)
