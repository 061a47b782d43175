"""Errors of actors."""
import sys
import types
from typing import Any, Dict, Optional, Type

__all__ = ["ActorError", "ActorTimeoutError", "RemoteError"]

_descriptors = (types.MemberDescriptorType, types.GetSetDescriptorType)
_scalars = (type(None), bool, int, float, complex, str, bytes)
_many = (list, tuple, set, frozenset, dict)
_length_max = 65_536  # maximum length of a text that is sent with an error
_count_max = 1_000  # maximum number of values in a container that is sent with an error


class ActorError(RuntimeError):
    """A call has no result. ``code`` is unavailable: the actor is gone or was never created; timed_out: it is unknown
    whether the call ran; denied: permission denied; conflict: not possible in the current state; invalid: the request is
    invalid."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (actor_error, (self.code, str(self)))


class ActorTimeoutError(ActorError, TimeoutError):
    """No result arrived in time; ``except TimeoutError`` catches it."""


def actor_error(code: str, text: str) -> ActorError:
    """The exception for this code."""
    return ActorTimeoutError(code, text) if code == "timed_out" else ActorError(code, text)


class RemoteError(RuntimeError):
    """An exception in the code of an actor; the actor stays alive. It is also an instance of the original exception
    type, if the module of that type is imported in the caller: ``except ValueError`` catches it. Attributes that are
    plain data are preserved."""

    type_name: str
    """Type of the original exception: ``builtins.ValueError``."""
    traceback: str
    """Traceback in the actor, as Python prints it."""

    def __init__(self, type_name: str, text: str, traceback: str) -> None:
        BaseException.__init__(self, text)  # the next base may be the original type, with unknown arguments
        self.type_name = type_name
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.type_name}: {self.args[0]}\n\nIn the actor:\n{self.traceback}"

    __repr__ = RuntimeError.__repr__  # __repr__ of the original type may need attributes that were not sent

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (remote_error, (self.type_name, self.args[0], self.traceback, fields_of(self)))


_mixed: Dict[Type[Exception], Type[RemoteError]] = {}


def remote_error(type_name: str, text: str, traceback: str, fields: Dict[str, Any]) -> RemoteError:
    """The RemoteError for an original exception of that type."""
    original = _class_called(type_name)
    if original is not None:
        try:
            return _filled(_mixed_with(original), type_name, text, traceback, fields)
        except Exception:  # some types cannot be combined, or reject the attributes
            pass
    return _filled(RemoteError, type_name, text, traceback, fields)


def _class_called(type_name: str) -> Optional[Type[Exception]]:
    """The exception class of that name, if its module is already imported."""
    parts = type_name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        found: Any = sys.modules.get(".".join(parts[:length]))
        if found is None:
            continue
        for part in parts[length:]:
            found = getattr(found, "__dict__", {}).get(part)
        return found if isinstance(found, type) and issubclass(found, Exception) else None
    return None


def _mixed_with(original: Type[Exception]) -> Type[RemoteError]:
    if original not in _mixed:
        _mixed[original] = type("Remote" + original.__name__, (RemoteError, original), {})
    return _mixed[original]


def _filled(cls: Type[RemoteError], type_name: str, text: str, traceback: str, fields: Dict[str, Any]) -> RemoteError:
    error = _bare(cls)
    for name, value in fields.items():
        try:
            object.__setattr__(error, name, value)
        except Exception:  # a read-only attribute
            pass
    RemoteError.__init__(error, type_name, text, traceback)
    return error


def _bare(cls: Type[RemoteError]) -> RemoteError:
    """An instance created by the nearest built-in base class, without calling a constructor of the user."""
    heap_type = 1 << 9  # Py_TPFLAGS_HEAPTYPE: not a built-in type
    native: Any = cls
    while native.__flags__ & heap_type:
        native = native.__base__
    return native.__new__(cls)


def fields_of(error: BaseException) -> Dict[str, Any]:
    """Its attributes that are plain data: its own, and those of built-in exception types, such as errno."""
    names = set(getattr(error, "__dict__", ()))
    for cls in type(error).__mro__:
        names |= {name for name, what in vars(cls).items() if isinstance(what, _descriptors)}
    found = {}
    for name in names - {"args", "traceback", "type_name"}:
        try:
            if not name.startswith("__") and _is_plain(value := getattr(error, name)):
                found[name] = value
        except Exception:  # the attribute has no value
            pass
    return found


def _is_plain(value: Any, depth: int = 3) -> bool:
    if type(value) in _scalars:
        return not isinstance(value, (str, bytes)) or len(value) <= _length_max
    if type(value) not in _many or len(value) > _count_max or depth == 0:
        return False
    inner = list(value) + (list(value.values()) if isinstance(value, dict) else [])
    return all(_is_plain(one, depth - 1) for one in inner)
