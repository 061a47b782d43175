"""Saved states of a trial."""
import contextlib
import dataclasses
import os
import pathlib
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from cadre import _native
from cadre.core.errors import take
from cadre.core.plain import plain_value

__all__ = ["Checkpoint", "Checkpoints"]


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A saved state of a trial."""

    uuid: str
    steps: int
    """Steps completed when it was saved."""
    run: int
    """Run that saved it."""
    metadata: Dict[str, Any]
    """As given when it was saved."""
    size_bytes: int

    def __str__(self) -> str:
        return self.uuid


Named = Union[str, Checkpoint]


class Checkpoints:
    """Saves and restores checkpoints: files in folders. A checkpoint exists when all of it is stored. With ``shard`` all
    ranks of a distributed trial save files of one checkpoint, and must make the same calls; files of one name must be
    equal. Otherwise only rank 0 saves. All reports are stored before the checkpoint."""

    def __init__(self, native: _native.Trial) -> None:
        self._native = native

    def upload(self, path: Union[str, "os.PathLike[str]"], metadata: Optional[Mapping[str, Any]] = None, *, steps: int,
               shard: bool = False) -> str:
        """Saves the files of a folder, and returns the UUID of the checkpoint."""
        return take(self._native.upload(os.fspath(path), int(steps), _metadata(metadata), shard))

    def download(self, checkpoint: Named, path: Union[str, "os.PathLike[str]"]) -> None:
        """Brings the files of a checkpoint into a folder."""
        take(self._native.download(str(checkpoint), os.fspath(path)))

    @contextlib.contextmanager
    def store_path(self, metadata: Optional[Mapping[str, Any]] = None, *, steps: int,
                   shard: bool = False) -> Iterator[Tuple[pathlib.Path, str]]:
        """Gives an empty folder, and the UUID of the checkpoint to be; saves what the block has written there."""
        packed = _metadata(metadata)
        folder, uuid = take(self._native.open_store(shard))
        try:
            yield pathlib.Path(folder), uuid
            take(self._native.upload_store(folder, uuid, int(steps), packed, shard))
        finally:
            self._native.release(folder)

    @contextlib.contextmanager
    def restore_path(self, checkpoint: Named) -> Iterator[pathlib.Path]:
        """Gives a folder of the files, which must not be changed, for the time of the block. In a distributed trial all
        ranks must call it; those of one host share the folder."""
        folder = take(self._native.open_restore(str(checkpoint)))
        try:
            yield pathlib.Path(folder)
        finally:
            self._native.release(folder)

    def find(self, uuid: str) -> Checkpoint:
        """Returns what is known of a checkpoint; raises ``not_found`` if there is none."""
        return Checkpoint(**take(self._native.find_checkpoint(uuid)))


def _metadata(metadata: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    return plain_value({} if metadata is None else metadata, "metadata")
