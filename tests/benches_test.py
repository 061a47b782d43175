"""What is promised of every benchmark: make bench runs it, its raw programs are short, and --json is one object."""
import json
import os
import pathlib
import re
import subprocess
import unittest

PROGRAM = os.environ["CADRE_PROGRAM"]
ROOT = pathlib.Path(__file__).parent.parent


def cadre(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True, timeout=120).stdout


class Benches(unittest.TestCase):
    def test_make_bench_runs_all_of_them(self):
        known = re.search(r"\{([a-z,]+)\}", cadre("bench", "--help")).group(1).split(",")
        self.assertIn("metrics", known)
        run = re.search(r"for name in ([a-z ]+);", (ROOT / "tools/bench").read_text()).group(1).split()
        self.assertEqual(sorted(run), sorted(known))

    def test_raw_programs_are_minimal(self):
        programs = list((ROOT / "bench/raw").iterdir())
        self.assertIn("sqlite_points.cc", [one.name for one in programs])
        for one in programs:
            self.assertLess(len(one.read_text().splitlines()), 60, one.name)

    def test_the_program_is_built_without_test_frameworks(self):
        """Benchmarks are part of the program, which is built where only packages/run.txt is installed."""
        files = [*(ROOT / "bench").glob("*.cc"), *(ROOT / "tests/servers").glob("*.cc")]
        left = [one for one in files if not one.name.endswith("_test.cc")]
        seen = set(left)
        self.assertIn(ROOT / "tests/servers/postgres.cc", seen)
        while left:
            file = left.pop()
            text = file.read_text()
            self.assertNotRegex(text, r"#include <(gtest|gmock|benchmark)/", str(file))
            for name in re.findall(r'#include "([^"]+)"', text):
                found = [folder / name for folder in (ROOT, ROOT / "src", file.parent) if (folder / name).exists()]
                new = [one for one in found if one not in seen]
                seen.update(new)
                left += new

    def test_json_is_one_object_with_rows(self):
        figures = json.loads(cadre("bench", "describe", "--json"))
        self.assertEqual(figures["bench"], "describe")
        self.assertTrue(figures["rows"])
        for row in figures["rows"]:
            self.assertGreater(row["value"], 0, row)
            self.assertTrue(row["name"] and row["unit"], row)
            if "limit" in row:
                self.assertGreater(row["limit"], 0, row)
                self.assertGreater(row["ratio"], 0, row)


if __name__ == "__main__":
    unittest.main()
