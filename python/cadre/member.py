"""The process of a component that is an object of a class: ``python3 -m cadre.member``, started by ``cadre group run`` for
``class: module:Class`` in a group file.

The object is created without arguments. Its attribute ``component`` is its component in the group; the members of all
other types are reachable before its methods are called. A message whose tag is the name of a method calls that method:
without arguments if the message has no value, with the elements of a list, else with the value. The return value is the
reply. If the class has a method ``run``, it is called, and the process ends when it returns; otherwise the process ends
when the group is stopped.
"""
import importlib
import os
import sys
import threading
from typing import Any, Callable, Dict, List, Type

from cadre import component as _component, should_stop

__all__: List[str] = []

_join_wait = 300.0  # seconds until all members are reachable
_look_every = 0.5
_last_handler_wait = 10.0


def load(name: str) -> Type[Any]:
    """The class that ``module:Class`` names."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, type):
        raise TypeError(f"{name} must be a class, but is {found!r}")
    return getattr(found, "__cadre_class__", found)  # the plain class of a remote class


def arguments_of(value: Any) -> List[Any]:
    """The arguments for a method."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def methods_of(instance: Any) -> Dict[str, Callable[..., Any]]:
    """The methods that messages can call."""
    cls = type(instance)
    return {name: getattr(instance, name) for name in dir(cls)
            if not name.startswith("_") and name not in ("run", "component") and callable(getattr(cls, name))}


def serve(cls: Type[Any], component: Any) -> None:
    """Runs a member of the group until it is stopped, or run() returns."""
    instance = cls()
    instance.component = component
    for name, method in methods_of(instance).items():
        component.on(name, _handler(component, method))
    component.join(_join_wait)
    if not hasattr(cls, "run"):
        threading.Thread(target=_stop_when_asked, args=(component,), daemon=True).start()
        component.launch()
        return
    handlers = threading.Thread(target=component.launch, daemon=True)
    handlers.start()
    try:
        instance.run()
    finally:
        component.stop()
        handlers.join(_last_handler_wait)


def _handler(component: Any, method: Callable[..., Any]) -> Callable[[Any], Any]:
    def call(message: Any) -> None:
        result = method(*arguments_of(message.value if message.body else None))
        if message.is_task:
            component.reply(message, result)
    return call


def _stop_when_asked(component: Any) -> None:
    asked = threading.Event()
    while not should_stop():
        asked.wait(_look_every)
    component.stop()


def main() -> None:
    sys.path.insert(0, os.getcwd())
    group, role, rank = (os.environ[name] for name in ("CADRE_GROUP", "CADRE_ROLE", "CADRE_ROLE_RANK"))
    types = dict(one.split("=") for one in os.environ["CADRE_GROUP_TYPES"].split(","))
    peers = {name: int(count) for name, count in types.items() if name != role}  # members of its own type may have ended
    cls = load(os.environ["CADRE_CLASS"])
    component = _component.Component(group, role, f"{role}-{rank}", peers=peers)
    try:
        serve(cls, component)
    finally:
        component.close()


if __name__ == "__main__":
    main()
