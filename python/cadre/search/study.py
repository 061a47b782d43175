"""Searches in a program, without a cluster."""
import collections
import copy
import math
import os
import secrets
import threading
from typing import Any, Deque, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

from cadre import _native
from cadre.core.plain import plain_value
from cadre.options import check_options, count_option, number_option
from cadre.search.errors import SearchError, SpaceError
from cadre.search.journal import Event, Journal
from cadre.search.space import random, tpe
from cadre.search.trial import Trial
from cadre.search.work import Function, Work

__all__ = ["Study"]

_trials_most = 1_000_000
_exits = ("completed", "failed", "invalid")
_one_at_a_time = ("random", "grid", "asha", "asha_promote")
_words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}  # JSON has no such numbers


class Study:
    """A search in a program, with the methods and samplers of experiments; the same seed and the same order of events give
    the same trials as on a cluster.

        study = search.Study({"lr": search.log(-5, -1), "layers": search.integer(1, 8)}, file="study.jsonl")
        study.optimize(train, n_trials=100)
        print(study.best.hyperparameters)

    ``space``: hyperparameters as in an experiment file. ``searcher``: the search method as in the file, such as
    search.asha(max_trials=64, max_time=81); default: random with the sampler tpe, without a limit of trials. Unlike on a
    cluster, one trial runs at a time unless the searcher has ``max_concurrent_trials``. ``start_with``: points that are
    tried first. ``length``: step up to which trials train, for methods that do not say it. ``seed``: default: a new one.
    ``file``: keeps the study; if it exists, the study continues from there, and trials that had not ended run again.

    Raises SpaceError with everything that is wrong with the space and the searcher. All functions are thread-safe.
    """

    def __init__(self, space: Mapping[str, Any], searcher: Optional[Mapping[str, Any]] = None, *, metric: str = "value",
                 smaller_is_better: bool = True, start_with: Sequence[Mapping[str, Any]] = (), length: Optional[int] = None,
                 seed: Optional[int] = None, file: Union[str, "os.PathLike[str]", None] = None) -> None:
        if seed is not None:
            check_options({"seed": count_option(0, 2**32 - 1)}, {"seed": seed})
        given = plain_value(searcher if searcher is not None else random(sampler=tpe()), "searcher")
        defaults: Dict[str, Any] = {"metric": metric, "smaller_is_better": smaller_is_better}
        if isinstance(given, dict) and given.get("type") in _one_at_a_time:
            defaults["max_concurrent_trials"] = 1
        if isinstance(given, dict) and given.get("type") == "random":
            defaults["max_trials"] = _trials_most
        if start_with:
            defaults["start_with"] = plain_value(list(start_with), "start_with")
        config: Dict[str, Any] = {"name": "study", "entrypoint": "study",
                                  "hyperparameters": plain_value(space, "hyperparameters"),
                                  "searcher": {**defaults, **given} if isinstance(given, dict) else given}
        if length is not None:
            config["length"] = length
        seed = seed if seed is None else int(seed)
        kept_seed = secrets.randbits(32) if seed is None else seed
        native = _make_search({**config, "seed": kept_seed})
        journal = Journal("" if file is None else os.fspath(file))
        if journal.config:
            kept = dict(journal.config)
            kept_seed = kept.pop("seed")
            if kept != config or seed not in (None, kept_seed):
                journal.close()
                raise SearchError("conflict", f"{file} has a study with another space, searcher or seed; use another file, or "
                                              "Study.load() to continue it as it is")
            native = _make_search(journal.config)
        else:
            journal.begin({**config, "seed": kept_seed})
        self._begin(native, journal)

    @classmethod
    def load(cls, file: Union[str, "os.PathLike[str]"]) -> "Study":
        """The study of a file, with its space and searcher; it goes on being kept there."""
        if not os.path.exists(file):
            raise SearchError("not_found", f"there is no file {os.fspath(file)}")
        journal = Journal(os.fspath(file))
        if not journal.config:
            journal.close()
            raise SearchError("corrupt", f"{os.fspath(file)} is not the file of a study; use another file")
        study = cls.__new__(cls)
        study._begin(_make_search(journal.config), journal)
        return study

    def _begin(self, native: _native.Search, journal: Journal) -> None:
        searcher = journal.config["searcher"]
        self.smaller_is_better: bool = searcher["smaller_is_better"]
        self.seed: int = journal.config["seed"]
        self._native = native
        self._journal = journal
        self._method: str = searcher["type"]
        self._length: int = journal.config.get("length") or 0
        self._trials: List[Trial] = []
        self._queue: Deque[Trial] = collections.deque()
        self._unwanted: List[Trial] = []  # stopped by the search, and have not ended
        self._lock = threading.RLock()
        try:
            for event in journal.events:
                self._follow(event)
        except (SearchError, LookupError, TypeError, ValueError) as error:
            journal.close()
            raise SearchError("corrupt", f"the file of the study has an impossible event: {error}; restore it from a copy, or "
                                         "use another file") from error
        if not journal.events:
            self._step({"type": "begun"})
        self._settle()

    # Trials.

    def ask(self) -> Optional[Trial]:
        """The next trial to run, or None if the search is over. Raises SearchError if as many trials run as the searcher
        allows."""
        with self._lock:
            trial = self._take()
            if trial is None and not self.is_done:
                running = sum(one._is_asked for one in self._trials)
                raise SearchError("conflict", f"{running} trials run, and the search cannot go on before it has their "
                                              "results: tell() one of them, or raise max_concurrent_trials of the searcher")
            return trial

    def tell(self, trial: Union[Trial, int], value: Optional[float] = None, *, step: Optional[float] = None,
             state: str = "completed") -> None:
        """Says that the program of a trial has ended. ``value``: its result, if the trial has not reported it; it counts at
        ``step``, by default the last one that was reported, else ``trial.until``. ``state``: completed, failed or invalid
        (its hyperparameters cannot be used; another trial replaces it)."""
        if state not in _exits:
            raise ValueError(f"state is {state!r}, but must be completed, failed or invalid")
        with self._lock:
            one = self._running(trial)
            if value is not None and state == "completed":
                last = one.reports[-1] if one.reports else None
                if last is None or step is not None or not _is_same(last[1], value):
                    at = step if step is not None else last[0] if last is not None else one.until or 1
                    self._report(one, at, value)
            if state == "completed" and not one.reports:
                raise ValueError(f"trial {one.number} has no value; pass it to tell(), report one before, or tell() the state "
                                 "failed")
            one._is_asked = False
            if state == "completed" and one._leaves:
                self._leave(one)
            else:
                self._step({"type": "ended", "trial": one.number, "exit": state})
            self._settle()

    def optimize(self, function: Function, n_trials: Optional[int] = None, *, timeout: Optional[float] = None,
                 threads: int = 1, catch: Tuple[Type[BaseException], ...] = ()) -> None:
        """Calls the function with trials until the search is over, or ``n_trials`` times, or until ``timeout`` seconds have
        passed. It returns the value, or reports it with ``trial.report()``. An exception is raised here after the trial has
        been told as failed, unless it is one of ``catch``; search.InvalidHyperparameters replaces the trial. ``threads``
        call it at a time."""
        check_options({"n_trials": count_option(0), "timeout": number_option(0), "threads": count_option(1, 1000)},
                      {name: one for name, one in (("n_trials", n_trials), ("timeout", timeout), ("threads", threads))
                       if one is not None})
        if n_trials is None and timeout is None and self._native.most_trials >= _trials_most:
            raise ValueError("this search has no end; pass n_trials or timeout, or set max_trials of the searcher")
        work = Work(self, function, n_trials, timeout, catch)
        others = [threading.Thread(target=work.run, daemon=True) for _ in range(threads - 1)]
        for one in others:
            one.start()
        try:
            work.run()
        finally:
            work.stop()
            for one in others:
                one.join()
        if work.error is not None:
            raise work.error

    def limit(self, *, max_trials: Optional[int] = None, max_concurrent_trials: Optional[int] = None) -> None:
        """Changes how many trials the search creates, also after its end, or how many run at a time."""
        limits = {"max_trials": max_trials, "max_concurrent_trials": max_concurrent_trials}
        with self._lock:
            self._step({"type": "limited", **{name: one for name, one in limits.items() if one is not None}})
            self._settle()

    # Results.

    @property
    def trials(self) -> List[Trial]:
        """All trials, in the order of creation."""
        with self._lock:
            return list(self._trials)

    @property
    def best(self) -> Trial:
        """The trial with the best value that was reported."""
        with self._lock:
            found = [one for one in self._trials if one.best_value is not None and one.state not in ("failed", "invalid")]
            if not found:
                raise SearchError("not_found", "no trial has reported a value yet")
            return (min if self.smaller_is_better else max)(found, key=lambda one: one.best_value or 0.0)

    @property
    def is_done(self) -> bool:
        """Whether all trials have ended and no other will be created."""
        with self._lock:
            return self._native.is_done

    @property
    def progress(self) -> float:
        """From 0 to 1."""
        with self._lock:
            return self._native.progress(0.0)

    def save(self, file: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the study to a file, from which Study.load() continues it."""
        with self._lock:
            self._journal.save(os.fspath(file))

    def close(self) -> None:
        """The study can be read, and another one may use its file. The end of a ``with`` block calls it."""
        with self._lock:
            self._journal.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close()

    # Inside.

    def _take(self) -> Optional[Trial]:
        """The next trial that can run now."""
        with self._lock:
            while self._queue:
                trial = self._queue.popleft()
                if not trial._exit:
                    trial._is_asked = True
                    return trial
            return None

    def _return(self, trial: Trial) -> None:
        """Its program was interrupted: it is the next to run again."""
        with self._lock:
            trial._is_asked = False
            self._queue.appendleft(trial)

    @property
    def _is_idle(self) -> bool:
        """Whether no trial runs or can run."""
        with self._lock:
            return not self._queue and not any(one._is_asked for one in self._trials)

    def _running(self, trial: Union[Trial, int]) -> Trial:
        number = trial.number if isinstance(trial, Trial) else trial
        if not 0 <= number < len(self._trials) or isinstance(trial, Trial) and trial is not self._trials[number]:
            raise SearchError("not_found", f"this study has no trial {trial!r}")
        one = self._trials[number]
        if not one._is_asked:
            raise SearchError("conflict", f"trial {number} is {one.state}; ask() for it before, and tell() only once how it "
                                          "has ended")
        return one

    def _report(self, trial: Trial, step: float, value: float) -> None:
        with self._lock:
            self._running(trial)
            at, found = float(step), float(value)
            if not math.isfinite(at):
                raise ValueError(f"step is {step!r}, but must be a finite number")
            self._step({"type": "reported", "trial": trial.number, "time": at,
                        "metric": found if math.isfinite(found) else _words[str(found)]})
            self._settle()

    def _step(self, event: Event) -> None:
        """A new event."""
        self._journal.require_open()
        self._follow(event)
        self._journal.append(event)

    def _settle(self) -> None:
        """The events that follow from the last one: a point is drawn; a trial has ended that no program runs."""
        while True:
            event = self._native.draw()
            if event is None:
                ended = next((one for one in self._unwanted if not one._is_asked), None)
                if ended is None:
                    return
                event = {"type": "ended", "trial": ended.number, "exit": "completed"}
            self._step(event)

    def _follow(self, event: Event) -> None:
        """An event, also one of before."""
        is_good, answer = self._native.apply(event)
        if not is_good:
            raise SearchError("invalid", answer)
        if event["type"] == "reported":
            self._trials[event["trial"]].reports.append((event["time"], float(event["metric"])))
        elif event["type"] == "ended":
            trial = self._trials[event["trial"]]
            trial._is_asked, trial._exit = False, event["exit"]
            self._unwanted = [one for one in self._unwanted if one is not trial]
        for action in answer:
            self._act(action["type"], action)

    def _act(self, kind: str, action: Mapping[str, Any]) -> None:
        if kind == "create":
            trial = Trial(self, action["trial"], action["hyperparameters"], action["seed"])
            ends = self._native.rung_ends(trial.number) if self._method == "asha" else None
            trial.until = ends[-1] if ends else self._length
            self._trials.append(trial)
            self._queue.append(trial)
        elif kind != "draw":
            self._change(self._trials[action["trial"]], kind, action)

    def _change(self, trial: Trial, kind: str, action: Mapping[str, Any]) -> None:
        if kind == "stop":
            trial._is_unwanted = True
            self._unwanted.append(trial)
        elif kind == "suspend":
            trial._is_suspended = True
            trial._leaves = trial._is_asked
            if not trial._is_asked:  # an event of before
                self._queue.remove(trial)
        elif kind == "extend":
            trial.until = action["until"]
            if trial._is_suspended:
                trial._is_suspended = False
                if not trial._is_asked:
                    self._queue.append(trial)
        else:
            self._replace(trial, self._trials[action["source"]], action["hyperparameters"])

    def _replace(self, trial: Trial, source: Trial, hyperparameters: Dict[str, Any]) -> None:
        trial.source = source.number
        trial._next = (hyperparameters, copy.deepcopy(source.checkpoint))
        trial._leaves = trial._is_asked
        if not trial._is_asked:
            self._renew(trial)

    def _leave(self, trial: Trial) -> None:
        """The program of a trial has ended, but the trial has not."""
        trial._leaves = False
        self._renew(trial)
        if not trial._is_suspended:
            self._queue.append(trial)

    @staticmethod
    def _renew(trial: Trial) -> None:
        if trial._next is not None:
            trial.hyperparameters, trial.checkpoint = trial._next
            trial._next = None


def _make_search(config: Mapping[str, Any]) -> _native.Search:
    native, faults = _native.make_search(config, config["seed"])
    if native is None:
        raise SpaceError(faults)
    if config["searcher"]["type"] == "custom":
        raise SpaceError([("searcher.type", "is custom, which is a program of yours: write a search.Searcher and use "
                                            "search.run()")])
    return native


def _is_same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))
