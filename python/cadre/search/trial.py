"""A trial of a study."""
import math
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    from cadre.search.study import Study

__all__ = ["Trial"]


class Trial:
    """One point of the space, and what came of it. It is made by the study."""

    def __init__(self, study: "Study", number: int, hyperparameters: Dict[str, Any], seed: int) -> None:
        self._study = study
        self.number = number
        """From 0, in the order of creation."""
        self.hyperparameters = hyperparameters
        self.seed = seed
        """For the random numbers of the program, 31 bits."""
        self.until = 0
        """Step up to which to train; 0: as long as the program wants."""
        self.reports: List[Tuple[float, float]] = []
        """Step and value, in order."""
        self.source: Optional[int] = None
        """pbt: number of the trial whose ``checkpoint`` it continues."""
        self.checkpoint: Any = None
        """For the program: a state with which to continue, if the trial is suspended or replaced. It is not written to the
        file of the study."""
        self._exit = ""  # how it has ended
        self._is_asked = False  # a program runs it
        self._is_unwanted = False  # the search has stopped it
        self._is_suspended = False
        self._leaves = False  # its program is to end, and it goes on later
        self._next: Optional[Tuple[Dict[str, Any], Any]] = None  # hyperparameters and checkpoint with which it goes on

    @property
    def state(self) -> str:
        """waiting, running, suspended, completed, failed or invalid."""
        return self._exit or ("running" if self._is_asked else "suspended" if self._is_suspended else "waiting")

    @property
    def value(self) -> Optional[float]:
        """The last reported value."""
        return self.reports[-1][1] if self.reports else None

    @property
    def best_value(self) -> Optional[float]:
        """The best of the reported values, without NaN."""
        values = [value for _, value in self.reports if not math.isnan(value)]
        if not values:
            return None
        return min(values) if self._study.smaller_is_better else max(values)

    def report(self, step: float, value: float) -> None:
        """Reports the value at a step, such as the number of epochs. Then ask should_stop()."""
        self._study._report(self, step, value)

    def should_stop(self) -> bool:
        """Whether the search wants the program of this trial to end: it is stopped early, suspended, or continues with other
        hyperparameters the next time that it is asked for."""
        return self._is_unwanted or self._leaves or self._exit != ""

    def __repr__(self) -> str:
        return (f"Trial(number={self.number}, state={self.state!r}, hyperparameters={self.hyperparameters!r}, "
                f"value={self.value!r})")
