"""Remote classes: one line turns a class into a remote class on the cluster.

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
    c.add(1)                  # 4: waits for the result
    f = c.add.remote(2)       # does not wait
    f.get(timeout=1)          # 6
    c.x = 10; c.x             # attributes work too

Calls of one actor run in the order in which they were made. An exception in the actor is raised in the caller, with its
type name and traceback, and the actor stays alive. An actor ends when the last reference to it is dropped.
"""
import dis
import inspect
import numbers
import os
import sys
import types
import weakref
from typing import Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, Union

from cadre import _native, files as _files, interpreter, pickling
from cadre.errors import ActorError
from cadre.futures import Future, actor_of, content, forever, hear, reason
from cadre.options import Option, check_options, count_option, dict_option, flag_option, number_option, text_option
from cadre.session import Client, current, is_importing

__all__ = ["kill", "remote_class"]

_verbs = _native.verbs

_room_wait = 60.0  # seconds that a call waits while there are too many unfinished calls


def _ask(actor: Any, verb: int, name: str, packed: Tuple[bytes, List[Any]]) -> Any:
    try:
        return actor.call(verb, name, *packed, _room_wait)
    except ActorError as error:
        raise reason(actor, error) from None


class _Method:
    """A method of an actor: a call waits for the result; ``remote`` returns a future."""

    __slots__ = ("_proxy", "_actor", "_name")

    def __init__(self, proxy: Any, actor: Any, name: str) -> None:
        self._proxy = proxy
        self._actor = actor
        self._name = name

    def remote(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        return Future(_ask(self._actor, 2, self._name, _packed(self._name, args, kwargs)), self._proxy)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        body, parts = _packed(self._name, args, kwargs)
        try:
            heard = self._actor.ask(2, self._name, body, parts, _room_wait)
        except ActorError as error:
            raise reason(self._actor, error) from None
        is_good, result = content(self._proxy, heard)
        if is_good:
            return result
        raise result


class _AsyncMethod(_Method):
    """A method of a class with ``futures=True``: a call returns a future."""

    __slots__ = ()
    __call__ = _Method.remote


assert _verbs["call"] == 2


def _say(proxy: Any, verb: str, name: str, value: Any) -> Any:
    packed = pickling.dump_as(f"the value of {name}", value)
    is_good, result = hear(proxy, _ask(actor_of(proxy), _verbs[verb], name, packed), forever)
    if is_good:
        return result
    raise result


def _packed(name: str, args: Tuple[Any, ...], kwargs: Dict[str, Any], *first: Any) -> Tuple[bytes, List[Any]]:
    try:
        return pickling.dump((*first, args, kwargs))
    except Exception as error:
        failure = error
    for label, value in (*enumerate(args, 1), *((repr(key), value) for key, value in kwargs.items())):
        pickling.dump_as(f"argument {label} of {name}", value)
    raise failure  # each argument can be sent alone, but not all together


class _Proxy:
    """A proxy of an actor in its caller; it has the methods and attributes of the remote object."""

    __cadre_class__: Type[Any]
    __cadre_options__: "_Options"
    __cadre_assigned__: FrozenSet[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = type(self).__cadre_options__
        if is_importing():
            raise ActorError("conflict", f"{type(self).__qualname__} is created while a module is imported for an actor, "
                                         "and each new actor would import it again; create actors in a function, "
                                         'or under `if __name__ == "__main__":`')
        client = current()
        actor = client.session.create(options.wish(client, type(self), args, kwargs))
        object.__setattr__(self, "_cadre_actor", actor)
        object.__setattr__(self, "_cadre_hidden", _unheard)
        object.__setattr__(self, "_cadre_end", weakref.finalize(self, _end, actor, os.getpid()))
        if options.wait:
            is_good, result = content(self, actor.created(forever))  # the timeout does not apply to the constructor
            if not is_good:
                raise result

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # of special methods, only _forwarded_names are forwarded
        cls = type(self)
        if callable(getattr(cls.__cadre_class__, name, None)):
            hidden = object.__getattribute__(self, "_cadre_hidden")
            if not hidden or name not in _hidden_names(self, name):
                return cls.__cadre_options__.method(self, actor_of(self), name)
        return _say(self, "get", name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        _say(self, "set", name, value)

    def __repr__(self) -> str:
        actor = actor_of(self)
        return f"<actor {actor.job} of class {type(self).__cadre_class__.__qualname__}>"

    def __reduce__(self) -> Any:
        raise TypeError("an actor belongs to the process that created it and cannot be sent to another process")


_unheard = "?"  # in place of the names of hidden methods, before the first answer of the actor


def _hidden_names(proxy: _Proxy, name: str) -> List[str]:
    """The methods that attributes of the object hide, as far as is known. Before the first answer, this waits for the
    constructor only if the class assigns to an attribute of this name: all other methods are called without waiting."""
    if object.__getattribute__(proxy, "_cadre_hidden") == _unheard and name in type(proxy).__cadre_assigned__:
        is_good, result = content(proxy, actor_of(proxy).created(forever))
        if not is_good:
            raise result
    hidden: str = object.__getattribute__(proxy, "_cadre_hidden")
    return hidden.split(",")


def _assigned_names(cls: Type[Any]) -> FrozenSet[str]:
    """The names of attributes to which the code of the class assigns."""
    functions = (getattr(value, "__func__", value) for one in cls.__mro__ for value in vars(one).values())
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in functions if callable(function))
    return frozenset(str(step.argval) for code in codes if code is not None for step in _instructions(code)
                     if step.opname == "STORE_ATTR")


def _instructions(code: types.CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _instructions(one)


_forwarded_names = ("__call__", "__contains__", "__getitem__", "__len__", "__setitem__")


def _forwarded(name: str, method: Type[_Method]) -> Any:
    """A special method of a proxy: Python looks for it in the class, not in the object."""
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, actor_of(self), name)(*args, **kwargs)
    call.__name__ = name
    return call


def _special_methods(cls: Type[Any], options: "_Options") -> Dict[str, Any]:
    """Those of the class that are forwarded. Only __call__ may return a future, because Python expects
    values from the others."""
    defined = {name for one in cls.__mro__ if one is not object for name in vars(one)}
    return {name: _forwarded(name, options.method if name == "__call__" else _Method)
            for name in _forwarded_names if name in defined}


def _check_methods(cls: Type[Any]) -> None:
    for name, value in vars(cls).items():
        function = getattr(value, "__func__", value)
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        if is_async and not name.startswith("_"):
            raise TypeError(f"{cls.__qualname__}.{name} is `async def`, and actors run no event loop; make it a plain "
                            f"method, which callers can await: `await actor.{name}.remote(...)`")


def _end(actor: Any, pid: int) -> None:
    if os.getpid() == pid:
        actor.end()


def kill(actor: Any) -> None:
    """Ends an actor now; unfinished calls fail."""
    object.__getattribute__(actor, "_cadre_end")()


class _Options:
    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)
        self.method = _AsyncMethod if self.futures else _Method

    cpus: float
    slots: int
    memory: int
    max_restarts: int
    max_call_retries: int
    files: Sequence[str]
    concurrent: int
    wait: bool
    futures: bool
    timeout: float
    python: str
    pool: str
    workspace: str
    variables: Dict[str, str]
    calls_max: int
    unresponsive_after: float

    def wish(self, client: Client, proxy: Type[_Proxy], args: Any, kwargs: Any) -> Dict[str, Any]:
        cls = proxy.__cadre_class__
        body, parts = _packed(cls.__qualname__, args, kwargs, _carried(proxy))
        return {
            "name": cls.__qualname__, "argv": interpreter.command(self.python or interpreter.own(), _modules_of(proxy)),
            "variables": {**self.variables, **interpreter.variables()}, "code": _files.code_of(client, self.files),
            "python": self.python or interpreter.alternatives(),
            "cpus": self.cpus, "slots": self.slots,
            "memory": self.memory, "lanes": self.concurrent, "pool": self.pool, "workspace": self.workspace,
            "body": body, "parts": parts, "max_restarts": self.max_restarts,
            "max_call_retries": self.max_call_retries, "timeout": self.timeout, "calls_max": self.calls_max,
            "liveness": self.unresponsive_after,
        }


def _carried(proxy: Type[_Proxy]) -> Any:
    """The class by reference, or else by value, as it was when its first object was created."""
    if _is_importable(proxy):
        return proxy
    if "__cadre_carried__" not in proxy.__dict__:
        what = f"the class {proxy.__qualname__}"
        carried = pickling.dump_as(what, proxy.__cadre_class__, by_value=True)
        proxy.__cadre_carried__ = carried  # type: ignore[attr-defined]
    return proxy.__cadre_carried__  # type: ignore[attr-defined]


def _modules_of(proxy: Type[_Proxy]) -> List[str]:
    """The modules that the code of the class refers to. The process that its actors are forked from imports them once."""
    if _is_importable(proxy):
        return [proxy.__module__]
    if "__cadre_modules__" not in proxy.__dict__:
        proxy.__cadre_modules__ = _modules_used(proxy.__cadre_class__)  # type: ignore[attr-defined]
    return proxy.__cadre_modules__  # type: ignore[attr-defined, no-any-return]


def _modules_used(cls: Type[Any]) -> List[str]:
    scope = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    found = {module for module in map(_module_of, _globals_of(cls, scope)) if module}
    return sorted(found - set(pickling.main_names) - {cls.__module__} - _always_there)[:_modules_max]


_modules_max = 64
_always_there = {"builtins", *getattr(sys, "stdlib_module_names", ())}


def _module_of(value: Any) -> str:
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return name if isinstance(name, str) and name in sys.modules and not name.startswith("cadre") else ""


def _globals_of(cls: Type[Any], scope: Dict[str, Any]) -> List[Any]:
    """The globals that the code of a class uses, directly or through functions and classes of the same module."""
    codes: List[types.CodeType] = []
    seen: Dict[int, Any] = {}

    def look_at(value: Any) -> None:
        if id(value) in seen:
            return
        seen[id(value)] = value
        if isinstance(value, type) and value.__module__ == cls.__module__:
            for one in (*value.__bases__, *vars(value).values()):
                look_at(one)
        function = getattr(value, "__func__", value)
        if isinstance(function, types.FunctionType) and function.__module__ == cls.__module__:
            codes.append(function.__code__)

    look_at(cls)
    while codes:
        code = codes.pop()
        codes.extend(one for one in code.co_consts if isinstance(one, types.CodeType))
        for name in code.co_names:
            if name in scope:
                look_at(scope[name])
    return list(seen.values())


def _is_importable(cls: Type[Any]) -> bool:
    """Whether another process can import the class: it is not defined in the main script or a notebook."""
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ in pickling.main_names or not getattr(module, "__file__", None):
        return False
    found: Any = module
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


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
    "memory": Option((type(None), numbers.Integral, str), "a number of bytes, or a str like 512MiB or 2GiB", _is_size),
    "max_call_retries": count_option(0),
    "files": Option((tuple,), "a list of str", lambda files: all(isinstance(one, str) for one in files)),
    "concurrent": count_option(1), "wait": flag_option, "futures": flag_option,
    "timeout": number_option(0), "python": text_option,
    "pool": text_option, "workspace": text_option, "variables": dict_option(text_option),
    "calls_max": count_option(1), "unresponsive_after": number_option(0.001),
}


