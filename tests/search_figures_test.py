"""The sampler tpe is better than random draws on each function, and docs/search.md shows by how much."""
import json
import os
import pathlib
import re
import subprocess
import unittest

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/search.md"
FUNCTIONS = ["branin", "hartmann6", "rosenbrock5", "mixed"]


class SearchFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = subprocess.run([os.environ["CADRE_PROGRAM"], "bench", "search", "--json"], capture_output=True, text=True,
                              check=True)
        cls.rows = {row["name"]: row for row in json.loads(done.stdout)["rows"]}

    def row(self, function, concurrent):
        return self.rows[f"tpe beside random: {function}, {concurrent} at a time"]

    def test_tpe_is_better_than_random_on_each_function(self):
        for function in FUNCTIONS:
            for concurrent in (1, 16):
                row = self.row(function, concurrent)
                self.assertLess(row["value"], row["limit"], row["name"])
                self.assertGreaterEqual(row["value"], 0)

    def test_the_page_shows_these_figures(self):
        shown = re.findall(r"^\| (\w+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.M)
        rows = {name: figures for name, *figures in shown if name in FUNCTIONS}
        self.assertEqual(list(rows), FUNCTIONS)
        for function in FUNCTIONS:
            one, many = self.row(function, 1), self.row(function, 16)
            self.assertEqual(one["limit"], many["limit"])
            self.assertEqual(rows[function], [f"{one['limit']:.3g}", f"{one['value']:.3g}", f"{many['value']:.3g}"])

    def test_a_draw_is_measured_on_each_function(self):
        for function in FUNCTIONS:
            row = self.rows[f"CPU time of a draw by tpe from 10,000 trials, {function}"]
            self.assertEqual(row["unit"], "ms")
            self.assertTrue(0 < row["value"] < 100, row)  # 20 ms on a machine that does nothing else


if __name__ == "__main__":
    unittest.main()
