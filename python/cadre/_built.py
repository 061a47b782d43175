"""Reports for which Python the package was built, before the import fails with an unclear error."""
import importlib.machinery
import os
import re
import sys


def check() -> None:
    """Raises ImportError if the native module exists, but for another version of Python."""
    folder = os.path.dirname(os.path.abspath(__file__))
    built = [name for name in os.listdir(folder) if name.startswith("_native.") and name.endswith(".so")]
    if not built or any(name == "_native" + end for name in built for end in importlib.machinery.EXTENSION_SUFFIXES):
        return
    tags = re.search(r"cpython-(\d)(\d+)", built[0])
    wanted = f"Python {tags[1]}.{tags[2]}" if tags else f"another Python ({built[0]})"
    raise ImportError(f"cadre in {folder} was built for {wanted}, but this is Python {sys.version_info[0]}."
                      f"{sys.version_info[1]} ({sys.executable}). Run the program with that version of Python, such "
                      "as /usr/bin/python3 or a virtual environment made from it, or build cadre for this one "
                      f"(-DPython_EXECUTABLE={sys.executable})")
