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
    """How deep this thread is in imports on behalf of a caller."""

    depth = 0


imports = _Imports()
_class_imports = 0


@contextlib.contextmanager
def importing_class() -> Iterator[None]:
    """In the process of an actor, while its class is decoded, which may import modules: they create no actors, on no
    thread."""
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
    or with the master on this host whose data folder it is; without one: that of CADRE_MASTER, or where ``cadre login``
    was last, or this host's own. Twice to one address is the same session; to another one it is an error until
    disconnect(). ``timeout``: seconds to wait for the master. What actors print appears here, too, unless ``output`` is
    False or CADRE_ACTOR_OUTPUT is 0.

    While a module is imported for an actor nothing is opened: an actor that creates actors connects by itself."""
    global _client
    if is_importing():
        return
    with _lock:
        if _client is not None and _client.pid != os.getpid():
            _client = None  # the parent's, which it keeps
        if _client is not None:
            if not url or url == _client.url or _client.session.is_at(url):
                return
            raise ActorError("conflict", f"this process is connected to {_client.session.master}; "
                                         f"disconnect() before you connect to {url}")
        if _is_leaving:
            raise ActorError("unavailable", "the program ends, and opens no session any more")
        _client = Client(_native.Session(url, timeout, output, _write), url)


def _write(is_error: bool, text: str) -> None:
    """Where this program writes now: a notebook has streams of its own."""
    stream = sys.stderr if is_error else sys.stdout
    if stream is not None:
        stream.write(text)
        stream.flush()


def disconnect() -> None:
    """Ends the session, and with it all its actors."""
    global _client
    with _lock:
        client, _client = _client, None
    if client is not None and client.pid == os.getpid():
        client.session.close()  # callbacks run meanwhile, and may want the lock


def is_connected() -> bool:
    """Whether this process has a session."""
    return _client is not None and _client.pid == os.getpid()


def current() -> Client:
    """The session, opened if need be."""
    if not is_connected():
        connect()
    assert _client is not None
    return _client


def _leave() -> None:
    global _is_leaving
    _is_leaving = True
    disconnect()


atexit.register(_leave)
