"""The file of a study: its configuration in the first line, then an event in each line."""
import errno
import fcntl
import json
import os
from typing import Any, Dict, List, Optional

from cadre.search.errors import SearchError

__all__ = ["Event", "Journal"]

Event = Dict[str, Any]
_key = "cadre_study"
_version = 1


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


class Journal:
    """All events of a search, from which it is rebuilt. With a file, which no other process may use meanwhile, an event is
    stored when append() returns."""

    def __init__(self, path: str = "") -> None:
        self.config: Dict[str, Any] = {}
        self.events: List[Event] = []
        self._file: Optional[int] = None
        self._is_closed = False
        if not path:
            return
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read(path)
        except BlockingIOError:
            self.close()
            raise SearchError("conflict", f"{path} is in use, by another program or by a study of this one; close() that "
                                          "study, or use another file") from None
        except SearchError:
            self.close()
            raise

    def _read(self, path: str) -> None:
        assert self._file is not None
        size = os.fstat(self._file).st_size
        *lines, rest = os.pread(self._file, size, 0).split(b"\n")
        try:
            values = [json.loads(line) for line in lines]
            if values:
                if values[0][_key] != _version:
                    raise SearchError("invalid", f"{path} was written by a newer version of cadre; use that version")
                self.config, self.events = values[0]["config"], values[1:]
        except (ValueError, KeyError, TypeError):
            raise SearchError("corrupt", f"{path} is not the file of a study; use another file") from None
        if not values and rest and not _line({_key: _version})[:-2].startswith(rest[:10]):
            raise SearchError("corrupt", f"{path} is not the file of a study; use another file")
        if rest:  # the program was killed while it wrote
            os.ftruncate(self._file, size - len(rest))

    def begin(self, config: Dict[str, Any]) -> None:
        self.config = config
        self._write(self._head())

    def append(self, event: Event) -> None:
        self._write(_line(event))
        self.events.append(event)

    def save(self, path: str) -> None:
        """Writes all of it to a file, which it replaces as a whole."""
        part = f"{path}.part"
        with open(part, "wb") as file:
            file.write(b"".join([self._head(), *map(_line, self.events)]))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._is_closed = True

    def _head(self) -> bytes:
        return _line({_key: _version, "config": self.config})

    def require_open(self) -> None:
        if self._is_closed:
            raise SearchError("conflict", "this study was closed; continue its file with Study.load()")

    def _write(self, line: bytes) -> None:
        if self._file is None:
            return
        try:
            if os.write(self._file, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._file)
        except OSError as error:  # nothing may follow a line that is not whole
            self.close()
            raise SearchError("unavailable", f"the file of the study cannot be written: {error.strerror}; make room, and "
                                             "continue it with Study.load()") from error
