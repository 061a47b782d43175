"""Remote classes: a class becomes a remote object on the cluster in one line.

    import cadre

    cadre.connect("cadre://127.0.0.1:7310")

    @cadre.remote_class(cpus=1)
    class Counter:
        def __init__(self, start):
            self.x = start
        def add(self, n):
            self.x += n
            return self.x

    c = Counter(3)            # runs on the cluster
    c.add(1)                  # 4: waits for the answer
    f = c.add.remote(2)       # does not wait
    f.get(timeout=1)          # 6
    c.x = 10; c.x             # attributes, too

Calls of one actor run in the order in which they were made. An exception in the actor is raised here, with its type name
and traceback, and the actor lives on. When the last reference to an actor goes, so does the actor.
"""
import atexit
import glob
import numbers
import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from typing import Any, Callable, Dict, Generic, Iterable, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from cadre import _native, pickling
from cadre.errors import ActorError, remote_error
from cadre.options import Option, check_options, count_option, dict_option, flag_option, number_option, text_option

__all__ = ["CancelledError", "Future", "connect", "disconnect", "gather", "is_connected", "kill", "remote_class"]

_verbs = _native.verbs
_value, _error = _verbs["value"], _verbs["error"]
_T = TypeVar("_T")

_forever = 1e9
_room_wait = 60.0  # seconds that a call waits while too many others have not ended


class CancelledError(Exception):
    """The call was cancelled before it ran."""


class _Client:
    """The session of this process; a forked child has none and opens its own."""

    def __init__(self, session: Any, url: str) -> None:
        self.session = session
        self.url = url
        self.pid = os.getpid()
        self.uploads: Dict[Any, str] = {}
        self.lock = threading.Lock()


_client: Optional[_Client] = None
_lock = threading.RLock()
_is_leaving = False


def connect(url: str = "", *, timeout: float = 10.0) -> None:
    """Opens a session with the cluster at ``cadre://host:port`` (or http, https); without one: that of CADRE_MASTER, or
    where ``cadre login`` was last, or this host's own. Twice to one address is the same session; to another one it is an
    error until disconnect()."""
    global _client
    with _lock:
        if _client is not None and _client.pid != os.getpid():
            _client = None  # the parent's, which it keeps
        if _client is not None:
            if not url or url == _client.url or _plain(url) == _client.session.master:
                return
            raise ActorError("conflict", f"this process is connected to {_client.session.master}; "
                                         f"disconnect() before you connect to {url}")
        if _is_leaving:
            raise ActorError("unavailable", "the program ends, and opens no session any more")
        _client = _Client(_native.Session(url, timeout), url)


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


def _plain(url: str) -> str:
    url = url.rstrip("/")
    return "http://" + url[len("cadre://"):] if url.startswith("cadre://") else url


def _current() -> _Client:
    if not is_connected():
        connect()
    assert _client is not None
    return _client


def _leave() -> None:
    global _is_leaving
    _is_leaving = True
    disconnect()


atexit.register(_leave)


class Future(Generic[_T]):
    """What becomes of a call."""

    __slots__ = ("_answer", "_proxy", "_cache", "__weakref__")

    def __init__(self, answer: Any, proxy: Any) -> None:
        self._answer = answer
        self._proxy = proxy  # it is needed until it has answered
        self._cache: Optional[Tuple[bool, Any]] = None

    def get(self, timeout: float = _forever) -> _T:
        """The result; raises what the method raised, or ActorError when there is no answer (in time)."""
        if self._cache is None:
            self._cache = _hear(_actor_of(self._proxy), self._answer, timeout)
            self._proxy = None
        is_good, content = self._cache
        if is_good:
            return content
        raise content

    def ready(self) -> bool:
        """Whether get() would not wait."""
        return self._answer.is_there

    def then(self, call: Callable[["Future[_T]"], Any]) -> "Future[_T]":
        """Calls it with this future once there is an answer: at once, or on a thread that runs such calls in turn."""
        self._answer.then(lambda: call(self))
        return self

    def cancel(self) -> None:
        """The call is not wanted any more. If it has not begun to run, get() raises CancelledError."""
        proxy = self._proxy
        if proxy is not None:
            _actor_of(proxy).cancel(self._answer)


