"""Components: named members of a group that discover each other and exchange messages.

    import cadre

    component = cadre.Component("demo", "worker", peers={"learner": 1}, names="file:///tmp/demo")
    component.join()
    print(component.request("learner-1", "ask", {"how": "much"}).value)

Values are None, bool, int, float, complex, str, bytes, numpy arrays and scalars, and lists, tuples, dicts and sets of
those. They are encoded as MessagePack, so that components in C++ can read them. Pass raw bytes as ``body=``. Messages
between two components arrive in the order in which they were sent, each at most once. All functions are thread-safe;
handlers run one at a time, except concurrent ones. A ``timeout`` is in seconds and applies to the whole call; None means
no deadline. A task is a message whose sender waits for a reply.
"""
import time
from typing import (Any, Callable, Dict, Generator, Generic, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type,
                    TypeVar, Union)

from cadre import _native
from cadre._native import Message
from cadre.futures import until_done
from cadre.options import Option, check_options, count_option, dict_option, flag_option, number_option, text_option
from cadre.pickling import bytes_of

__all__ = ["Component", "ComponentError", "ComponentTimeoutError", "Message", "MessageFuture", "Reply", "concurrent", "dist"]

_nothing = object()

_overflows = ("block", "fail", "drop_oldest")
_options = {
    "group": text_option, "type": text_option, "name": text_option, "peers": dict_option(count_option(0)),
    "names": text_option, "host": text_option, "rejoin": flag_option, "minimal_peers": dict_option(count_option(0)),
    "minimal_wait": number_option(0), "concurrent_max": count_option(1),
    "overflow": Option((str,), "block, fail or drop_oldest", _overflows.__contains__), "queue_max": count_option(1),
    "queue_bytes_max": count_option(1, 2**63 - 1), "heartbeat": number_option(0.001),
    "silence_max": number_option(0.001),
}


