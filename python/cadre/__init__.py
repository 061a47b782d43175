"""The interface of a task to the cluster, and the client library.

    import cadre

    for step in range(steps):
        if cadre.should_stop():
            break
        train(step)
    save_checkpoint()

The first function call attaches the task: from then on it gets stop requests here instead of a signal, and must check
for them. Importing the package and reading ``cadre.task`` do not attach the task. Off the cluster the same code runs and
never gets a stop request. All functions are thread-safe and may be called in forked processes.
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
    """Information about the current task. Off the cluster: the only task of its gang."""

    task: str
    """17.0: the first task of job 17; empty off the cluster."""
    lease: str
    """17.0/3: the third lease of the task."""
    epoch: int
    """Number of the lease; reports with an older epoch are refused."""
    role: str
    """Role in the gang."""
    rank: int
    """Index among the tasks of the gang, from 0."""
    size: int
    """Number of tasks in the gang."""
    slots: Tuple[str, ...]
    """Slots assigned to the task."""
    master: str
    """Address of the master."""


@dataclasses.dataclass(frozen=True)
class Stop:
    """A stop request: the reason and the remaining time."""

    why: str
    """killed_by_user, preempted, …"""
    grace_left: float
    """Seconds until the task is killed; at least 0."""


class ReportError(RuntimeError):
    """A report was not accepted."""


class ReportRefused(ReportError):
    """The report was rejected, for example because the task now runs elsewhere."""


class ReportUnknown(ReportError):
    """No response came: the report may or may not have been accepted."""


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
    """Whether there is a stop request. Does not block; call it as often as you like."""
    return _context().should_stop()


def stop() -> Optional[Stop]:
    """The stop request, or None if there is none. Does not block."""
    found = _context().stop()
    return None if found is None else Stop(*found)


def promise_liveness() -> None:
    """Promises regular calls of should_stop, stop, report or beat.

    A task that then makes no such call for 60 s (``liveness`` in ``policy`` of the job file) is considered stuck and is
    ended. Without this promise there is no such timeout.
    """
    _context().promise_liveness()


def beat() -> None:
    """Sends a heartbeat. Does nothing before promise_liveness."""
    _context().beat()


def report(value: Any, timeout: float = 60.0) -> None:
    """Reports a value as JSON of at most 32768 bytes, and waits until it is accepted.

    Raises ReportRefused if the report is rejected, ReportUnknown if no response came within `timeout` seconds or the
    supervisor was lost. Off the cluster the report goes to standard error.
    """
    outcome, why = _context().report(json.dumps(value, ensure_ascii=False), timeout)
    if outcome == "refused":
        raise ReportRefused(why)
    if outcome == "unknown":
        raise ReportUnknown(why)
