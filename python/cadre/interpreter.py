"""The Python interpreter of an actor, and whether its version is compatible with that of the caller."""
import functools
import os
import sys
from typing import Dict, Iterable, List

__all__: List[str] = []

usual = "/usr/bin/python3"
_variable = "CADRE_ACTOR_PYTHON"


def own() -> str:
    """The interpreter of this process."""
    return sys.executable or usual


def alternatives() -> str:
    """The interpreters that an agent tries, in order."""
    return own() if own() == usual else f"{own()}:{usual}"


def command(interpreter: str, modules: Iterable[str]) -> List[str]:
    """The command that starts the process of an actor."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = f"import sys; sys.path.append({package!r}); from cadre.host import main; main()"
    return [interpreter, "-c", start, *modules]


@functools.lru_cache(maxsize=None)
def _versions() -> Dict[str, str]:
    try:
        import cloudpickle
        pickler = str(cloudpickle.__version__)
    except ImportError:
        pickler = "missing"
    return {"Python": "%d.%d" % sys.version_info[:2], "cloudpickle": pickler}


def variables() -> Dict[str, str]:
    """Variables that tell an actor the versions of its caller."""
    return {_variable: ";".join([own(), *_versions().values()])}


def unusable() -> str:
    """In the process of an actor: the interpreter of its caller, if it cannot be used here; else empty."""
    theirs = os.environ.get(_variable, "").partition(";")[0]
    return "" if os.access(theirs, os.X_OK) else theirs


def check_caller() -> None:
    """In the process of an actor, before it decodes anything: raises if the versions are not compatible."""
    told = os.environ.get(_variable, "")
    if not told:
        return
    theirs, *versions = told.split(";")
    ours = _versions()
    different = [(name, own, other) for (name, own), other in zip(ours.items(), versions)
                 if own.split(".")[:2] != other.split(".")[:2]]
    if not different:
        return
    name, own_version, their_version = different[0]
    raise RuntimeError(f"the actor has {name} {own_version} ({own()}), its caller {name} {their_version} ({theirs}): "
                       f"their pickles are not compatible. Install {theirs} with the same versions where the actor runs, "
                       f"run the caller with {own()}, or select another interpreter with remote_class(python=...)")
