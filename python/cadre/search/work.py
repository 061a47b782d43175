"""Calls the function of ``Study.optimize()``."""
import threading
import time
from typing import TYPE_CHECKING, Callable, Optional, Tuple, Type

from cadre.search.errors import InvalidHyperparameters, SearchError
from cadre.search.trial import Trial

if TYPE_CHECKING:
    from cadre.search.study import Study

__all__ = ["Work"]

_look_again = 1.0  # seconds; others may have told a trial

Function = Callable[[Trial], Optional[float]]


class Work:
    """What several threads do together, each in run()."""

    def __init__(self, study: "Study", function: Function, calls_max: Optional[int], timeout: Optional[float],
                 catch: Tuple[Type[BaseException], ...]) -> None:
        self._study = study
        self._function = function
        self._calls_left = calls_max
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._catch = catch
        self._changed = threading.Condition()
        self._is_over = False
        self.error: Optional[BaseException] = None

    def run(self) -> None:
        while (trial := self._next()) is not None:
            self._run(trial)

    def stop(self) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _next(self) -> Optional[Trial]:
        """Waits for a trial; None: there is nothing more to do."""
        with self._changed:
            while not self._is_over and self._calls_left != 0:
                left = None if self._deadline is None else self._deadline - time.monotonic()
                if left is not None and left <= 0:
                    break
                trial = self._study._take()
                if trial is not None:
                    if self._calls_left is not None:
                        self._calls_left -= 1
                    return trial
                if self._study._is_idle:
                    break
                self._changed.wait(_look_again if left is None else min(left, _look_again))
            return None

    def _run(self, trial: Trial) -> None:
        try:
            self._tell(trial)
        except BaseException as error:
            if trial._is_asked:
                self._study._return(trial)
            with self._changed:
                self.error = self.error or error
            self.stop()
        with self._changed:
            self._changed.notify_all()

    def _tell(self, trial: Trial) -> None:
        try:
            value = self._function(trial)
        except InvalidHyperparameters:
            self._study.tell(trial, state="invalid")
        except SearchError:  # of the study itself: its file cannot be written
            raise
        except Exception as error:
            self._study.tell(trial, state="failed")
            if not isinstance(error, self._catch):
                raise
        else:
            self._study.tell(trial, value)
