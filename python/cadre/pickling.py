"""Objects to bytes and back. Large buffers (numpy arrays, bytearrays) are kept out of the pickle."""
import pickle
import sys
from typing import Any, List, Sequence, Tuple

__all__ = ["bytes_of", "dump", "dump_as", "load", "main_names"]

main_names = ("__main__", "__mp_main__")  # of the main script, also in a child process of multiprocessing
_apart_from = 4096  # bytes; smaller buffers are cheaper in the pickle
_apart_max = 1000  # buffers


def dump(value: Any, by_value: bool = False) -> Tuple[bytes, List[Any]]:
    """Plainly if that will do; what lives in the main script, and lambdas, by value."""
    buffers: List[Any] = []

    def apart(buffer: pickle.PickleBuffer) -> bool:
        """Whether it stays in the pickle."""
        raw = buffer.raw()
        if raw.nbytes < _apart_from or len(buffers) == _apart_max:
            return True
        buffers.append(raw)
        return False

    if not by_value:
        try:
            body = pickle.dumps(value, 5, buffer_callback=apart)
            if b"__main__" not in body and b"__mp_main__" not in body:
                return body, buffers
        except Exception:  # cloudpickle may know better, and says it better if not
            pass
        buffers.clear()
    import cloudpickle
    if "__mp_main__" in sys.modules:  # a child process of multiprocessing calls the main script so, and another cannot
        cloudpickle.register_pickle_by_value(sys.modules["__mp_main__"])
    body = cloudpickle.dumps(value, 5, buffer_callback=apart)
    return body, buffers


def dump_as(name: str, value: Any, by_value: bool = False) -> Tuple[bytes, List[Any]]:
    """The same; what cannot be sent is called by its name."""
    try:
        return dump(value, by_value)
    except Exception as error:
        raise TypeError(f"{name} cannot be sent: {error}") from error


def load(body: Any, parts: Sequence[Any]) -> Any:
    return pickle.loads(body, buffers=parts) if parts else pickle.loads(body)


def bytes_of(name: str, value: Any, expected: str = "bytes") -> bytes:
    """Of what holds bytes; ``bytes(3)`` would be three zeros."""
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}, but must be {expected}") from None
