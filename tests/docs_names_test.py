"""What the pages name is there: Python names in the package, commands and their options in the program.

Checked are README.md and docs/*.md: blocks of Python and of shell, and `code` within the text.
"""
import functools
import importlib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ["CADRE_PROGRAM"]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# `cadre.db` is a file.
FILES = {"db", "yaml", "md", "h", "cc", "py", "so", "service", "json"}

import cadre.core  # noqa: E402  (the package under test, from PYTHONPATH)
import cadre.search  # noqa: E402


def has(thing, path, name):
    if hasattr(thing, name):
        return True
    try:
        importlib.import_module(f"{path}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def missing_in_package(path):
    """The first part of a.b.c that the package does not have; None: all are there."""
    thing, seen = cadre, "cadre"
    for name in path.split("."):
        if not has(thing, seen, name):
            return f"{seen}.{name}"
        thing, seen = getattr(thing, name), f"{seen}.{name}"
        if callable(thing) and not isinstance(thing, type):
            return None  # what it returns is not known here
    return None


def python_faults(page, text):
    faults = []
    for kind, block in BLOCK.findall(text):
        if kind != "python":
            continue
        for path in re.findall(r"(?<![\w./\"'-])cadre\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)", block):
            if missing := missing_in_package(path):
                faults.append(f"{page}: a block names {missing}, which is not in the package")
        for names in re.findall(r"^from cadre import ([\w, ]+)$", block, re.M):
            faults += [f"{page}: a block imports {name}, which is not in the package"
                       for name in re.split(r"\s*,\s*", names) if not has(cadre, "cadre", name.split(" as ")[0])]
    for code in INLINE.findall(BLOCK.sub("", text)):
        found = re.fullmatch(r"cadre\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\(.*\))?", code)
        if found and found[1].split(".")[0] not in FILES and (missing := missing_in_package(found[1])):
            faults.append(f"{page}: `{code}` names {missing}, which is not in the package")
    return faults


def function_faults():
    """docs/tasks.md is about one library in two languages: what only C++ has must say so."""
    faults = []
    system = {"fork"}  # a function of the operating system
    text = (ROOT / "docs/tasks.md").read_text()
    for paragraph in re.split(r"\n\s*\n", BLOCK.sub("", text)):
        for name in re.findall(r"(?<!`)`([a-z]\w*)\([^`]*\)`", paragraph):
            if name not in system and not hasattr(cadre, name) and "C++" not in paragraph:
                faults.append(f"docs/tasks.md: `{name}()` is not in the Python package, and nothing says that it is "
                              "for C++ only")
    return faults


@functools.lru_cache(None)
def help_of(command):
    said = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, timeout=60, check=False)
    return said.stdout if said.returncode == 0 else None


@functools.lru_cache(None)
def verbs_of(command):
    text = help_of(command) or ""
    part = text.split("\nSubcommands:\n", 1)
    return set(re.findall(r"^  ([a-z][\w-]*)", part[1], re.M)) if len(part) == 2 else set()


def options_of(command):
    return set(re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", help_of(command) or ""))


def command_lines(text):
    """Every `cadre …` that stands in a shell block or in the text, as words."""
    for kind, block in BLOCK.findall(text):
        if kind == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                yield from commands_in(line)
    for code in INLINE.findall(BLOCK.sub("", text)):
        if code.startswith("cadre ") and not code.startswith("cadre …"):
            yield from commands_in(code)


def commands_in(line):
    line = re.sub(r"(^|\s)#.*$", "", line)
    for piece in re.split(r"\|\||&&|[|;&]|\$\(|<\(|\)", line):
        try:
            words = shlex.split(piece)
        except ValueError:
            words = piece.split()
        while words and re.fullmatch(r"[A-Za-z_]\w*=.*|\$|time|exec|sudo|nohup", words[0]):
            words = words[1:]
        if words and (words[0] == "cadre" or words[0].endswith("/cadre")) and len(words) > 1:
            yield words[1:]


def command_faults(page, words):
    command, rest = (), list(words)
    while rest and rest[0] in verbs_of(command):
        command += (rest.pop(0),)
    said = "cadre " + " ".join(words)
    if not command:
        is_option = rest and rest[0].startswith("-")
        is_placeholder = rest and not re.fullmatch(r"[a-z][a-z-]*", rest[0])
        return [] if is_option or is_placeholder else [f"{page}: `{said}`: there is no command '{rest[0]}'"]
    if verbs_of(command) and rest and re.fullmatch(r"[a-z][a-z-]*", rest[0]) and command != ("agent",):
        return [f"{page}: `{said}`: cadre {' '.join(command)} has no command '{rest[0]}'"]
    if "--" in rest:
        rest = rest[:rest.index("--")]
    known = options_of(command) | {"--help"}
    named = [word.split("=")[0] for word in rest if re.fullmatch(r"--?[A-Za-z][\w-]*(=.*)?", word)]
    return [f"{page}: `{said}`: cadre {' '.join(command)} has no option {name}" for name in named if name not in known]


def main():
    faults, lines, names = function_faults(), 0, 0
    for path in PAGES:
        page, text = path.relative_to(ROOT), path.read_text()
        names += len(re.findall(r"cadre\.\w+", text))
        faults += python_faults(page, text)
        for words in command_lines(text):
            lines += 1
            faults += command_faults(page, words)
    if lines < 100 or names < 20:
        faults.append(f"only {lines} command lines and {names} names were found; has the form of the pages changed?")
    print("\n".join(sorted(set(faults))) or f"{lines} command lines and {names} names are as the pages say")
    return 1 if faults else 0


sys.exit(main())
