"""The tests of names in Python once more, with the names that a real master serves."""
import os
import pathlib
import sys
import unittest
import urllib.parse

from scene import Scene  # first: it knows where cadre is

sys.path.insert(0, str(pathlib.Path(os.environ["CADRE_EXAMPLES"]).parent / "python/tests"))
import test_names  # noqa: E402


class NamesOfAMaster(Scene, test_names.NamesTest):
    """Each test with a workspace of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["CADRE_TOKEN"] = cls.cluster.admin

    @classmethod
    def tearDownClass(cls):
        del os.environ["CADRE_TOKEN"]
        super().tearDownClass()

    def setUp(self):
        workspace = "names-" + self._testMethodName.replace("_", "-")[:40].strip("-")
        made = self.cluster.request("POST", "/workspaces", body={"name": workspace})
        self.assertEqual(made.status, 200, made.body)
        self.url = f"master://{urllib.parse.urlsplit(self.cluster.url).netloc}/{workspace}"

    def shared_url(self):
        return self.url


if __name__ == "__main__":
    unittest.main()
