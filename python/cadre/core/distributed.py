"""The processes of a distributed trial."""
import pickle
from typing import Any, List, Optional

from cadre import _native
from cadre.core.errors import take

__all__ = ["Distributed"]

_kinds = {name: number for number, name in enumerate(
    ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))}
_operations = {"sum": 0, "mean": 1, "min": 2, "max": 3}


class Distributed:
    """The processes of a distributed trial, each with a rank from 0. All of them must make the same calls in the same
    order; each call returns when all have made it. When a process is lost, calls raise an error that names it."""

    rank: int
    """Index of this process."""
    size: int
    """Number of processes."""
    local_rank: int
    """Index among the processes of this host."""
    local_size: int
    """Number of processes of this host."""
    node_rank: int
    """Index of the host (more precisely, the task)."""
    nodes: int
    """Number of hosts."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native
        self.rank, self.size, self.local_rank, self.local_size, self.node_rank, self.nodes = native.place()

    def gather(self, value: Any) -> Optional[List[Any]]:
        """The values of all ranks, in their order, on rank 0; None on the others."""
        packed = take(self._native.gather(pickle.dumps(value, 5)))
        return [pickle.loads(one) for one in packed] if self.rank == 0 else None

    def allgather(self, value: Any) -> List[Any]:
        """The values of all ranks, in their order, on each of them."""
        return [pickle.loads(one) for one in take(self._native.allgather(pickle.dumps(value, 5)))]

    def broadcast(self, value: Any = None) -> Any:
        """The value of rank 0, on all ranks."""
        packed = take(self._native.broadcast(pickle.dumps(value, 5) if self.rank == 0 else b""))
        return value if self.rank == 0 else pickle.loads(packed)

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        take(self._native.barrier())

    def allreduce(self, value: Any, op: str = "sum", out: Any = None) -> Any:
        """Combines numbers of all ranks: ``op`` is sum, mean, min or max. ``value`` is a number, or a numpy array of one
        shape and dtype on all ranks. Values are combined in the order of the ranks, so the result is the same on all
        ranks and in every run. The mean of integers is a float64. ``out``: an array for the result, which may be
        ``value`` itself."""
        import numpy  # it takes long to import, and most programs do without

        if op not in _operations:
            raise ValueError(f"op is {op!r}, but must be one of {', '.join(_operations)}")
        array = numpy.asarray(value)
        if array.dtype == numpy.bool_ and op in ("sum", "mean"):
            array = array.astype(numpy.int64)
        if op == "mean" and array.dtype.kind in "iu":
            array = array.astype(numpy.float64)
        kind = _kinds.get(array.dtype.newbyteorder("=").name)
        if kind is None and array.dtype != numpy.bool_:
            raise TypeError(f"arrays of dtype {array.dtype} cannot be combined; use one of {', '.join(_kinds)}")
        numbers = _target(array, out)
        take(self._native.allreduce(numbers.reshape(-1).view(numpy.uint8), _kinds["uint8"] if kind is None else kind,
                                    _operations[op]))
        if isinstance(value, (bool, int, float)):
            return numbers.item()
        return numbers if out is None else out


def _target(array: Any, out: Any) -> Any:
    """The array that is combined in place, with the values of the given one."""
    import numpy

    if out is None:
        return numpy.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    is_good = (isinstance(out, numpy.ndarray) and out.shape == array.shape and out.dtype == array.dtype and
               out.flags.c_contiguous and out.flags.writeable and out.dtype.isnative)
    if not is_good:
        raise ValueError(f"out must be a writable, contiguous array of shape {array.shape} and dtype {array.dtype}")
    if out is not array:
        numpy.copyto(out, array)
    return out