def _names_of(files: Any) -> Any:
    """The names as a tuple; a single str is one name."""
    if isinstance(files, str):
        return (files,)
    return tuple(files) if isinstance(files, Iterable) else files


def remote_class(original: Optional[Type[Any]] = None, *, cpus: float = 1, slots: int = 0,
                 memory: Union[int, str, None] = None, max_restarts: int = 0, max_call_retries: int = 0,
                 files: Union[str, Sequence[str]] = (), concurrent: int = 1, wait: bool = True,
                 futures: bool = False, timeout: float = 300.0, python: str = "", pool: str = "", workspace: str = "",
                 variables: Optional[Dict[str, str]] = None, calls_max: int = 10_000,
                 unresponsive_after: float = 60.0) -> Any:
    """Makes objects of a class live on the cluster: ``@cadre.remote_class(cpus=1)``.

    Each object (actor) runs in its own process.

    cpus, slots, memory: resources of the actor. Memory is in bytes, or text like "2GiB"; above it, the actor is killed.
    files: files to upload besides the ``*.py`` next to the main script and the imported modules below its folder: globs
        and folders, relative to the main script or absolute.
    wait: whether the constructor waits until the object is created, and raises what its ``__init__`` raised. If False,
        it returns at once, and calls wait and raise that exception.
    futures: whether calls return futures, as ``.remote()`` does.
    timeout: seconds until the actor is placed on the cluster and its process is ready, without its ``__init__``.
    concurrent: number of calls that run at the same time; with 1, calls run one after another.
    max_restarts: how many times an actor whose process ends is restarted.
    max_call_retries: how many times a call is retried if it is unknown whether it ran.
    python: interpreter of the actor; default: this one, if it exists on the agent, else /usr/bin/python3.
    variables: additional environment variables.
    pool, workspace: where the actor runs, and which users can see it; default: those of the cluster.
    calls_max: maximum number of unfinished calls of one actor; further calls wait.
    unresponsive_after: seconds without a heartbeat after which the process is killed."""
    given: Dict[str, Any] = {
        "cpus": cpus, "slots": slots, "memory": memory, "max_restarts": max_restarts,
        "max_call_retries": max_call_retries, "files": _names_of(files), "concurrent": concurrent, "wait": wait,
        "futures": futures, "timeout": timeout, "python": python, "pool": pool, "workspace": workspace,
        "variables": {} if variables is None else variables, "calls_max": calls_max,
        "unresponsive_after": unresponsive_after,
    }
    check_options(_options, given)
    options = _Options(**{**given, "memory": _bytes(memory), "variables": dict(given["variables"])})

    def wrap(cls: Type[Any]) -> Type[Any]:
        if not isinstance(cls, type):
            raise TypeError(f"remote_class needs a class, not {cls!r}")
        if issubclass(cls, _Proxy):
            raise TypeError(f"{cls.__qualname__} is already a remote class; use the plain class, "
                            f"{cls.__qualname__}.__cadre_class__")
        _check_methods(cls)
        content = {"__cadre_class__": cls, "__cadre_options__": options,
                   "__cadre_assigned__": frozenset() if wait else _assigned_names(cls), "__doc__": cls.__doc__,
                   "__module__": cls.__module__, "__qualname__": cls.__qualname__, **_special_methods(cls, options)}
        return type(cls.__name__, (_Proxy,), content)

    return wrap if original is None else wrap(original)