def _ask(actor: Any, verb: int, name: str, packed: Tuple[bytes, List[Any]]) -> Any:
    try:
        return actor.call(verb, name, *packed, _room_wait)
    except ActorError as error:
        raise _reason(actor, error) from None


def _hear(actor: Any, answer: Any, timeout: float) -> Tuple[bool, Any]:
    try:
        heard = answer.get(timeout)
    except ActorError as error:
        raise _reason(actor, error) from None
    return _content(heard)


def _reason(actor: Any, error: ActorError) -> Exception:
    """Why there is no answer: what the constructor raised, if there was no object to ask."""
    if error.code != "invalid" or not actor.is_over:
        return error
    try:
        is_made, content = _content(actor.created(0.0))
    except ActorError:
        return error
    return error if is_made else content


def _content(heard: Tuple[int, str, Any, List[Any]]) -> Tuple[bool, Any]:
    verb, name, body, parts = heard
    if verb == _value:
        return True, pickling.load(body, parts)
    if verb == _error:
        return False, _error_of(name, body, parts)
    return False, CancelledError("the call was cancelled before it ran")


def _error_of(name: str, body: Any, parts: Any) -> Exception:
    if name in ("Full", "TooLarge"):
        return ActorError("unavailable" if name == "Full" else "invalid", bytes(body).decode())
    text, traceback, fields = pickling.load(body, parts)
    return remote_error(name, text, traceback, fields)


def gather(futures: Iterable["Future[_T]"], timeout: float = _forever) -> List[_T]:
    """The results of all, in their order; raises what the first that failed raised. The time is for all together."""
    end = time.monotonic() + timeout
    return [one.get(max(0.0, end - time.monotonic())) for one in list(futures)]


class _Method:
    """A method of an actor: called, it waits; ``remote`` does not."""

    __slots__ = ("_proxy", "_actor", "_name")

    def __init__(self, proxy: Any, actor: Any, name: str) -> None:
        self._proxy = proxy
        self._actor = actor
        self._name = name

    def remote(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        return Future(_ask(self._actor, 2, self._name, _packed(self._name, args, kwargs)), self._proxy)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        answer = _ask(self._actor, 2, self._name, _packed(self._name, args, kwargs))
        is_good, content = _hear(self._actor, answer, _forever)
        if is_good:
            return content
        raise content


assert _verbs["call"] == 2


def _actor_of(proxy: Any) -> Any:
    return object.__getattribute__(proxy, "_cadre_actor")


def _say(actor: Any, verb: str, name: str, value: Any) -> Any:
    packed = pickling.dump_as(f"the value of {name}", value)
    is_good, content = _hear(actor, _ask(actor, _verbs[verb], name, packed), _forever)
    if is_good:
        return content
    raise content


def _packed(name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any], *first: Any) -> Tuple[bytes, List[Any]]:
    try:
        return pickling.dump((*first, args, kwargs))
    except Exception as error:
        failure = error
    for label, value in (*enumerate(args, 1), *((repr(key), value) for key, value in kwargs.items())):
        pickling.dump_as(f"argument {label} of {name}", value)
    raise failure  # each can be sent, but not all together


