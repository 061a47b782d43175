"""What `make install` copies works in another folder, without the source and the build."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv

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

    def start_cluster(self):
        """A function that runs a job of a new cluster, with these words of the command line."""
        cadre = self.folder / "to/bin/cadre"
        data = tempfile.mkdtemp(prefix="data ", dir=self.folder)
        up = subprocess.Popen([cadre, "up", "--data", data, "--port", "0", "--slots", "1"], stderr=subprocess.PIPE,
                              text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})
        self.addCleanup(up.stderr.close)
        self.addCleanup(up.wait)
        self.addCleanup(up.terminate)
        self.assertTrue(any("cadre is up" in line for line in up.stderr))
        return lambda *words: self.run_here(cadre, "--master", data, "run", *words)

    def test_the_programs_run_a_job(self):
        run = self.start_cluster()
        self.assertEqual(run("--", "echo", "done"), "done\n")

    def test_programs_stay_in_the_namespaces_of_their_user(self):
        launch = [self.folder / "to/bin/cadre", "launch", "--", "readlink", "/proc/self/ns/user"]
        ran = subprocess.run(["setpriv", "--bounding-set=-all", *launch] if os.geteuid() == 0 else launch,
                             capture_output=True, text=True, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, os.readlink("/proc/self/ns/user") + "\n", ""))

    def test_tasks_find_the_python_package(self):
        run = self.start_cluster()
        say = "import os, cadre.core; print(os.path.realpath(cadre.__file__), cadre.__file__)"
        package = next((self.folder / "to/lib").glob("python3*/dist-packages"))
        alone = self.folder / "to/lib/cadre/python"
        found = f"{package}/cadre/__init__.py {alone}/cadre/__init__.py\n"
        self.assertEqual(run("--", sys.executable, "-c", say), found)
        self.assertEqual(os.listdir(alone), ["cadre"], "what lies beside it would hide packages of the task")
        environment = self.folder / "environment"
        venv.create(environment, symlinks=True, with_pip=False)
        self.assertEqual(run("--python", environment, "--", "python3", "-c", say), found)
        self.assertEqual(run("--python", environment, "--", "python3", "-c", "import sys; print(sys.prefix)"),
                         f"{environment}\n")

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
