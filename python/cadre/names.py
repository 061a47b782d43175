"""Names by which processes find each other: a tree of small keys, each with a value.

    import cadre

    names = cadre.Names()                     # those of the master; within a task, of its workspace
    names.put("demo/learner", "tcp://10.0.0.1:7000")
    print(names.wait("demo/learner").text)

Who puts a name owns it and keeps it alive; a while after he is gone it is gone for everybody. Where names are kept is one
URL: nothing or ``master://host:port/workspace`` (the cluster's own), ``redis://host``, ``file:///folder``,
``memory://name``. Whoever keeps them may be lost: then every call raises after a few seconds, and once he is back what
this process owns is put again. All may be called from any thread.
"""
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple, Union

from cadre import _native
from cadre.pickling import bytes_of

__all__ = ["Change", "Entry", "Names", "NamesError", "Watch"]


class NamesError(RuntimeError):
    """Why something did not happen. ``code`` is invalid, not_found, conflict, unavailable, timed_out or denied."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (NamesError, (self.code, str(self)))


class Entry(NamedTuple):
    """A name that somebody keeps alive."""

    key: str
    value: bytes
    epoch: int
    """Of its owner: later owners have larger ones."""

    @property
    def text(self) -> str:
        """The value as text."""
        return self.value.decode()


class Change(NamedTuple):
    """What became of a name."""

    is_gone: bool
    """Whether nobody has it any more; else it is new, or has another value or owner."""
    entry: Entry
    """As it is, or as it was last."""


def _take(outcome: Tuple[bool, Any]) -> Any:
    is_good, content = outcome
    if is_good:
        return content
    raise NamesError(*content)


class Watch:
    """Tells what is there and then what changes; for one thread at a time. Also an iterator, which does not end."""

    def __init__(self, native: _native.NamesWatch, names: "Names") -> None:
        self._native: Optional[_native.NamesWatch] = native
        self._names: Optional[Names] = names  # which would end it when nobody else holds them

    def next(self, timeout: float = 30.0) -> Change:
        """The next change; raises ``timed_out`` when there is none in time. What changes again before it was asked for
        is told once, as it is then: how it stands in the end is always told."""
        if self._native is None:
            raise NamesError("conflict", "this watch was closed")
        is_gone, entry = _take(self._native.next(timeout))
        return Change(is_gone, Entry(*entry))

    def close(self) -> None:
        """Ends it."""
        self._native = self._names = None

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        while True:
            try:
                return self.next(1.0)  # so that Python gets to its signals
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
        """Does not wait: what is wrong with the URL each call says."""
        self._native = _native.Names(url)

    def put(self, key: str, value: Union[str, bytes], *, ttl: float = 10.0, only_if_absent: bool = False) -> int:
        """Puts a name and keeps it alive; it is gone ``ttl`` seconds after this process. Gives the epoch. Whoever had it
        loses it; with ``only_if_absent``, that raises ``conflict`` instead."""
        packed = value.encode() if isinstance(value, str) else bytes_of("value", value, "a str or bytes")
        return _take(self._native.put(key, packed, ttl, only_if_absent))

    def get(self, key: str) -> Entry:
        """Raises ``not_found`` when nobody has it."""
        return Entry(*_take(self._native.get(key)))

    def wait(self, key: str, timeout: float = 30.0) -> Entry:
        """As soon as somebody has it; raises ``timed_out`` when nobody has in time."""
        return Entry(*_take(self._native.wait(key, timeout)))

    def list(self, prefix: str = "") -> List[Entry]:
        """Those at or below a prefix of whole parts, sorted: ``a/b`` is before ``a/b/c``, not before ``a/bc``."""
        return [Entry(*entry) for entry in _take(self._native.list(prefix))]

    def watch(self, prefix: str = "") -> Watch:
        """What is at or below the prefix, and what changes there."""
        return Watch(_take(self._native.watch(prefix)), self)

    def remove(self, key: str) -> None:
        """Whoever has it. Raises ``not_found`` when nobody does."""
        _take(self._native.remove(key))

    def remove_subtree(self, prefix: str) -> int:
        """Removes all at or below the prefix, whoever has them; how many there were."""
        return _take(self._native.remove_subtree(prefix))

    def on_lost(self, call: Callable[[str], Any]) -> None:
        """Called with each own name that another took or removed; must not wait, nor call these functions."""
        self._native.on_lost(call)

    def close(self) -> None:
        """Removes what is its own, for which it waits a second at most, and ends all watches."""
        self._native.close()

    def __enter__(self) -> "Names":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
