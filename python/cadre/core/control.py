"""When a program has to stop, and how far it has to train."""
from typing import Iterator, Optional

from cadre import _native
from cadre.core.errors import take

__all__ = ["Operation", "Preempt", "Search"]


class Preempt:
    """Stop requests: the trial is paused, preempted, or not wanted any more."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native

    def should_stop(self) -> bool:
        """Whether to save a checkpoint and end. Does not block in a trial of one process; call it in every step. In a
        distributed trial all ranks must call it equally often, and get the same answer."""
        return take(self._native.should_stop())

    def grace_left(self) -> Optional[float]:
        """Seconds until this process is killed, or None if there is no stop request."""
        stop = self._native.stop()
        return None if stop is None else stop[1]

    def acknowledge(self) -> None:
        """Says that everything is saved that is needed to continue, and that the program is about to end. All reports are
        stored before."""
        take(self._native.acknowledge())


class Operation:
    """One length up to which to train."""

    def __init__(self, native: _native.Trial, length: int) -> None:
        self._native = native
        self.length = length
        """The length, in the unit of the search (steps, unless ``time_metric`` says otherwise); 0: until stopped."""

    def report_progress(self, length: float) -> None:
        """Reports how far the training is."""
        if self.length:
            take(self._native.report_progress(min(1.0, max(0.0, length / self.length))))


class Search:
    """For training loops that follow the search:

        for operation in trial.search.operations():
            while steps < operation.length:
                ...
            trial.train.report_validation(steps, metrics)
    """

    def __init__(self, native: _native.Trial) -> None:
        self._native = native
        self._has_begun = False

    @property
    def until(self) -> int:
        """The length up to which to train; 0: until it is stopped."""
        return self._native.until

    def operations(self) -> Iterator[Operation]:
        """The lengths, one after another. An operation ends when the next one is asked for: report a validation before. In
        a distributed trial all ranks go through them."""
        length = self.until if self._has_begun else self._next()
        while length is not None:
            yield Operation(self._native, length)
            length = self._next()

    def completed(self) -> Optional[int]:
        """Says that the present length is reached; all reports are stored before. Returns the next length, or None if this
        trial is done."""
        if not self._has_begun:
            self._next()
        return self._next()

    def _next(self) -> Optional[int]:
        self._has_begun = True
        return take(self._native.next_until())
