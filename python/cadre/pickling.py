"""Objects to bytes and back. Large buffers (numpy arrays, bytearrays) are kept out of the pickle."""
import pickle
from typing import Any, List, Sequence, Tuple

__all__ = ["dump", "load"]


def dump(value: Any, by_value: bool = False) -> Tuple[bytes, List[Any]]:
    """Plainly if that will do; what lives in the main script, and lambdas, by value."""
    buffers: List[pickle.PickleBuffer] = []
    if not by_value:
        try:
            body = pickle.dumps(value, 5, buffer_callback=buffers.append)
            if b"__main__" not in body:
                return body, [one.raw() for one in buffers] if buffers else buffers
        except Exception:  # cloudpickle may know better, and says it better if not
            pass
        buffers.clear()
    import cloudpickle
    body = cloudpickle.dumps(value, 5, buffer_callback=buffers.append)
    return body, [one.raw() for one in buffers]


def load(body: Any, parts: Sequence[Any]) -> Any:
    return pickle.loads(body, buffers=parts) if parts else pickle.loads(body)
