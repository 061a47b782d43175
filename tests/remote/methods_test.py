"""Special, static and async methods of remote classes."""
import unittest

from scene import Scene  # first: it knows where cadre is
import cadre


class Shelf:
    def __init__(self):
        self.things = {}

    def __len__(self):
        return len(self.things)

    def __getitem__(self, key):
        return self.things[key]

    def __setitem__(self, key, value):
        self.things[key] = value

    def __contains__(self, key):
        return key in self.things

    def __call__(self, first, *, second=0):
        return first + second

    @staticmethod
    def twice(x):
        return 2 * x

    async def _of_its_own(self):
        pass


class LongShelf(Shelf):
    pass


class Methods(Scene):
    def test_special_methods_that_a_class_defines_are_forwarded(self):
        for plain in (Shelf, LongShelf):
            shelf = cadre.remote_class(cpus=0.1)(plain)()
            self.assertEqual(len(shelf), 0)
            shelf["a"] = [1, 2]
            self.assertEqual((len(shelf), shelf["a"], "a" in shelf, "b" in shelf), (1, [1, 2], True, False))
            self.assertEqual(shelf(1, second=2), 3)
            self.assertEqual(shelf.twice(4), 8)
            with self.assertRaises(KeyError):
                shelf["b"]

    def test_only_a_call_returns_a_future(self):
        shelf = cadre.remote_class(cpus=0.1, futures=True)(Shelf)()
        shelf["a"] = 1
        self.assertEqual((len(shelf), shelf["a"], shelf(1).get(timeout=60)), (1, 1, 1))

    def test_a_class_without_them_has_none(self):
        proxy = cadre.remote_class(cpus=0.1)(type("Plain", (), {}))
        self.assertFalse(any(hasattr(proxy, name) for name in ("__len__", "__getitem__", "__contains__")))

    def test_async_methods_are_refused_where_the_class_is_decorated(self):
        class Later:
            async def come(self):
                pass
        with self.assertRaisesRegex(TypeError, "Later.come is `async def`, .* `await actor.come.remote"):
            cadre.remote_class(cpus=0.1)(Later)


if __name__ == "__main__":
    unittest.main(verbosity=2)
