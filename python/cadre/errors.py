"""What goes wrong with actors."""
import builtins
from typing import Dict, Type

__all__ = ["ActorError", "RemoteError"]


class ActorError(RuntimeError):
    """Why a call had no answer. ``code`` is unavailable: the actor is gone, or was never there; timed_out: nobody knows
    whether the call ran; denied: one may not; invalid: it cannot be asked for like that."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (ActorError, (self.code, str(self)))


class RemoteError(RuntimeError):
    """An exception in the code of an actor, which lives on. It is also an exception of the type it had there, if that is
    one of Python's own: ``except ValueError`` finds it."""

    type_name: str
    """Of the exception there: ``builtins.ValueError``."""
    traceback: str
    """As Python would have printed it there."""

    def __init__(self, type_name: str, text: str, traceback: str) -> None:
        super().__init__(text)
        self.type_name = type_name
        self.traceback = traceback

    def __str__(self) -> str:
        return f"{self.type_name}: {self.args[0]}\n\nIn the actor:\n{self.traceback}"

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return (remote_error, (self.type_name, self.args[0], self.traceback))


_types: Dict[str, Type[RemoteError]] = {}


def remote_error(type_name: str, text: str, traceback: str) -> RemoteError:
    """The one that stands for an exception of that type."""
    if type_name not in _types:
        original = getattr(builtins, type_name.rpartition(".")[2], None) if type_name.startswith("builtins.") else None
        made = RemoteError
        if isinstance(original, type) and issubclass(original, Exception):
            try:
                made = type("Remote" + original.__name__, (RemoteError, original), {"__new__": original.__new__})
                made.__new__(made)
            except TypeError:  # some cannot be mixed, or need more to be made
                made = RemoteError
        _types[type_name] = made
    error = _types[type_name].__new__(_types[type_name])
    RemoteError.__init__(error, type_name, text, traceback)
    return error