class ComponentError(RuntimeError):
    """An operation failed. ``code`` is invalid, not_found, conflict, unavailable, timed_out, denied, corrupt, or refused
    (by the peer)."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (ComponentError, (self.code, str(self)))


class ComponentTimeoutError(ComponentError, TimeoutError):
    """An operation timed out: ``code`` is timed_out."""

    def __reduce__(self) -> Any:
        return (ComponentTimeoutError, (self.code, str(self)))


class Reply(NamedTuple):
    """The reply of one peer, or its error."""

    peer: str
    message: Optional[Message]
    error: Optional[ComponentError]


_T = TypeVar("_T")


def _content(value: Any, body: Optional[bytes]) -> Tuple[Any, bool]:
    """The content to send, and whether it is a value."""
    if body is not None:
        if value is not _nothing:
            raise TypeError("pass either a value or a body, not both")
        return bytes_of("body", body), False
    return (b"", False) if value is _nothing else (value, True)


def _seconds(timeout: Optional[float]) -> float:
    return float("inf") if timeout is None else timeout


def _error(code: str, text: str) -> ComponentError:
    return (ComponentTimeoutError if code == "timed_out" else ComponentError)(code, text)


def _take(outcome: Tuple[bool, Any]) -> Any:
    is_good, content = outcome
    if is_good:
        return content
    raise _error(*content)


def _reply(peer: str, outcome: Tuple[bool, Any]) -> Reply:
    is_good, content = outcome
    return Reply(peer, content, None) if is_good else Reply(peer, None, _error(*content))


def _event_hint(event: Any) -> str:
    """The text form of an event given as a tuple or list, as in other frameworks."""
    parts = [part if isinstance(part, str) else _event_hint(part) if isinstance(part, (tuple, list)) else str(part)
             for part in event]
    names = {"AND": " AND ", "&&": " AND ", "OR": " OR ", "||": " OR "}
    for operator, rest in ((parts[-1:], parts[:-1]), (parts[:1], parts[1:])):
        if operator and operator[0] in names and rest:
            return "(" + names[operator[0]].join(rest) + ")"
    return ":".join(parts)


def _check_event(event: Any) -> str:
    if isinstance(event, str):
        return event
    if isinstance(event, (tuple, list)) and event:
        text = _event_hint(event)
        text = text[1:-1] if text.startswith("(") else text
        raise TypeError(f"an event must be a str, not a {type(event).__name__}: write {text!r}")
    raise TypeError(f"an event must be a str like 'worker:update:60%', not {event!r}")


class MessageFuture(Generic[_T]):
    """The future of a message that was sent without waiting. It can be awaited."""

    __slots__ = ("_parts", "_make", "__weakref__")

    def __init__(self, parts: Sequence[Any], make: Callable[[List[Tuple[bool, Any]]], _T]) -> None:
        self._parts = parts
        self._make = make

    def get(self, timeout: Optional[float] = None) -> _T:
        """Returns or raises what the blocking call would; raises ``timed_out`` if it is not ready in time."""
        end = None if timeout is None else time.monotonic() + timeout
        outcomes = []
        for part in self._parts:
            outcomes.append(part.get(_seconds(None if end is None else max(0.0, end - time.monotonic()))))
            if not part.is_there:
                raise _error("timed_out", f"the future was not ready after {round(timeout or 0, 3):g} s")
        return self._make(outcomes)

    def ready(self) -> bool:
        """Whether get() would not wait."""
        return all(part.is_there for part in self._parts)

    def then(self, call: Callable[["MessageFuture[_T]"], Any]) -> "MessageFuture[_T]":
        """Calls ``call`` with this future when it is ready: at once, or later on the callback thread."""
        def next_part() -> None:
            for part in self._parts:
                if not part.is_there:
                    return part.then(next_part)
            call(self)
        next_part()
        return self

    def cancel(self) -> None:
        """Discards the reply; a message that still waits for queue space is not sent. get() raises ``conflict``."""
        for part in self._parts:
            part.cancel()

    def __await__(self) -> Generator[Any, None, _T]:
        yield from until_done(self)
        return self.get(0)


class Component:
    """A named member of a group."""

    def __init__(self, group: str, type: str, name: str = "", *, peers: Optional[Mapping[str, int]] = None,
                 names: str = "", host: str = "127.0.0.1", rejoin: bool = False,
                 minimal_peers: Optional[Mapping[str, int]] = None, minimal_wait: float = 30.0,
                 concurrent_max: int = 4, overflow: str = "block", queue_max: int = 10_000,
                 queue_bytes_max: int = 64 << 20, heartbeat: float = 1.0, silence_max: float = 3.0) -> None:
        """``peers``: number of peers of each type that join() waits for. ``names``: URL of the names backend, as for
        Names; default: the master. ``host``: address at which peers reach this component. ``rejoin``: messages to a lost
        peer wait for the next component of that name. ``minimal_peers``: the group ends if it has fewer peers of a type
        for longer than ``minimal_wait`` seconds. ``concurrent_max``: number of concurrent handlers that run at a time; as
        many may wait. ``overflow``: what happens if a queue is full, one of block, fail and drop_oldest."""
        given: Dict[str, Any] = {
            "group": group, "type": type, "name": name, "peers": {} if peers is None else peers, "names": names,
            "host": host, "rejoin": rejoin, "minimal_peers": {} if minimal_peers is None else minimal_peers,
            "minimal_wait": minimal_wait, "concurrent_max": concurrent_max, "overflow": overflow,
            "queue_max": queue_max, "queue_bytes_max": queue_bytes_max, "heartbeat": heartbeat,
            "silence_max": silence_max,
        }
        check_options(_options, given)
        self._native = _native.Component({**given, "peers": dict(given["peers"]),
                                          "minimal_peers": dict(given["minimal_peers"])})

    @property
    def name(self) -> str:
        """Name of this component in the group."""
        return self._native.name

    def join(self, timeout: Optional[float] = 30.0) -> "Component":
        """Returns when every expected peer is reachable; raises ``timed_out`` with the names of those that are not."""
        _take(self._native.join(_seconds(timeout)))
        return self

    def peers(self, type: str = "") -> List[str]:
        """Peers that are reachable now, of one type or of all types."""
        return self._native.peers(type)

    def send(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
             reliable: bool = False, timeout: Optional[float] = 30.0) -> int:
        """Sends a one-way message and returns its id. A reliable message is resent after a lost connection, and arrives
        once."""
        return _take(self._native.send(peer, tag, *_content(value, body), session, reliable, _seconds(timeout)))

    def send_async(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                   reliable: bool = False, timeout: Optional[float] = 30.0) -> "MessageFuture[int]":
        """Like send(), but returns a future of the id at once. Messages to one peer keep the order of the calls."""
        sent = self._native.send_async(peer, tag, *_content(value, body), session, reliable, _seconds(timeout))
        return MessageFuture([sent], lambda outcomes: _take(outcomes[0]))

    def request(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                reliable: bool = False, timeout: Optional[float] = 30.0) -> Message:
        """Sends a request and waits for the reply; raises ``refused`` if the peer refused it."""
        return _take(self._native.request(peer, tag, *_content(value, body), session, reliable, _seconds(timeout)))

    def request_async(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                      reliable: bool = False, timeout: Optional[float] = 30.0) -> "MessageFuture[Message]":
        """Like request(), but returns a future of the reply at once; it fails after ``timeout`` seconds."""
        asked = self._native.request_async(peer, tag, *_content(value, body), session, reliable, _seconds(timeout))
        return MessageFuture([asked], lambda outcomes: _take(outcomes[0]))

    def broadcast(self, type: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None,
                  timeout: Optional[float] = 30.0) -> List[Reply]:
        """Sends a request to all peers of a type at once; returns one reply for each."""
        replies = self._native.broadcast(type, tag, *_content(value, body), _seconds(timeout))
        return [_reply(peer, outcome) for peer, outcome in replies]

    def broadcast_async(self, type: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None,
                        timeout: Optional[float] = 30.0) -> "MessageFuture[List[Reply]]":
        """Like broadcast(), but returns a future of all replies at once."""
        content = _content(value, body)
        return self._ask_all([(peer, tag, *content) for peer in self.peers(type)], timeout)

    def scatter(self, parcels: Sequence[Tuple[str, str, Any]], *, timeout: Optional[float] = 30.0) -> List[Reply]:
        """Sends each (peer, tag, value) as a request; returns one reply for each, in the same order."""
        return [_reply(peer, outcome) for peer, outcome in self._native.scatter(list(parcels), _seconds(timeout))]

    def scatter_async(self, parcels: Sequence[Tuple[str, str, Any]], *,
                      timeout: Optional[float] = 30.0) -> "MessageFuture[List[Reply]]":
        """Like scatter(), but returns a future of all replies at once."""
        return self._ask_all([(peer, tag, *_content(value, None)) for peer, tag, value in parcels], timeout)

    def _ask_all(self, requests: Sequence[Tuple[str, str, Any, bool]],
                 timeout: Optional[float]) -> "MessageFuture[List[Reply]]":
        """Sends each (peer, tag, content, whether it is a value)."""
        asked = [self._native.request_async(*one, 0, False, _seconds(timeout)) for one in requests]
        return MessageFuture(asked, lambda outcomes: [_reply(peer, outcome)
                                                      for (peer, *_), outcome in zip(requests, outcomes)])

    def receive(self, timeout: Optional[float] = 30.0) -> Message:
        """Returns the next message; raises ``timed_out`` if none arrives in time."""
        return _take(self._native.receive(_seconds(timeout)))

    def reply(self, task: Message, value: Any = _nothing, *, body: Optional[bytes] = None, tag: str = "") -> None:
        """Replies to a task, once. The reply has the tag of the task unless another one is given."""
        _take(self._native.reply(task, *_content(value, body), tag))

    def refuse(self, task: Message, why: str) -> None:
        """Replies to a task with an error, once."""
        _take(self._native.refuse(task, why))

    def forward(self, message: Message, peer: str) -> int:
        """Forwards a message to another peer, as a one-way message from this component."""
        return _take(self._native.forward(message, peer))

    def on(self, tag: str, handler: Callable[[Message], Any], *, concurrent: bool = False) -> None:
        """Sets the handler for messages with this tag; launch() calls it. Its return value is the reply to a task, unless
        it already replied. To reply later, it keeps the message and returns None. A concurrent handler runs on its own
        thread, others run one at a time."""
        _take(self._native.on(tag, handler, concurrent))

    def when(self, event: str, handler: Callable[[List[Message]], Any]) -> None:
        """Sets the handler for an event, ``worker:update:60% AND learner:ready:1``; launch() calls it with the messages.
        Its return value, if not None, is the reply to all tasks among them that have no reply yet."""
        _take(self._native.when(_check_event(event), handler))

    def launch(self) -> None:
        """Passes messages to their handlers until stop(). A request without a handler, or whose handler raises, is
        refused; the loop continues. Returns when the last concurrent handler has finished; raises if the group ends
        because of ``minimal_peers``."""
        _take(self._native.launch())

    def stop(self) -> None:
        """Ends launch()."""
        self._native.stop()

    def on_peer_up(self, call: Callable[[str], Any]) -> None:
        """Sets a callback for each peer that becomes reachable, with its name. It must not block. Call before join()."""
        self._native.on_peer_up(call)

    def on_peer_down(self, call: Callable[[str, str, List[int]], Any]) -> None:
        """Sets a callback for each lost peer, with its name, the reason, and the ids of messages whose delivery is
        unknown. It must not block. Call before join()."""
        self._native.on_peer_down(call)

    def close(self, linger: Optional[float] = 1.0) -> List[int]:
        """Waits up to ``linger`` seconds until all messages are acknowledged, and leaves the group. Returns the ids of
        messages that were not acknowledged."""
        return self._native.close(_seconds(linger))

    def counters(self) -> Dict[str, int]:
        """Counters: strangers, malformed, dropped, late, handler_failures, without_handler."""
        return self._native.counters()

    def __enter__(self) -> "Component":
        return self.join()

    def __exit__(self, *_: Any) -> None:
        self.close()


_Local = TypeVar("_Local")
Handler = Callable[[Any, Component, Union[Message, List[Message]]], Any]


class concurrent:
    """A handler for dist() that runs on its own thread: ``{"hello": cadre.concurrent(on_hello)}``."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, *args: Any) -> Any:
        return self._handler(*args)


