"""Components: named members of a group that find each other by name and speak with each other.

    import cadre

    component = cadre.Component("demo", "worker", peers={"learner": 1}, names="file:///tmp/demo")
    component.join()
    print(component.request("learner-1", "ask", {"how": "much"}).value)

Values are None, bool, int, float, complex, str, bytes, numpy arrays and scalars, and lists, tuples, dicts and sets of
those; they travel as MessagePack, so that a component in C++ reads them, too. Bytes that are to travel as they are go as
``body=``. Messages between two components arrive in the order in which they were sent, each at most once. All may be
called from any thread; handlers run one at a time, but for those that are concurrent. A ``timeout`` is in seconds and for
the whole call; None stands for no deadline.
"""
import asyncio
import time
from typing import (Any, Callable, Dict, Generator, Generic, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type,
                    TypeVar, Union)

from cadre import _native
from cadre._native import Message
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
    """Why something did not happen. ``code`` is invalid, not_found, conflict, unavailable, timed_out, denied, corrupt or
    refused: whoever was asked says no."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code

    def __reduce__(self) -> Any:
        return (ComponentError, (self.code, str(self)))


class ComponentTimeoutError(ComponentError, TimeoutError):
    """The same when it took too long: ``code`` is timed_out."""

    def __reduce__(self) -> Any:
        return (ComponentTimeoutError, (self.code, str(self)))


class Reply(NamedTuple):
    """What one of many peers said, or why it said nothing."""

    peer: str
    message: Optional[Message]
    error: Optional[ComponentError]


_T = TypeVar("_T")


def _content(value: Any, body: Optional[bytes]) -> Tuple[Any, bool]:
    """What to send, and whether it is a value."""
    if body is not None:
        if value is not _nothing:
            raise TypeError("give a value or a body, not both")
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
    """How an event that is a tuple or list, as other frameworks have them, is written as text."""
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
        raise TypeError(f"an event is text, not a {type(event).__name__}: write {text!r}")
    raise TypeError(f"an event is text like 'worker:update:60%', not {event!r}")


class MessageFuture(Generic[_T]):
    """What becomes of a message that was sent without waiting. It can be awaited."""

    __slots__ = ("_parts", "_make", "__weakref__")

    def __init__(self, parts: Sequence[Any], make: Callable[[List[Tuple[bool, Any]]], _T]) -> None:
        self._parts = parts
        self._make = make

    def get(self, timeout: Optional[float] = None) -> _T:
        """What the call that waits would have given or raised; raises ``timed_out`` when it is not there in time."""
        end = None if timeout is None else time.monotonic() + timeout
        outcomes = []
        for part in self._parts:
            outcomes.append(part.get(_seconds(None if end is None else max(0.0, end - time.monotonic()))))
            if not part.is_there:
                raise _error("timed_out", "it is not there in time")
        return self._make(outcomes)

    def ready(self) -> bool:
        """Whether get() would not wait."""
        return all(part.is_there for part in self._parts)

    def then(self, call: Callable[["MessageFuture[_T]"], Any]) -> "MessageFuture[_T]":
        """Calls it with this future once it is ready: at once, or on a thread that runs such calls in turn."""
        def next_part() -> None:
            for part in self._parts:
                if not part.is_there:
                    return part.then(next_part)
            call(self)
        next_part()
        return self

    def cancel(self) -> None:
        """The answer is not wanted any more; a message that still waits for room is not sent. get() raises ``conflict``."""
        for part in self._parts:
            part.cancel()

    def __await__(self) -> Generator[Any, None, _T]:
        loop = asyncio.get_running_loop()
        arrived = loop.create_future()

        def wake() -> None:
            if not arrived.done():
                arrived.set_result(None)

        def tell(_: Any) -> None:
            try:
                loop.call_soon_threadsafe(wake)
            except RuntimeError:  # the loop is closed: nobody waits there any more
                pass

        self.then(tell)
        try:
            yield from arrived.__await__()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self.get(0)


class Component:
    """A named member of a group."""

    def __init__(self, group: str, type: str, name: str = "", *, peers: Optional[Mapping[str, int]] = None,
                 names: str = "", host: str = "127.0.0.1", rejoin: bool = False,
                 minimal_peers: Optional[Mapping[str, int]] = None, minimal_wait: float = 30.0,
                 concurrent_max: int = 4, overflow: str = "block", queue_max: int = 10_000,
                 queue_bytes_max: int = 64 << 20, heartbeat: float = 1.0, silence_max: float = 3.0) -> None:
        """``peers`` says how many of each type join() waits for, ``names`` where they are found (a URL as for Names; left
        out: by the master), ``host`` at which address of this host they find this one. With ``rejoin`` messages to a
        peer that is away wait for the next of its name. With fewer than ``minimal_peers`` for longer than
        ``minimal_wait`` seconds the group cannot go on. ``concurrent_max`` concurrent handlers run at a time, and as many
        may wait. ``overflow`` is block, fail or drop_oldest."""
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
        """Its name in the group."""
        return self._native.name

    def join(self, timeout: Optional[float] = 30.0) -> "Component":
        """Returns when every expected peer can be reached; raises ``timed_out`` with those that cannot."""
        _take(self._native.join(_seconds(timeout)))
        return self

    def peers(self, type: str = "") -> List[str]:
        """Peers that can be reached now, of one type or of all."""
        return self._native.peers(type)

    def send(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
             reliable: bool = False, timeout: Optional[float] = 30.0) -> int:
        """One way; gives the message's id. A reliable one is sent again after a lost connection, and arrives once."""
        return _take(self._native.send(peer, tag, *_content(value, body), session, reliable, _seconds(timeout)))

    def send_async(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                   reliable: bool = False, timeout: Optional[float] = 30.0) -> "MessageFuture[int]":
        """The same without waiting for room: a future of the id. Messages to one peer keep the order of the calls."""
        sent = self._native.send_async(peer, tag, *_content(value, body), session, reliable, _seconds(timeout))
        return MessageFuture([sent], lambda outcomes: _take(outcomes[0]))

    def request(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                reliable: bool = False, timeout: Optional[float] = 30.0) -> Message:
        """Waits for the answer; raises ``refused`` when the other side could not give one."""
        return _take(self._native.request(peer, tag, *_content(value, body), session, reliable, _seconds(timeout)))

    def request_async(self, peer: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None, session: int = 0,
                      reliable: bool = False, timeout: Optional[float] = 30.0) -> "MessageFuture[Message]":
        """The same without waiting: a future of the answer, which fails when there is none in ``timeout`` seconds."""
        asked = self._native.request_async(peer, tag, *_content(value, body), session, reliable, _seconds(timeout))
        return MessageFuture([asked], lambda outcomes: _take(outcomes[0]))

    def broadcast(self, type: str, tag: str, value: Any = _nothing, *, body: Optional[bytes] = None,
                  timeout: Optional[float] = 30.0) -> List[Reply]:
        """Asks all peers of a type at once."""
        replies = self._native.broadcast(type, tag, *_content(value, body), _seconds(timeout))
        return [_reply(peer, outcome) for peer, outcome in replies]

    def broadcast_async(self, type: str, tag: str, value: Any = _nothing, *,
                        timeout: Optional[float] = 30.0) -> "MessageFuture[List[Reply]]":
        """The same without waiting: a future of all replies."""
        return self.scatter_async([(peer, tag, value) for peer in self.peers(type)], timeout=timeout)

    def scatter(self, parcels: Sequence[Tuple[str, str, Any]], *, timeout: Optional[float] = 30.0) -> List[Reply]:
        """Asks each peer for something of its own, (peer, tag, value); one reply each, in their order."""
        return [_reply(peer, outcome) for peer, outcome in self._native.scatter(list(parcels), _seconds(timeout))]

    def scatter_async(self, parcels: Sequence[Tuple[str, str, Any]], *,
                      timeout: Optional[float] = 30.0) -> "MessageFuture[List[Reply]]":
        """The same without waiting: a future of all replies, in their order."""
        parcels = list(parcels)
        asked = [self._native.request_async(peer, tag, *_content(value, None), 0, False, _seconds(timeout))
                 for peer, tag, value in parcels]
        return MessageFuture(asked, lambda outcomes: [_reply(one[0], outcome) for one, outcome in zip(parcels, outcomes)])

    def receive(self, timeout: Optional[float] = 30.0) -> Message:
        """The next message; raises ``timed_out`` when none comes in time."""
        return _take(self._native.receive(_seconds(timeout)))

    def reply(self, task: Message, value: Any = _nothing, *, body: Optional[bytes] = None, tag: str = "") -> None:
        """Answers a task, once. The answer has the tag of the task unless another is given."""
        _take(self._native.reply(task, *_content(value, body), tag))

    def refuse(self, task: Message, why: str) -> None:
        """Answers a task with why it cannot be done, once."""
        _take(self._native.refuse(task, why))

    def forward(self, message: Message, peer: str) -> int:
        """Sends a message on to another peer, as a notification of one's own."""
        return _take(self._native.forward(message, peer))

    def on(self, tag: str, handler: Callable[[Message], Any], *, concurrent: bool = False) -> None:
        """For launch(): messages of this tag. What the handler returns is the answer to a task that it has not answered
        itself. To answer later, it keeps the message and returns None. A concurrent handler runs on a thread of its own,
        others one at a time."""
        _take(self._native.on(tag, handler, concurrent))

    def when(self, event: str, handler: Callable[[List[Message]], Any]) -> None:
        """For launch(): as soon as so many have come, ``worker:update:60% AND learner:ready:1``. What the handler returns,
        if that is not None, is the answer to all tasks among them that have none yet."""
        _take(self._native.when(_check_event(event), handler))

    def launch(self) -> None:
        """Hands messages to their handlers until stop(). Who asks something that has no handler, or whose handler
        raises, is refused; the loop goes on. Ends when the last concurrent handler has; raises when the group cannot go
        on."""
        _take(self._native.launch())

    def stop(self) -> None:
        """Ends launch()."""
        self._native.stop()

    def on_peer_up(self, call: Callable[[str], Any]) -> None:
        """Called with the name of each peer that can be reached from now on; must not wait. Before join()."""
        self._native.on_peer_up(call)

    def on_peer_down(self, call: Callable[[str, str, List[int]], Any]) -> None:
        """Called with the name of a peer that was lost, why, and the ids of messages of which nobody knows whether they
        arrived; must not wait. Before join()."""
        self._native.on_peer_down(call)

    def close(self, linger: Optional[float] = 1.0) -> List[int]:
        """Waits for at most so long until everything has arrived, and leaves the group. Gives the ids of messages of
        which nobody has said that they arrived."""
        return self._native.close(_seconds(linger))

    def counters(self) -> Dict[str, int]:
        """What was counted: strangers, malformed, dropped, late, handler_failures, without_handler."""
        return self._native.counters()

    def __enter__(self) -> "Component":
        return self.join()

    def __exit__(self, *_: Any) -> None:
        self.close()


