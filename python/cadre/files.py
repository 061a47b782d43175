"""Files uploaded with a class: the program's own modules, and files that the user names."""
import glob
import os
import shutil
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from cadre.session import Client

__all__: List[str] = []

_files_max = 10_000
_came_along: Optional[Tuple[str, List[str]]] = None


def remember_what_came_along() -> None:
    """In the process of an actor: the files now in its folder are uploaded with the actors that it creates."""
    global _came_along
    _came_along = (os.getcwd(), os.listdir())


def code_of(client: Client, patterns: Sequence[str]) -> str:
    """Uploads the files, once for each content, and returns their hash; empty if there are none."""
    wanted = wanted_files(patterns)
    if not wanted:
        return ""
    with client.lock:
        key = tuple((target, _stamp(source)) for target, source in sorted(wanted.items()))
        if key not in client.uploads:
            client.uploads[key] = _upload(client, wanted)
        return client.uploads[key]


def wanted_files(patterns: Sequence[str]) -> Dict[str, str]:
    """Files to upload: their path in the folder of the actor, and their local path."""
    if _came_along is not None:
        root, names = _came_along
        names = [name for name in names if os.path.exists(os.path.join(root, name))]
    else:
        root, names = _program()
    wanted = {name: os.path.join(root, name) for name in names}
    for pattern in patterns:
        for target, source in _matches(root, pattern):
            if wanted.setdefault(target, source) != source:
                raise ValueError(f"files: {wanted[target]} and {source} would both be {target} in the actor's folder")
    if len(wanted) > _files_max:
        raise ValueError(f"{len(wanted)} files next to the main script in {root} would be uploaded, but the limit is "
                         f"{_files_max}; move the program to a separate folder")
    return wanted


def _matches(root: str, pattern: str) -> Iterator[Tuple[str, str]]:
    """Files below the main script's folder keep their relative path; other files keep only their name, or their path
    below the folder before the first wildcard."""
    path = os.path.normpath(os.path.join(root, pattern))
    found = glob.glob(path, recursive=True)
    if not found:
        raise FileNotFoundError(f"files: nothing in {root} matches {pattern!r}" if not os.path.isabs(pattern) else
                                f"files: there is no {pattern!r}")
    fixed = path
    while glob.has_magic(fixed):
        fixed = os.path.dirname(fixed)
    above = os.path.dirname(fixed) if fixed == path else fixed
    for one in found:
        yield os.path.relpath(one, root if _is_below(one, root) else above), one


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


def _program() -> Tuple[str, List[str]]:
    """The folder from which this program imports its own modules, and its files to upload: the ``*.py`` next to the main
    script, and imported modules and packages below its folder."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not file:
        root = os.getcwd()  # a notebook or an interactive interpreter
        return root, sorted(_imported(root))
    file = os.path.abspath(file)
    root = os.path.dirname(file)
    name = getattr(getattr(main, "__spec__", None), "name", "")  # set by python -m package.module
    depth = name.count(".")
    for _ in range(depth):
        root = os.path.dirname(root)
    names = set(_imported(root))
    if depth:
        names |= _package(root, name.partition(".")[0])
    else:
        names |= set(glob.glob("*.py", root_dir=root))
    return root, sorted(names)


_seen: Tuple[str, int, List[str]] = ("", 0, [])


def _imported(root: str) -> List[str]:
    """Files of imported modules in this folder, and the rest of their packages."""
    global _seen
    count = len(sys.modules)
    if _seen[:2] != (root, count):
        tops = set()
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or not _is_below(os.path.abspath(file), root):
                continue
            first = os.path.relpath(os.path.abspath(file), root).split(os.sep)[0]
            if first.partition(".")[0] == name.partition(".")[0] and first != "cadre":
                tops.add(first)
        _seen = (root, count, sorted(tops))
    names: List[str] = []
    for top in _seen[2]:
        if os.path.isdir(os.path.join(root, top)):
            names += _package(root, top)
        elif os.path.exists(os.path.join(root, top)):
            names.append(top)
    return names


def _package(root: str, top: str) -> "set[str]":
    """The code in a folder; other files are uploaded only if the user names them."""
    found = set()
    for folder, inner, files in os.walk(os.path.join(root, top)):
        inner[:] = [one for one in inner if not one.startswith((".", "__pycache__")) and
                    not os.path.exists(os.path.join(folder, one, "pyvenv.cfg"))]
        found |= {os.path.relpath(os.path.join(folder, one), root) for one in files if one.endswith((".py", ".so"))}
        if len(found) > _files_max:
            break
    return found


def _stamp(path: str) -> Any:
    if not os.path.isdir(path):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
    return tuple((folder, tuple((name, _stamp(os.path.join(folder, name))) for name in sorted(files)))
                 for folder, _, files in os.walk(path))


def _upload(client: Client, wanted: Dict[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="cadre-files-") as staging:
        for name, source in wanted.items():
            target = os.path.join(staging, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.isdir(source):
                shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
            else:
                shutil.copy2(source, target)
        return client.session.upload(staging, 600.0)
