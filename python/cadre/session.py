"""The session of this process with a cluster: opened once, ended with the program or by disconnect()."""
import atexit
import contextlib
import os
import sys
import threading
from typing import Any, Dict, Iterator, Optional

from cadre import _native
from cadre.errors import ActorError

__all__ = ["connect", "disconnect", "is_connected"]


class Client:
    """The session of this process; a forked child has none and opens its own."""

    def __init__(self, session: Any, url: str) -> None:
        self.session = session
        self.url = url
        self.pid = os.getpid()
        self.uploads: Dict[Any, str] = {}
        self.lock = threading.Lock()


class _Imports(threading.local):
    """Nesting depth of imports on behalf of a caller on this thread."""

    depth = 0


imports = _Imports()
_class_imports = 0


@contextlib.contextmanager
def importing_class() -> Iterator[None]:
    """In the process of an actor, while its class is decoded, which may import modules: no thread may create actors
    meanwhile."""
    global _class_imports
    _class_imports += 1
    try:
        yield
    finally:
        _class_imports -= 1


def is_importing() -> bool:
    """Whether a module is being imported because a caller of this actor sent something that needs it."""
    return imports.depth > 0 or _class_imports > 0


_client: Optional[Client] = None
_lock = threading.RLock()
_is_leaving = False


def connect(url: str = "", *, timeout: float = 10.0, output: Optional[bool] = None) -> None:
    """Opens a session with the cluster at ``host:port``, ``cadre://host:port``, ``http://host:port`` or ``https://...``,
    or with the master on this host that uses the given data folder. Default: CADRE_MASTER, else the master of the last
    ``cadre login``, else the master on this host. Connecting again to the same master keeps the session; connecting to
    another one is an error until disconnect(). ``timeout``: seconds to wait for the master. The output of actors is also
    shown here, unless ``output`` is False or CADRE_ACTOR_OUTPUT is 0.

    While a module is imported for an actor, connect() does nothing: an actor that creates actors connects automatically.
    """
    global _client
    if is_importing():
        return
    with _lock:
        if _client is not None and _client.pid != os.getpid():
            _client = None  # that session belongs to the parent process
        if _client is not None:
            if not url or url == _client.url or _client.session.is_at(url):
                return
            raise ActorError("conflict", f"this process is connected to {_client.session.master}; "
                                         f"call disconnect() before you connect to {url}")
        if _is_leaving:
            raise ActorError("unavailable", "cannot open a session while the program exits")
        _client = Client(_native.Session(url, timeout, output, _write), url)


_unwritable: Dict[bool, Any] = {}  # by is_error: the stream that failed last


def _write(is_error: bool, text: str) -> None:
    """Writes to the current streams of the program; a notebook has its own. A stream that cannot be written to, such as
    a pipe without a reader, gets nothing more."""
    stream = sys.stderr if is_error else sys.stdout
    if stream is None or _unwritable.get(is_error) is stream:
        return
    try:
        stream.write(text)
        stream.flush()
    except (OSError, ValueError):
        _unwritable[is_error] = stream


def disconnect() -> None:
    """Ends the session and all its actors."""
    global _client
    with _lock:
        client, _client = _client, None
    if client is not None and client.pid == os.getpid():
        client.session.close()  # without the lock, because callbacks run meanwhile and may need it


def is_connected() -> bool:
    """Whether this process has a session."""
    return _client is not None and _client.pid == os.getpid()


def current() -> Client:
    """The session; opens one if there is none."""
    if not is_connected():
        connect()
    assert _client is not None
    return _client


def _leave() -> None:
    global _is_leaving
    _is_leaving = True
    disconnect()
    for stream in _unwritable.values():  # otherwise the interpreter reports an error when it flushes them
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError, AttributeError):
            pass  # the stream has no file descriptor


atexit.register(_leave)
