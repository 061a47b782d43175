"""Futures of calls: wait for one, for several, or with asyncio."""
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Generator, Generic, Iterable, List, Optional, Tuple, TypeVar, Union

from cadre import _native, pickling
from cadre.errors import ActorError, actor_error, remote_error

if TYPE_CHECKING:
    from cadre.component import MessageFuture

__all__ = ["CancelledError", "Future", "gather", "wait"]

_verbs = _native.verbs
_value, _error = _verbs["value"], _verbs["error"]
_T = TypeVar("_T")
_AnyFuture = TypeVar("_AnyFuture", bound="Union[Future[Any], MessageFuture[Any]]")

forever = 1e9


class CancelledError(Exception):
    """The call was cancelled before it ran."""


class Future(Generic[_T]):
    """The future result of a call. It can be awaited."""

    __slots__ = ("_answer", "_proxy", "_cache", "__weakref__")

    def __init__(self, answer: Any, proxy: Any) -> None:
        self._answer = answer
        self._proxy = proxy  # keeps the actor alive until there is a result
        self._cache: Optional[Tuple[bool, Any]] = None

    def get(self, timeout: Optional[float] = None) -> _T:
        """Returns the result, or raises what the method raised, or ActorError if there is no result. With a timeout in
        seconds, raises TimeoutError, which is also an ActorError, if there is none in time."""
        if self._cache is None:
            self._cache = hear(self._proxy, self._answer, forever if timeout is None else timeout)
            self._proxy = None
        is_good, content = self._cache
        if is_good:
            return content
        raise content

    def ready(self) -> bool:
        """Whether get() would not wait."""
        return self._answer.is_there

    def then(self, call: Callable[["Future[_T]"], Any]) -> "Future[_T]":
        """Calls ``call`` with this future when it is ready: at once, or later on the callback thread."""
        self._answer.then(lambda: call(self))
        return self

    def cancel(self) -> None:
        """Cancels the call. If it has not begun to run, get() raises CancelledError."""
        proxy = self._proxy
        if proxy is not None:
            actor_of(proxy).cancel(self._answer)

    def __await__(self) -> Generator[Any, None, _T]:
        if not self.ready():
            yield from until_done(self)
        return self.get()


def until_done(future: Any) -> Generator[Any, None, None]:
    """What ``await`` of a future with then() and cancel() does until it is done; a cancelled ``await`` cancels it."""
    import asyncio
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def tell(_: Any) -> None:
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:  # the loop is closed and has no waiter
            pass

    future.then(tell)
    try:
        yield from waiter
    except asyncio.CancelledError:
        future.cancel()
        raise


def gather(futures: Iterable["Union[Future[_T], MessageFuture[_T]]"], timeout: Optional[float] = None) -> List[_T]:
    """Returns all results of calls and messages, in order; raises the exception of the first that failed. The timeout
    is for all together."""
    end = time.monotonic() + (forever if timeout is None else timeout)
    return [one.get(max(0.0, end - time.monotonic())) for one in list(futures)]


def wait(futures: Iterable[_AnyFuture], count: Optional[int] = None,
         timeout: Optional[float] = None) -> Tuple[List[_AnyFuture], List[_AnyFuture]]:
    """Waits until ``count`` futures of calls and messages are ready (default: all), or for ``timeout`` seconds. Returns
    the futures that are ready and those that are not, each in their order. The number of ready futures may differ from
    ``count``."""
    every = list(futures)
    wanted = len(every) if count is None else count
    if not 0 <= wanted <= len(every):
        raise ValueError(f"count is {count!r}, but must be from 0 to {len(every)}, the number of futures")
    seconds = forever if timeout is None else timeout
    if all(isinstance(one, Future) for one in every):
        try:
            _native.wait_for_count([one._answer for one in every], wanted, seconds)
        except TimeoutError:
            pass
    else:
        _wait_for_any_kind(every, wanted, seconds)
    ready = [one.ready() for one in every]
    return [one for one, is_there in zip(every, ready) if is_there], \
        [one for one, is_there in zip(every, ready) if not is_there]


def _wait_for_any_kind(futures: List[Any], count: int, seconds: float) -> None:
    """Waits for futures of calls and of messages."""
    here = threading.Semaphore(0)
    open_ones = [one for one in futures if not one.ready()]
    missing = count - (len(futures) - len(open_ones))
    if missing <= 0:
        return
    for one in open_ones:
        one.then(lambda _: here.release())
    end = time.monotonic() + seconds
    for _ in range(missing):
        if not here.acquire(timeout=min(max(0.0, end - time.monotonic()), threading.TIMEOUT_MAX)):
            return


def actor_of(proxy: Any) -> Any:
    """The actor behind a proxy."""
    return object.__getattribute__(proxy, "_cadre_actor")


def hear(proxy: Any, answer: Any, timeout: float) -> Tuple[bool, Any]:
    """Whether the call succeeded, and its result or exception."""
    try:
        heard = answer.get(timeout)
    except ActorError as error:
        raise reason(actor_of(proxy), error) from None
    return content(proxy, heard)


def reason(actor: Any, error: ActorError) -> Exception:
    """Why there is no result: the exception of the constructor, if the object was not created."""
    if error.code != "invalid" or not actor.is_over:
        return error
    try:
        heard = actor.created(0.0)
    except ActorError:
        return error
    return error if heard[0] == _value else _content(heard)[1]


def content(proxy: Any, heard: Tuple[int, str, Any, List[Any]]) -> Tuple[bool, Any]:
    """The same for a received message."""
    if heard[0] == _value and heard[1] != object.__getattribute__(proxy, "_cadre_hidden"):
        object.__setattr__(proxy, "_cadre_hidden", heard[1])
    return _content(heard)


def _content(heard: Tuple[int, str, Any, List[Any]]) -> Tuple[bool, Any]:
    verb, name, body, parts = heard
    if verb == _value:
        return True, pickling.load(body, parts)
    if verb == _error:
        return False, _error_of(name, body, parts)
    return False, CancelledError("the call was cancelled before it ran")


def _error_of(name: str, body: Any, parts: Any) -> Exception:
    if name in ("Full", "TooLarge"):
        return actor_error("unavailable" if name == "Full" else "invalid", bytes(body).decode())
    text, traceback, fields = pickling.load(body, parts)
    return remote_error(name, text, traceback, fields)