def dist(component: Component, handlers: Mapping[str, Handler]) -> Callable[[Type[_Local]], Type[_Local]]:
    """Makes a class reachable by messages: ``@cadre.dist(component, {"hello": on_hello})``.

    A handler is called as ``on_hello(local_instance, component, message)``, and its return value is the reply, as for
    Component.on(). A key with colons is an event, ``worker:update:60%``, whose handler gets the list of messages.
    The class keeps all its members; an instance also gets ``launch()`` and ``component``.
    """

    def wrap(original: Type[_Local]) -> Type[_Local]:
        class Distributed(original):  # type: ignore[misc, valid-type]
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(*args, **kwargs)
                for key, handler in handlers.items():
                    def call(arrived: Any, handler: Handler = handler) -> Any:
                        return handler(self, component, arrived)
                    is_concurrent = isinstance(handler, concurrent)
                    if ":" not in _check_event(key):
                        component.on(key, call, concurrent=is_concurrent)
                    elif is_concurrent:
                        raise TypeError(f"the handler of the event {key!r} cannot be concurrent; only handlers of tags can")
                    else:
                        component.when(key, call)

            @property
            def component(self) -> Component:
                return component

            def launch(self) -> None:
                """Passes messages to the handlers until component.stop()."""
                component.launch()

        Distributed.__name__ = original.__name__
        Distributed.__qualname__ = original.__qualname__
        Distributed.__module__ = original.__module__
        Distributed.__doc__ = original.__doc__
        return Distributed

    return wrap
