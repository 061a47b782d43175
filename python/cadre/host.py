"""The process of an actor: ``python3 -m cadre.host``, started by an agent. It waits for its task, creates the object
and runs its methods when they are called."""
import os
import sys
import threading
import traceback
from typing import Any, Dict, FrozenSet, Iterable, Tuple

from cadre import _native, files, interpreter, pickling, session, templates
from cadre.errors import RemoteError, fields_of

_verbs = _native.verbs


class _Object:
    """The object of the actor, after it was created."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.instance: Any = None
        self.methods: FrozenSet[str] = frozenset()

    def create(self, body: Any, parts: Any) -> None:
        interpreter.check_caller()
        with session.importing_class():
            cls, args, kwargs = _load(body, parts)
            original = _load(*cls) if isinstance(cls, tuple) else cls.__cadre_class__
        self.methods = frozenset(name for name in dir(original) if callable(getattr(original, name, None)))
        self.instance = original(*args, **kwargs)

    def hidden(self) -> str:
        """Methods of the class that non-callable attributes of the object hide."""
        own = getattr(self.instance, "__dict__", None)
        if not own or self.methods.isdisjoint(own):
            return ""
        return ",".join(sorted(name for name in self.methods.intersection(own) if not callable(own[name])))

    def run(self, verb: int, name: str, body: Any, parts: Any) -> Any:
        if verb == _verbs["call"]:
            args, kwargs = _load(body, parts)
            return getattr(self.instance, name)(*args, **kwargs)
        if verb == _verbs["get"]:
            return getattr(self.instance, name)
        if verb == _verbs["set"]:
            return setattr(self.instance, name, _load(body, parts))
        return self.create(body, parts)

    def serve(self) -> None:
        while True:
            wanted = self.host.next()
            if wanted is None:
                return
            answer, verb, name, body, parts = wanted
            try:
                value = self.run(verb, name, body, parts)
                said, buffers = pickling.dump_as(f"the result of {name}", value)
                self.host.answer(answer, _verbs["value"], self.hidden(), said, buffers)
            except BaseException as error:  # also SystemExit: the actor stays alive
                said, buffers = pickling.dump(_words_of(error))
                self.host.answer(answer, _verbs["error"], _type_name(error)[:1000], said, buffers)
            # Release everything of this call before waiting for the next one.
            wanted = answer = body = parts = value = said = buffers = error = None


class _Shown:
    """A stream whose lines are also sent to the callers of the actor."""

    def __init__(self, stream: Any, host: Any, is_error: bool) -> None:
        self._stream = stream
        self._host = host
        self._is_error = is_error
        self._line = ""
        self._pid = os.getpid()
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        written = self._stream.write(text)
        if os.getpid() == self._pid:  # a child process has no callers
            with self._lock:
                lines, end, self._line = (self._line + text).rpartition("\n")
                if len(self._line) > _line_max:
                    lines, end, self._line = lines + end + self._line, "\n", ""
                if end:
                    self._host.show(self._is_error, lines + end)
        return int(written)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_line_max = 16_384  # characters; a longer line is shown in parts


def _load(body: Any, parts: Any) -> Any:
    try:
        session.imports.depth += 1
        return pickling.load(body, parts)
    except ModuleNotFoundError as error:
        top = (error.name or "").partition(".")[0]
        hint = f"{error}; the actor does not have it: if it is your own module, pass files=['/path/to/{top}'], its " \
               "folder or file, to remote_class; otherwise install it where the actor runs"
        if interpreter.unusable():
            hint += f". The actor runs {sys.executable}, because it cannot use {interpreter.unusable()} of its caller; " \
                    "start the agent with --python and the folder of that environment to let actors use it"
        raise ModuleNotFoundError(hint, name=error.name, path=error.path) from error
    finally:
        session.imports.depth -= 1


def _type_name(error: BaseException) -> str:
    """Type name of the error; for an error from another actor, its original type name."""
    kind = type(error)
    own = f"{kind.__module__}.{kind.__qualname__}"
    return str(getattr(error, "type_name", own)) if isinstance(error, RemoteError) else own


def _words_of(error: BaseException) -> Tuple[str, str, Dict[str, Any]]:
    """Message, traceback and attributes of an error, even if its own code raises."""
    try:
        text = "".join(traceback.format_exception(type(error), error, _own_part(error.__traceback__)))
        says = str(error.args[0]) if isinstance(error, RemoteError) else str(error)
        return says, text, fields_of(error)
    except BaseException as another:
        return f"an exception that cannot be formatted: {type(another).__name__}", "", {}


def _own_part(trace: Any) -> Any:
    """The traceback without the lines of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def main() -> None:
    # The files next to the main script were uploaded to this folder.
    sys.path.insert(0, os.getcwd())
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    pickling.need_cloudpickle()  # takes a while, and is needed for classes of a main script
    if "CADRE_FORKS" in os.environ:
        templates.prepare(sys.argv[1:])
        environment = templates.serve(int(os.environ["CADRE_FORKS"]))
        os.environ.clear()
        os.environ.update(environment)
    elif "CADRE_WARM" in os.environ:  # a warm process has time to import what most classes need
        templates.prepare([])
    variables = _native.wait_until_begun()
    if variables is None:
        return
    os.environ.update(variables)  # Python read the environment before they were set
    files.remember_what_came_along()
    host = _native.Host()
    if host.shows_output:
        sys.stdout = _Shown(sys.stdout, host, is_error=False)  # type: ignore[assignment]
        sys.stderr = _Shown(sys.stderr, host, is_error=True)  # type: ignore[assignment]
    host.announce()
    target = _Object(host)
    lanes = int(os.environ.get("CADRE_ACTOR_LANES", "1"))
    threads = [threading.Thread(target=target.serve, daemon=True) for _ in range(lanes - 1)]
    for thread in threads:
        thread.start()
    target.serve()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the resources of the object are freed with the process


if __name__ == "__main__":
    main()
