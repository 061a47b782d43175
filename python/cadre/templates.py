"""The process that actors of one kind are forked from. It has imported what they need, and runs no code of its own
between two forks."""
import ctypes
import gc
import importlib
import os
import random
import signal
import sys
from typing import Any, Dict, Iterable, Optional

from cadre import _native, session

__all__ = ["prepare", "serve"]

_forks = _native.forks
_blas_threads = "OPENBLAS_NUM_THREADS"


def prepare(modules: Iterable[str]) -> None:
    """Imports what most classes need, and these modules. A module that fails to import is left to the actor, which
    reports the failure to its caller."""
    threads = os.environ.get(_blas_threads)
    os.environ[_blas_threads] = "1"  # OpenBLAS starts its threads when it is loaded
    with session.importing_class():
        for name in ("numpy", *modules):
            try:
                importlib.import_module(name)
            except BaseException:  # a module may also exit
                pass
    if threads is None:
        os.environ.pop(_blas_threads, None)
    else:
        os.environ[_blas_threads] = threads


def serve(socket: int) -> Dict[str, str]:
    """Forks a process for each request. Returns only in those processes, with the environment of each."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children
    gc.collect()
    gc.freeze()  # memory that is not written stays shared
    if not _forks.say_ready(socket):
        os._exit(0)
    while True:
        line = _forks.next(socket)
        if line < 0:
            os._exit(0)
        obstacle = _obstacle()
        if obstacle:
            _forks.refuse(line, obstacle)
        elif os.fork() == 0:
            os.close(socket)
            return _begin(line)
        os.close(line)


def _begin(line: int) -> Dict[str, str]:
    forked: Any = None
    try:
        forked = _forks.Forked(line)
        forked.separate()
        init = os.fork()
        if init == 0:
            forked.be_init()
        task = os.fork()
        if task != 0:
            forked.tell_endings(init, task)
        variables: Dict[str, str] = forked.become()
    except BaseException as error:
        if forked is not None:
            forked.refuse(str(error))
        os._exit(1)
    _reseed()
    _start_blas_threads(variables)
    return variables


def _obstacle() -> Optional[str]:
    """Why this process cannot be forked: what is in use by another thread or a device does not survive a fork."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"the modules that it imports start threads ({threads} are running), which a fork does not copy"
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if target.startswith("/dev/nvidia"):
            return "the modules that it imports open a GPU, which a fork does not copy"
    return None


def _reseed() -> None:
    """Reseeds the generators, so that each process gets different random numbers."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()


def _start_blas_threads(variables: Dict[str, str]) -> None:
    """OpenBLAS gets as many threads as it would have had if it had been loaded here."""
    count = next((int(variables[name]) for name in (_blas_threads, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
                  if variables.get(name, "").isdigit()), 0) or len(os.sched_getaffinity(0))
    if count == 1 or "numpy" not in sys.modules:
        return
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in maps if "openblas" in line.rpartition("/")[2]}
    for path in paths:
        library = ctypes.CDLL(path)  # already loaded
        for prefix in ("", "scipy_"):
            for suffix in ("", "64_"):
                set_threads = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if set_threads is not None:
                    set_threads(count)
