"""A program that decides about the trials of an experiment of type custom."""
import os
from typing import Any, Dict, List, Mapping, Optional, Union

from cadre import _native
from cadre.core.plain import plain_value
from cadre.search.errors import SearchError

__all__ = ["Searcher", "run"]

Path = Union[str, "os.PathLike[str]"]


class Searcher:
    """Decides about the trials of an experiment: derive a class, and override what it needs.

        class Climber(search.Searcher):
            def on_begin(self):
                self.create({"x": 0.5})

            def on_end(self, trial, exit):
                ...
                self.shutdown()

    The methods on_* are called one at a time, in the order of the events; each may call create(), stop() and shutdown().
    state() returns what the searcher knows after the events so far, and restore() gets it when the program is started
    again. If a method raises, run() ends; the event comes again the next time.
    """

    _created = 0
    _actions: List[Dict[str, Any]] = []

    # To override.

    def on_begin(self) -> None:
        """The experiment has begun."""

    def on_report(self, trial: int, time: float, metric: float) -> None:
        """A trial has reported a validation. ``time``: its steps, or the time metric of the experiment."""

    def on_end(self, trial: int, exit: str) -> None:
        """A trial has ended. ``exit``: completed, also if it was stopped; failed; or invalid, if it has declared its
        hyperparameters invalid."""

    def state(self) -> Any:
        """What restore() needs to continue: None, bool, int, float, str, lists and dicts."""
        return None

    def restore(self, state: Any) -> None:
        """Continues from a state."""

    # To call in on_begin(), on_report() and on_end().

    def create(self, hyperparameters: Optional[Mapping[str, Any]] = None) -> int:
        """Creates a trial, and returns its number, from 0. Hyperparameters that are left out are drawn by the master."""
        given = {} if hyperparameters is None else plain_value(hyperparameters, "hyperparameters")
        self._actions.append({"type": "create", "hyperparameters": given})
        self._created += 1
        return self._created - 1

    def stop(self, trial: int) -> None:
        """Stops a trial gracefully; it counts as completed. Does nothing if it has ended."""
        if not 0 <= trial < self._created:
            raise SearchError("not_found", f"there is no trial {trial}; {self._created} were created")
        self._actions.append({"type": "stop", "trial": int(trial)})

    def shutdown(self) -> None:
        """No more trials will be created: the experiment ends with those that run."""
        self._actions.append({"type": "shutdown"})


def run(searcher: Searcher, *, file: Path, experiment: Union[int, str, None] = None,
        config: Union[Path, Mapping[str, Any], None] = None, code: Optional[Path] = None, master: str = "") -> str:
    """Lets a searcher decide about the trials of an experiment until it has ended, and returns its state: completed,
    canceled or error.

    ``experiment``: one that exists, whose searcher has the type custom. ``config``: an experiment file, or the same as a
    dict, of one that is created with the folder ``code``. ``master``: as in cadre.connect().

    ``file``: keeps the experiment, the state of the searcher and what it has decided. Start the same program with the same
    file again after it was interrupted: it continues with the same experiment, and each event is answered exactly once. It
    also waits for a master that restarts. The user needs the right to change the experiment.
    """
    if (experiment is None) == (config is None):
        raise ValueError("pass either experiment, to decide about one that exists, or config, to create one")
    if code is not None and config is None:
        raise ValueError("code is only for an experiment that is created; pass config, too")
    options: Dict[str, Any] = {
        "master": master, "file": os.fspath(file), "experiment": "" if experiment is None else str(experiment),
        "config_file": os.fspath(config) if isinstance(config, (str, os.PathLike)) else "",
        "config": plain_value(config, "config") if isinstance(config, Mapping) else None,
        "code": "" if code is None else os.fspath(code)}
    program = _take(_native.open_search(options))
    searcher._created = program.created
    if program.has_state:
        searcher.restore(program.state)
    while True:
        events = _take(program.next())
        if not events:
            return program.ended
        searcher._actions = []
        for event in events:
            _handle(searcher, event)
        state = plain_value(searcher.state(), "state")
        _take(program.answer(searcher._actions, state))


def _handle(searcher: Searcher, event: Mapping[str, Any]) -> None:
    kind = event["type"]
    if kind == "begun":
        searcher.on_begin()
    elif kind == "reported":
        searcher.on_report(event["trial"], event["time"], float(event["metric"]))
    elif kind == "ended":
        searcher.on_end(event["trial"], event["exit"])


def _take(outcome: Any) -> Any:
    is_good, content = outcome
    if is_good:
        return content
    raise SearchError(*content)
