"""What a program reports of its trial."""
from typing import Any, Mapping

from cadre import _native
from cadre.core.errors import InvalidHyperparameters, take
from cadre.core.plain import plain_metrics

__all__ = ["Profiler", "Train"]


class Train:
    """Reports of a trial. Calls return at once and wait only while too many reports are not sent; an error in an earlier
    report is raised. In a distributed trial all ranks may report: of training, validation, progress and status, the
    reports of rank 0 count; those of other groups are all sent."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native

    def report_metrics(self, group: str, steps: int, metrics: Mapping[str, Any]) -> None:
        """Reports metrics at a number of completed steps: numbers, str, bool, or dicts of them; numpy scalars, and arrays
        and tensors of one element, count as numbers. The same group and steps again adds to them."""
        take(self._native.report(group, int(steps), plain_metrics(metrics)))

    def report_training(self, steps: int, metrics: Mapping[str, Any]) -> None:
        """Reports metrics of the group ``training``."""
        self.report_metrics("training", steps, metrics)

    def report_validation(self, steps: int, metrics: Mapping[str, Any]) -> None:
        """Reports metrics of the group ``validation``. The metric that the search optimizes must be among them."""
        self.report_metrics("validation", steps, metrics)

    def report_progress(self, progress: float) -> None:
        """Reports progress from 0 to 1, for display."""
        take(self._native.report_progress(float(progress)))

    def set_status(self, text: str) -> None:
        """Sets a status text of at most 256 bytes, for display."""
        take(self._native.set_status(text))

    def invalid_hyperparameters(self) -> None:
        """Says that the hyperparameters cannot be used, and ends the program: raises InvalidHyperparameters, a
        SystemExit. The trial completes, and the search replaces it."""
        take(self._native.invalid_hyperparameters())
        raise InvalidHyperparameters()

    def flush(self) -> None:
        """Waits until all reports are stored."""
        take(self._native.flush())


class Profiler:
    """Samples CPU, memory, disk and GPUs used by this process in the background, as metrics of the group ``profiler``.
    Their steps are seconds since 1970."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native

    def on(self, interval: float = 10.0) -> None:
        """Begins, with a sample every ``interval`` seconds."""
        take(self._native.profile(interval))

    def off(self) -> None:
        """Ends it."""
        self._native.end_profile()