_Local = TypeVar("_Local")
Handler = Callable[[Any, Component, Union[Message, List[Message]]], Any]


class concurrent:
    """A handler for dist() that runs on a thread of its own: ``{"hello": cadre.concurrent(on_hello)}``."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, *args: Any) -> Any:
        return self._handler(*args)


def dist(component: Component, handlers: Mapping[str, Handler]) -> Callable[[Type[_Local]], Type[_Local]]:
    """A class that messages reach: ``@cadre.dist(component, {"hello": on_hello})``.

    A handler is called as ``on_hello(local_instance, component, message)``, and what it returns is the answer, as for
    Component.on(). A key with colons is an event, ``worker:update:60%``, whose handler gets the list of messages.
    Everything of the class stays reachable; an instance gets ``launch()`` and ``component`` besides.
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
                        raise TypeError(f"the handler of the event {key!r} cannot be concurrent, only that of a tag")
                    else:
                        component.when(key, call)

            @property
            def component(self) -> Component:
                return component

            def launch(self) -> None:
                """Hands messages to the handlers until component.stop()."""
                component.launch()

        Distributed.__name__ = original.__name__
        Distributed.__qualname__ = original.__qualname__
        Distributed.__module__ = original.__module__
        Distributed.__doc__ = original.__doc__
        return Distributed

    return wrap