class _Proxy:
    """An actor as its caller has it; its methods and attributes are those of the class on the cluster."""

    __cadre_class__: Type[Any]
    __cadre_options__: "_Options"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = type(self).__cadre_options__
        client = _current()
        actor = client.session.create(options.wish(client, type(self), args, kwargs))
        object.__setattr__(self, "_cadre_actor", actor)
        object.__setattr__(self, "_cadre_end", weakref.finalize(self, _end, actor, os.getpid()))
        if options.wait:
            is_good, content = _content(actor.created(_forever))  # how long a constructor takes is its own affair
            if not is_good:
                raise content

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # what Python itself looks for is not there
        actor = _actor_of(self)
        if callable(getattr(type(self).__cadre_class__, name, None)):
            return _Method(self, actor, name)
        return _say(actor, "get", name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        _say(_actor_of(self), "set", name, value)

    def __repr__(self) -> str:
        actor = _actor_of(self)
        return f"<actor {actor.job} of class {type(self).__cadre_class__.__qualname__}>"

    def __reduce__(self) -> Any:
        raise TypeError("an actor belongs to the process that made it, and cannot be sent to another one")


def _end(actor: Any, pid: int) -> None:
    if os.getpid() == pid:
        actor.end()


def kill(actor: Any) -> None:
    """Ends an actor now; calls that have not ended fail."""
    object.__getattribute__(actor, "_cadre_end")()


class _Options:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)
    cpus: float
    slots: int
    memory: int
    max_restarts: int
    max_call_retries: int
    files: Sequence[str]
    concurrent: int
    wait: bool
    timeout: float
    python: str
    pool: str
    workspace: str
    variables: Dict[str, str]
    calls_max: int
    unresponsive_after: float

    def wish(self, client: _Client, proxy: Type[_Proxy], args: Any, kwargs: Any) -> Dict[str, Any]:
        cls = proxy.__cadre_class__
        body, parts = _packed(cls.__qualname__, args, kwargs, _carried(proxy))
        return {
            "name": cls.__qualname__, "argv": _command(self.python), "variables": dict(self.variables),
            "code": _code(client, self.files), "python": "", "cpus": self.cpus, "slots": self.slots,
            "memory": self.memory, "lanes": self.concurrent, "pool": self.pool, "workspace": self.workspace,
            "body": body, "parts": parts, "max_restarts": self.max_restarts,
            "max_call_retries": self.max_call_retries, "timeout": self.timeout, "calls_max": self.calls_max,
            "liveness": self.unresponsive_after,
        }


def _carried(proxy: Type[_Proxy]) -> Any:
    """The class by its name, or else as it is when the first object of it is made."""
    if _is_importable(proxy):
        return proxy
    if "__cadre_carried__" not in proxy.__dict__:
        what = f"the class {proxy.__qualname__}"
        carried = pickling.dump_as(what, proxy.__cadre_class__, by_value=True)
        proxy.__cadre_carried__ = carried  # type: ignore[attr-defined]
    return proxy.__cadre_carried__  # type: ignore[attr-defined]


def _is_importable(cls: Type[Any]) -> bool:
    """Whether another process finds the class by its name: it does not live in the main script or a notebook."""
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or not getattr(module, "__file__", None):
        return False
    found: Any = module
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _command(python: str) -> List[str]:
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    interpreter = python or "/usr/bin/python3"
    if "dist-packages" in package or "site-packages" in package:
        return [interpreter, "-m", "cadre.host"]
    start = f"import sys; sys.path.append({package!r}); from cadre.host import main; main()"
    return [interpreter, "-c", start]


_came_along: Optional[Tuple[str, List[str]]] = None


def remember_what_came_along() -> None:
    """In the process of an actor: what lies in its folder now goes along with the actors that it makes."""
    global _came_along
    _came_along = (os.getcwd(), os.listdir())


def _beside_main() -> Tuple[str, List[str]]:
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if not main:
        return os.getcwd(), []
    root = os.path.dirname(os.path.abspath(main))
    return root, glob.glob("*.py", root_dir=root)


def _wanted_files(patterns: Sequence[str]) -> Tuple[str, List[str]]:
    """Where the main script lies, or what came of it, and what goes along, relative to that."""
    root, names = _came_along or _beside_main()
    found = [name for name in names if os.path.exists(os.path.join(root, name))]
    for pattern in patterns:
        if os.path.isabs(pattern) or ".." in pattern.split(os.sep):
            raise ValueError(f"files: {pattern!r} lies outside {root}; name it relative to the main script")
        matches = glob.glob(pattern, root_dir=root, recursive=True)
        if not matches:
            raise FileNotFoundError(f"files: nothing in {root} is called {pattern!r}")
        found += matches
    return root, sorted(set(found))


def _code(client: _Client, patterns: Sequence[str]) -> str:
    root, names = _wanted_files(patterns)
    if not names:
        return ""
    with client.lock:
        key = tuple((name, _stamp(os.path.join(root, name))) for name in names)
        if key not in client.uploads:
            client.uploads[key] = _upload(client, root, names)
        return client.uploads[key]


def _stamp(path: str) -> Any:
    if not os.path.isdir(path):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return tuple((folder, tuple((name, _stamp(os.path.join(folder, name))) for name in sorted(files)))
                 for folder, _, files in os.walk(path))


