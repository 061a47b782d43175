"""Invalid options are refused at once, with their name, what was given and what is expected."""
import fractions
import unittest

import cadre

NAN = float("nan")


class Options(unittest.TestCase):
    def refused(self, make, error, name, value):
        with self.assertRaises(error) as raised:
            make(**{name: value})
        self.assertTrue(str(raised.exception).startswith(f"{name} is {value!r}, but must be "), str(raised.exception))

    def test_of_remote_classes(self):
        for error, name, *values in (
                (TypeError, "cpus", "1", None, True), (ValueError, "cpus", -1, NAN, float("inf")),
                (TypeError, "slots", 0.5, "1"), (ValueError, "slots", -1, 2**40),
                (TypeError, "memory", 1.5, True, [1]), (ValueError, "memory", "much", "xMiB", "-1GiB", -1, "1e400GiB", "B"),
                (TypeError, "timeout", "a", None), (ValueError, "timeout", -1, NAN),
                (TypeError, "concurrent", "x", True, 1.0), (ValueError, "concurrent", 0),
                (TypeError, "max_restarts", 1.5), (ValueError, "max_restarts", -1),
                (TypeError, "max_call_retries", None), (ValueError, "max_call_retries", -1),
                (TypeError, "calls_max", "10"), (ValueError, "calls_max", 0),
                (TypeError, "unresponsive_after", None), (ValueError, "unresponsive_after", 0, -1),
                (TypeError, "wait", "no", 0), (TypeError, "files", 3), (ValueError, "files", (1,)),
                (TypeError, "variables", ["A=1"]), (ValueError, "variables", {"A": 1}, {1: "A"}),
                (TypeError, "python", None), (TypeError, "pool", 1), (TypeError, "workspace", b"x")):
            for value in values:
                self.refused(cadre.remote_class, error, name, value)

    def test_valid_options_are_accepted(self):
        cadre.remote_class(cpus=fractions.Fraction(1, 2), memory="1.5GiB", timeout=float("inf"), variables={"A": "1"},
                           files=(name for name in ("a", "b")))
        options = cadre.remote_class(files="conf.json", memory="2KiB")(Options).__cadre_options__
        self.assertEqual((options.files, options.memory), (("conf.json",), 2048))

    def test_of_components(self):
        def make(**options):
            return cadre.Component(**{"group": "g", "type": "a", "names": f"memory://{self.id()}", **options})

        for error, name, *values in (
                (TypeError, "peers", ["b"]), (ValueError, "peers", {"b": -1}, {"b": "1"}, {"b": True}, {1: 1}),
                (ValueError, "minimal_peers", {"b": 0.5}), (TypeError, "minimal_wait", "1"),
                (TypeError, "group", 1), (TypeError, "type", None), (TypeError, "rejoin", 1),
                (ValueError, "concurrent_max", 0), (ValueError, "queue_max", 0), (ValueError, "heartbeat", 0, NAN),
                (TypeError, "overflow", None), (ValueError, "overflow", "sometimes")):
            for value in values:
                self.refused(make, error, name, value)
        make(peers={"b": 0}, minimal_peers={}, queue_bytes_max=2**40).close()


if __name__ == "__main__":
    unittest.main()
