"""Service discovery by names: a tree of small keys, each with a value.

    import cadre

    names = cadre.Names()                     # names in the master; in a task, of its workspace
    names.put("demo/learner", "tcp://10.0.0.1:7000")
    print(names.wait("demo/learner").text)

The process that puts a name owns it and keeps it alive; when the process is gone, the name expires. A URL selects the
backend: nothing or ``master://host:port/workspace`` (the cluster's master), ``redis://host``, ``file:///folder``,
``memory://name``. If the backend is lost, every call raises after a few seconds; when it is back, this process puts its
names again. All functions are thread-safe.
"""
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple, Union

from cadre import _native
from cadre.pickling import bytes_of

__all__ = ["Change", "Entry", "Names", "NamesError", "Watch"]


class NamesError(RuntimeError):
    """An operation failed. ``code`` is invalid, not_found, conflict, unavailable, timed_out or denied."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (NamesError, (self.code, str(self)))


class Entry(NamedTuple):
    """A name with its value and the epoch of its owner."""

    key: str
    value: bytes
    epoch: int
    """Epoch of the owner; later owners have larger epochs."""

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value.decode()


class Change(NamedTuple):
    """A change of a name."""

    is_gone: bool
    """True: the name was removed or has expired. False: it is new, or has a new value or owner."""
    entry: Entry
    """The current entry, or the last one before it was removed."""


def _take(outcome: Tuple[bool, Any]) -> Any:
    is_good, content = outcome
    if is_good:
        return content
    raise NamesError(*content)


class Watch:
    """Returns existing names, then changes. For one thread at a time. Also an endless iterator."""

    def __init__(self, native: _native.NamesWatch, names: "Names") -> None:
        self._native: Optional[_native.NamesWatch] = native
        self._names: Optional[Names] = names  # keeps it open: the watch ends with its Names

    def next(self, timeout: float = 30.0) -> Change:
        """Returns the next change; raises ``timed_out`` if there is none in time. Several changes of one name between two
        calls are merged into the latest; the final state is always delivered."""
        if self._native is None:
            raise NamesError("conflict", "this watch is closed")
        is_gone, entry = _take(self._native.next(timeout))
        return Change(is_gone, Entry(*entry))

    def close(self) -> None:
        """Ends the watch."""
        self._native = self._names = None

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while True:
            try:
                return self.next(1.0)  # so that Python can handle signals
            except NamesError as error:
                if error.code != "timed_out":
                    raise

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class Names:
    """The names at one URL."""

    def __init__(self, url: str = "") -> None:
        """Does not block. If the URL is invalid, each call raises."""
        self._native = _native.Names(url)

    def put(self, key: str, value: Union[str, bytes], *, ttl: float = 10.0, only_if_absent: bool = False) -> int:
        """Puts a name, keeps it alive and returns its epoch. It expires ``ttl`` seconds after the end of this process.
        Takes the name over from its current owner; with ``only_if_absent``, raises ``conflict`` instead."""
        packed = value.encode() if isinstance(value, str) else bytes_of("value", value, "a str or bytes")
        return _take(self._native.put(key, packed, ttl, only_if_absent))

    def get(self, key: str) -> Entry:
        """Returns the entry; raises ``not_found`` if there is none."""
        return Entry(*_take(self._native.get(key)))

    def wait(self, key: str, timeout: float = 30.0) -> Entry:
        """Waits until the name exists and returns its entry; raises ``timed_out`` if it does not appear in time."""
        return Entry(*_take(self._native.wait(key, timeout)))

    def list(self, prefix: str = "") -> List[Entry]:
        """Entries at or below a prefix of whole parts, sorted: ``a/b`` is a prefix of ``a/b/c``, not of ``a/bc``."""
        return [Entry(*entry) for entry in _take(self._native.list(prefix))]

    def watch(self, prefix: str = "") -> Watch:
        """Watches the names at or below the prefix."""
        return Watch(_take(self._native.watch(prefix)), self)

    def remove(self, key: str) -> None:
        """Removes a name, whichever process owns it. Raises ``not_found`` if there is none."""
        _take(self._native.remove(key))

    def remove_subtree(self, prefix: str) -> int:
        """Removes all names at or below the prefix, of all owners; returns their number."""
        return _take(self._native.remove_subtree(prefix))

    def on_lost(self, call: Callable[[str], Any]) -> None:
        """Sets a callback for each own name that another process took over or removed. It must not block or call these
        functions."""
        self._native.on_lost(call)

    def close(self) -> None:
        """Removes the names of this process, waiting for at most a second, and ends all watches."""
        self._native.close()

    def __enter__(self) -> "Names":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
