"""A trial and its parts."""
import atexit
import dataclasses
import os
import sys
import weakref
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

from cadre import _native
from cadre.core.checkpoint import Checkpoint, Checkpoints
from cadre.core.control import Preempt, Search
from cadre.core.distributed import Distributed
from cadre.core.errors import CoreError, InvalidHyperparameters, take
from cadre.core.plain import plain_value
from cadre.core.reports import Profiler, Train
from cadre.options import Option, check_options, count_option, flag_option, number_option, text_option

__all__ = ["Context", "Info", "init"]

_close_timeout = 600.0  # seconds

_options = {
    "hyperparameters_file": text_option, "arguments": Option((list, tuple), "a list of str", lambda words: all(
        isinstance(word, str) for word in words)),
    "seed": Option((int, type(None)), "an integer from 0 to 4294967295, or None",
                   lambda seed: seed is None or 0 <= seed < 2**32),
    "until": count_option(0, 2**53), "folder": text_option, "resume": flag_option, "show_progress": flag_option,
    "metric": text_option, "join_timeout": number_option(0),
}


@dataclasses.dataclass(frozen=True)
class Info:
    """What a program needs to begin."""

    trial: str
    """12.3: the trial with the number 3 of experiment 12; empty off the cluster."""
    experiment: str
    """12; empty off the cluster."""
    run: int
    """Number of this start of the trial, from 1."""
    hyperparameters: Dict[str, Any]
    seed: int
    """For the random numbers of the program."""
    latest_checkpoint: Optional[Checkpoint]
    """With which to begin; None: from scratch."""
    slots: Tuple[str, ...]
    """Slots of this task."""
    data: Dict[str, Any]
    """``data`` of the experiment file."""
    config: Dict[str, Any]
    """The experiment file."""
    until: int
    """Length up to which to train; 0: until it is stopped."""
    metric: str
    """Validation metric that is optimized; empty: none."""
    smaller_is_better: bool
    on_cluster: bool
    folder: str
    """Off the cluster: the folder of metrics and checkpoints."""


class Context:
    """The trial of this process. At the end of its ``with`` block all reports are stored."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native
        self._pid = os.getpid()
        facts = native.info
        latest = facts.pop("latest_checkpoint")
        self.info = Info(latest_checkpoint=None if latest is None else Checkpoint(**latest), **facts)
        self.train = Train(native)
        self.checkpoint = Checkpoints(native)
        self.preempt = Preempt(native)
        self.search = Search(native)
        self.distributed = Distributed(native)
        self.profiler = Profiler(native)
        atexit.register(_close_at_exit, weakref.ref(self))

    def close(self, timeout: float = _close_timeout) -> None:
        """Waits until all reports are stored, at most ``timeout`` seconds or as long as a stop request leaves, and ends
        the trial. Does nothing the second time."""
        take(self._native.close(timeout))

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is None or isinstance(error, InvalidHyperparameters):
            return self.close()
        try:
            self.close()
        except CoreError as other:  # must not hide the error of the program
            print(f"cadre: at the end of the trial: {other}", file=sys.stderr)


def _close_at_exit(context: "weakref.ref[Context]") -> None:
    alive = context()
    if alive is None or alive._pid != os.getpid():
        return
    try:
        alive.close()
    except CoreError as error:
        print(f"cadre: at the end of the trial: {error}", file=sys.stderr)


def init(*, hyperparameters: Union[Mapping[str, Any], str, "os.PathLike[str]", None] = None,
         arguments: Optional[Sequence[str]] = None, seed: Optional[int] = None, until: int = 0, folder: str = "",
         resume: bool = False, show_progress: bool = True, join_timeout: float = 600.0,
         metric: str = "") -> Context:
    """Begins the trial of this process, and returns its context. In a distributed trial it waits for the other processes,
    at most ``join_timeout`` seconds. A process has one trial at a time.

    ``hyperparameters``: defaults, for those that the experiment does not have; a str or path is a YAML or JSON file.

    The other arguments matter only off the cluster. Hyperparameters are then the defaults, replaced by
    CADRE_HYPERPARAMETERS (YAML or JSON) and by words NAME=VALUE in ``arguments`` (default: the command line) whose name is
    that of a hyperparameter (``optimizer.lr=0.1``); other such words get a warning. ``seed``: default CADRE_TRIAL_SEED, otherwise 0. ``until``: length
    up to which to train; 0: no limit. ``folder``: for metrics and checkpoints; default: CADRE_LOCAL_FOLDER, or a new one
    in ./cadre-runs. ``resume``, or CADRE_RESUME=1: continue the folder, or the newest one in ./cadre-runs, from its
    latest checkpoint. ``show_progress``: on standard error. ``metric``: validation metric that a search would optimize;
    a validation without a number for it gets a warning.
    """
    is_file = isinstance(hyperparameters, (str, os.PathLike))
    options: Dict[str, Any] = {
        "hyperparameters_file": os.fspath(hyperparameters) if is_file else "",  # type: ignore[arg-type]
        "arguments": sys.argv[1:] if arguments is None else arguments, "seed": seed, "until": until, "folder": folder,
        "resume": resume, "show_progress": show_progress, "join_timeout": join_timeout, "metric": metric}
    check_options(_options, options)
    defaults = {} if hyperparameters is None or is_file else hyperparameters
    options["hyperparameters"] = plain_value(defaults, "hyperparameters")
    return Context(take(_native.init_trial(options)))
