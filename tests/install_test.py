"""What `make install` copies works in another folder, without the source and the build."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["CADRE_BUILD"]


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Not below /tmp: tasks have their own.
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="installed here ", dir=BUILD))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.folder / "to"], check=True,
                       stdout=subprocess.DEVNULL)

    def run_here(self, *command, **environment):
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120,
                             env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **environment})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_the_programs_run_a_job(self):
        cadre = self.folder / "to/bin/cadre"
        up = subprocess.Popen([cadre, "up", "--data", self.folder / "data", "--port", "0", "--slots", "1"],
                              stderr=subprocess.PIPE, text=True)
        self.addCleanup(up.stderr.close)
        self.addCleanup(up.wait)
        self.addCleanup(up.terminate)
        self.assertTrue(any("cadre is up" in line for line in up.stderr))
        self.assertEqual(self.run_here(cadre, "--master", self.folder / "data", "run", "--", "echo", "done"), "done\n")

    def test_the_python_package_is_found(self):
        package = next((self.folder / "to/lib").glob("python3*/dist-packages"))
        said = self.run_here(sys.executable, "-c", "import cadre; print(cadre.__file__)", PYTHONPATH=str(package))
        self.assertEqual(said, f"{package}/cadre/__init__.py\n")

    def test_a_program_is_compiled_against_the_headers_and_the_library(self):
        (self.folder / "main.cc").write_text("#include <cadre/names.h>\n#include <cadre/remote.h>\nint main() {}\n")
        library = next((self.folder / "to").rglob("libcadre.so")).parent
        self.run_here("c++", "-std=c++20", "main.cc", f"-I{self.folder}/to/include", f"-L{library}", "-lcadre",
                      "-o", "main")
        self.run_here(self.folder / "main", LD_LIBRARY_PATH=str(library))

    def test_the_manual_page_is_there(self):
        self.assertIn("cadre", (self.folder / "to/share/man/man1/cadre.1").read_text())


if __name__ == "__main__":
    unittest.main()
