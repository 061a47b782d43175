"""Serialization of objects. Large buffers (numpy arrays, bytearrays) are kept out of the pickle."""
import pickle
import sys
from typing import Any, List, Sequence, Tuple

__all__ = ["bytes_of", "dump", "dump_as", "load", "main_names", "need_cloudpickle"]

main_names = ("__main__", "__mp_main__")  # names of the main script, also in a child of multiprocessing
_apart_from = 4096  # bytes; smaller buffers are cheaper in the pickle
_apart_max = 1000  # buffers


def dump(value: Any, by_value: bool = False) -> Tuple[bytes, List[Any]]:
    """Uses pickle if possible, else cloudpickle, which sends lambdas and objects of the main script by value."""
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
        except Exception:  # cloudpickle may succeed, and has better error messages
            pass
        buffers.clear()
    cloudpickle = need_cloudpickle()
    if "__mp_main__" in sys.modules:  # name of the main script in a child of multiprocessing; unknown to others
        cloudpickle.register_pickle_by_value(sys.modules["__mp_main__"])
    body = cloudpickle.dumps(value, 5, buffer_callback=apart)
    return body, buffers


def need_cloudpickle() -> Any:
    """The module cloudpickle; the error without it says how to get it."""
    try:
        import cloudpickle
        return cloudpickle
    except ModuleNotFoundError:
        raise ModuleNotFoundError("cadre needs cloudpickle: install it in this environment "
                                  "(pip install 'cloudpickle==2.2.*')", name="cloudpickle") from None


def dump_as(name: str, value: Any, by_value: bool = False) -> Tuple[bytes, List[Any]]:
    """Like dump(); the error for a value that cannot be sent contains its name."""
    try:
        return dump(value, by_value)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cloudpickle":
            raise
        raise TypeError(f"{name} cannot be sent: {error}") from error


def load(body: Any, parts: Sequence[Any]) -> Any:
    return pickle.loads(body, buffers=parts) if parts else pickle.loads(body)


def bytes_of(name: str, value: Any, expected: str = "bytes") -> bytes:
    """The bytes of a bytes-like object; unlike ``bytes(3)``, which would be three zeros."""
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise TypeError(f"{name} is {value!r}, but must be {expected}") from None
