"""What a task asks and tells the cluster while it runs.

    import cadre

    for step in range(steps):
        if cadre.should_stop():
            break
        train(step)
    save_checkpoint()

The first call of a function attaches the task: from then on it is asked to stop here, not by a signal, and must look.
Importing, and reading ``cadre.task``, attach nothing. Off the cluster the same code runs and is never asked to stop.
All functions may be called from any thread, and in processes that were forked.
"""
import dataclasses
import json
import threading
from typing import Any, Optional, Tuple

from cadre import _built

_built.check()

from cadre import _native  # noqa: E402
from cadre.component import (Component, ComponentError, ComponentTimeoutError, Message, MessageFuture, Reply, concurrent,
                             dist)
from cadre.errors import ActorError, ActorTimeoutError, RemoteError
from cadre.futures import CancelledError, Future, gather, wait
from cadre.names import Names, NamesError
from cadre.remote import kill, remote_class
from cadre.session import connect, disconnect, is_connected

__all__ = [
    "ActorError",
    "ActorTimeoutError",
    "CancelledError",
    "Component",
    "ComponentError",
    "ComponentTimeoutError",
    "Future",
    "Message",
    "MessageFuture",
    "Names",
    "NamesError",
    "RemoteError",
    "Reply",
    "ReportError",
    "ReportRefused",
    "ReportUnknown",
    "Stop",
    "Task",
    "beat",
    "concurrent",
    "connect",
    "disconnect",
    "dist",
    "gather",
    "is_connected",
    "kill",
    "on_cluster",
    "promise_liveness",
    "remote_class",
    "report",
    "should_stop",
    "stop",
    "task",
    "wait",
]


@dataclasses.dataclass(frozen=True)
class Task:
    """What a task knows of itself. Off the cluster: the only one of its gang."""

    task: str
    """17.0: the first task of job 17; empty off the cluster."""
    lease: str
    """17.0/3: its third lease."""
    epoch: int
    """Numbers the leases of a task; what an older one reports is refused."""
    role: str
    """Of its gang."""
    rank: int
    """Among the tasks of its gang, from 0."""
    size: int
    """How many tasks the gang has."""
    slots: Tuple[str, ...]
    """That are its own."""
    master: str
    """Where the master can be reached."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """Why the task is to stop, and by when."""

    why: str
    """killed_by_user, preempted, …"""
    grace_left: float
    """Seconds until it is killed; not below 0."""


class ReportError(RuntimeError):
    """A report was not accepted."""


class ReportRefused(ReportError):
    """The report does not count, for instance since the task runs somewhere else by now."""


class ReportUnknown(ReportError):
    """No answer came: the report may or may not count."""


task: Task = Task(**_native.this_task())

_lock = threading.Lock()
_made: Optional[_native.Context] = None


def _context() -> _native.Context:
    global _made
    if _made is None:
        with _lock:
            if _made is None:
                _made = _native.Context()
    return _made


def on_cluster() -> bool:
    """Whether this process runs as a task of a cluster."""
    return _context().on_cluster


def should_stop() -> bool:
    """Whether the task has been asked to stop. Does not wait: call it as often as you like."""
    return _context().should_stop()


def stop() -> Optional[Stop]:
    """Why the task is to stop, and by when; None while it may go on. Does not wait."""
    found = _context().stop()
    return None if found is None else Stop(*found)


def promise_liveness() -> None:
    """Promises that should_stop, stop, report or beat will be called again and again.

    A task that then does none of it for too long (60 s, as its manners say) is taken for stuck, and is ended. Without
    a promise nobody minds.
    """
    _context().promise_liveness()


def beat() -> None:
    """A sign of life. Does nothing before promise_liveness."""
    _context().beat()


def report(value: Any, timeout: float = 60.0) -> None:
    """Reports a value, which goes as JSON of at most 32768 bytes, and waits until it is accepted.

    Raises ReportRefused if it does not count, ReportUnknown if no answer came within `timeout` seconds or the
    supervisor was lost. Off the cluster it goes to standard error.
    """
    outcome, why = _context().report(json.dumps(value, ensure_ascii=False), timeout)
    if outcome == "refused":
        raise ReportRefused(why)
    if outcome == "unknown":
        raise ReportUnknown(why)