def _upload(client: _Client, root: str, names: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="cadre-files-") as staging:
        for name in names:
            source, target = os.path.join(root, name), os.path.join(staging, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            else:
                shutil.copy2(source, target)
        return client.session.upload(staging, 600.0)


def _bytes(size: Union[int, str, None]) -> int:
    if not isinstance(size, str):
        return size or 0
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
             "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    unit = next((one for one in units if size.endswith(one)), "")
    return int(float(size[:-len(unit)]) * units[unit])


def _is_size(size: Union[int, str, None]) -> bool:
    try:
        return 0 <= _bytes(size) < 2**63
    except (KeyError, OverflowError, ValueError):
        return False


_options = {
    "cpus": number_option(0, 1_000_000), "slots": count_option(0), "max_restarts": count_option(0),
    "memory": Option((type(None), numbers.Integral, str), "a number of bytes, or text like 512MiB or 2GiB", _is_size),
    "max_call_retries": count_option(0),
    "files": Option((tuple,), "a list of str", lambda files: all(isinstance(one, str) for one in files)),
    "concurrent": count_option(1), "wait": flag_option, "timeout": number_option(0), "python": text_option,
    "pool": text_option, "workspace": text_option, "variables": dict_option(text_option),
    "calls_max": count_option(1), "unresponsive_after": number_option(0.001),
}


def _names_of(files: Any) -> Any:
    """One name is a list of one."""
    if isinstance(files, str):
        return (files,)
    return tuple(files) if isinstance(files, Iterable) else files


def remote_class(original: Optional[Type[Any]] = None, *, cpus: float = 1, slots: int = 0,
                 memory: Union[int, str, None] = None, max_restarts: int = 0, max_call_retries: int = 0,
                 files: Union[str, Sequence[str]] = (), concurrent: int = 1, wait: bool = True, timeout: float = 300.0,
                 python: str = "", pool: str = "", workspace: str = "",
                 variables: Optional[Dict[str, str]] = None, calls_max: int = 10_000,
                 unresponsive_after: float = 60.0) -> Any:
    """Makes objects of a class live on the cluster: ``@cadre.remote_class(cpus=1)``.

    Each object is a process with ``cpus``, ``slots`` and ``memory`` (bytes, or "2GiB"; above it, it ends). Beside it lie
    the ``*.py`` next to the main script and what ``files`` names: globs and folders, relative to the main script. With
    ``wait`` the constructor returns when the object was made, and raises what its constructor raised; without, it returns
    at once, calls wait, and raise that. ``timeout``: seconds to wait for a place on the cluster; how long the constructor
    takes then is its own affair. ``concurrent`` calls run at a time, else one after another. An object whose process ends is made anew ``max_restarts`` times; a call of which nobody knows whether it ran
    is repeated ``max_call_retries`` times. ``python`` is the interpreter there, ``variables`` its environment. At most
    ``calls_max`` calls of one object may not have ended; others wait. A process that gives no sign of life for
    ``unresponsive_after`` seconds is ended."""
    given: Dict[str, Any] = {
        "cpus": cpus, "slots": slots, "memory": memory, "max_restarts": max_restarts,
        "max_call_retries": max_call_retries, "files": _names_of(files), "concurrent": concurrent, "wait": wait,
        "timeout": timeout, "python": python, "pool": pool, "workspace": workspace,
        "variables": {} if variables is None else variables, "calls_max": calls_max,
        "unresponsive_after": unresponsive_after,
    }
    check_options(_options, given)
    options = _Options(**{**given, "memory": _bytes(memory), "variables": dict(given["variables"])})

    def wrap(cls: Type[Any]) -> Type[Any]:
        if not isinstance(cls, type):
            raise TypeError(f"remote_class is for classes, not for {cls!r}")
        if issubclass(cls, _Proxy):
            raise TypeError(f"{cls.__qualname__} is remote already; take the class that it was made of, "
                            f"{cls.__qualname__}.__cadre_class__")
        content = {"__cadre_class__": cls, "__cadre_options__": options, "__doc__": cls.__doc__,
                   "__module__": cls.__module__, "__qualname__": cls.__qualname__}
        return type(cls.__name__, (_Proxy,), content)

    return wrap if original is None else wrap(original)
