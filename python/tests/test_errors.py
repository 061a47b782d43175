"""What stands here for an exception of an actor: it is of the same type if that can be, and never fails to be made."""
import dataclasses
import json
import pickle
import subprocess
import unittest

import cadre
from cadre.errors import fields_of, remote_error


class Picky(Exception):
    def __new__(cls, a, b):
        return super().__new__(cls, a, b)

    def __init__(self, a, b):
        super().__init__(a, b)
        self.a, self.b = a, b

    def __str__(self):
        return f"{self.a} and {self.b}"


class PickyRuntimeError(RuntimeError):
    def __init__(self, *, why):
        super().__init__(why)
        self.why = why


class Slotted(OSError):
    __slots__ = ("place",)


class Final(Exception):
    def __init_subclass__(cls):
        raise TypeError("nothing derives from it")


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    where: str


class Outer:
    class Inner(Exception):
        pass


def carried(error):
    """As it arrives from an actor."""
    kind = type(error)
    return remote_error(f"{kind.__module__}.{kind.__qualname__}", str(error), "the traceback", fields_of(error))


class RemoteErrors(unittest.TestCase):
    def look_at(self, original, **fields):
        """It is of the same type, here and after another pickle."""
        for error in (carried(original), pickle.loads(pickle.dumps(carried(original)))):
            self.assertIsInstance(error, cadre.RemoteError)
            self.assertIsInstance(error, type(original))
            self.assertEqual((error.args, error.traceback), ((str(original),), "the traceback"))
            self.assertIn(str(original), str(error))
            self.assertTrue(repr(error))
            self.assertEqual({name: getattr(error, name) for name in fields}, fields)

    def test_one_of_a_module_that_is_imported_has_its_type_and_attributes(self):
        self.look_at(ValueError("x"))
        self.look_at(FileNotFoundError(2, "not there", "/a"), errno=2, strerror="not there", filename="/a")
        self.look_at(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), start=0, object=b"\xff", reason="bad")
        self.look_at(json.JSONDecodeError("bad", "{", 1), pos=1, doc="{", lineno=1)
        self.look_at(subprocess.CalledProcessError(3, ["ls", "x"], b"out"), returncode=3, cmd=["ls", "x"], output=b"out")
        self.look_at(cadre.ActorError("denied", "no"), code="denied")
        self.look_at(Outer.Inner("x"))

    def test_odd_constructors_are_not_called(self):
        self.look_at(Picky(1, [2]), a=1, b=[2])
        self.look_at(PickyRuntimeError(why="x"), why="x")
        slotted = Slotted(5, "five")
        slotted.place = {"a": (1, None)}
        self.look_at(slotted, errno=5, place={"a": (1, None)})
        self.look_at(Frozen("there"), where="there")

    def test_an_error_of_an_unknown_type_is_a_plain_one(self):
        loop = []
        loop.append(loop)
        local = type("Local", (Exception,), {"__module__": "not.imported"})("x")
        local.plain, local.lock, local.loop, local.long = 7, object(), loop, "x" * 1_000_000
        for original in (local, Final("x"), KeyboardInterrupt("x")):
            error = carried(original)
            self.assertIs(type(error), cadre.RemoteError)
            self.assertEqual(error.args, (str(original),))
        self.assertEqual(fields_of(local), {"plain": 7})
        self.assertEqual(carried(local).plain, 7)
        self.assertEqual(carried(local).type_name, "not.imported.Local")

    def test_a_name_that_is_no_class_of_exceptions(self):
        for name in ("", ".", "x", "builtins", "builtins.len", "builtins.int", "builtins.ValueError.x", "json..x"):
            self.assertIs(type(remote_error(name, "x", "", {})), cadre.RemoteError)

    def test_attributes_do_not_replace_the_message(self):
        class Sly(Exception):
            pass

        sly = Sly("x")
        sly.traceback, sly.type_name, sly.args_too = "mine", "mine", "mine"
        self.assertEqual((carried(sly).traceback, carried(sly).args_too), ("the traceback", "mine"))


if __name__ == "__main__":
    unittest.main()
