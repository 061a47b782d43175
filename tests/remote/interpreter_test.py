"""Under which Python actors run: the caller's where the agent has it; other versions are refused in words."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import unittest

from scene import Scripts  # first: it knows where cadre is
import cadre

SCRIPT = """
    import cadre, sys
    cadre.connect()
    @cadre.remote_class(cpus=0.1{options})
    class A:
        def f(self): return sys.executable, sys.prefix
    print(*A().f())
    """


class Interpreter(Scripts):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Where tasks see it, too: /tmp is their own.
        cls.place = tempfile.mkdtemp(prefix="python-", dir=os.path.dirname(os.environ["CADRE_PROGRAM"]))
        os.chmod(cls.place, 0o755)  # tasks run as another user
        cls.home = cls.place + "/env"
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", cls.home], check=True,
                       timeout=120)
        cls.python = cls.home + "/bin/python3"

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.place)

    def test_it_is_that_of_the_caller(self):
        said = self.run_script({}, SCRIPT.format(options=""), python=self.python)
        self.assertEqual(said.split(), [self.python, self.home])
        said = self.run_script({}, SCRIPT.format(options=""))
        self.assertEqual(said.split(), [sys.executable, sys.prefix])

    def test_it_is_the_usual_one_where_the_agent_does_not_have_that(self):
        said = self.run_script({}, "import sys; sys.executable = '/not/there/bin/python3'\n" + textwrap.dedent(SCRIPT.format(options="")))
        self.assertEqual(said.split()[0], "/usr/bin/python3")

    def test_a_module_that_is_missing_there_names_the_interpreter_that_is_not(self):
        code, said, errors = self.try_script({}, """
            import cadre, sys, types
            sys.executable = "/not/there/bin/python3"
            lonely = sys.modules["lonely"] = types.ModuleType("lonely")
            lonely.X = type("X", (), {"__module__": "lonely"})
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self, x): return 1
            A().f(lonely.X)
            """)
        self.assertNotEqual(code, 0)
        self.assertIn("No module named 'lonely'; the actor does not have it", errors)
        self.assertIn("runs /usr/bin/python3, because it cannot use /not/there/bin/python3 of its caller", errors)

    def test_a_missing_cloudpickle_is_reported_with_the_remedy(self):
        bare = self.place + "/bare"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True, timeout=120)
        code, said, errors = self.try_script({}, SCRIPT.format(options=""), python=bare + "/bin/python3")
        self.assertNotEqual(code, 0)
        self.assertIn("ModuleNotFoundError: cadre needs cloudpickle: install it in this environment "
                      "(pip install 'cloudpickle==2.2.*')", errors)

    def test_it_can_be_named(self):
        said = self.run_script({}, SCRIPT.format(options=f", python={self.python!r}"))
        self.assertEqual(said.split(), [self.python, self.home])
        code, said, errors = self.try_script({}, SCRIPT.format(options=", python='/no/python'"))
        self.assertNotEqual(code, 0)
        self.assertIn("python '/no/python' cannot be used on this agent", errors)

    def test_versions_that_differ_are_refused_before_anything_is_decoded(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            trap = Trap(listener.getsockname())

            class Trapped:
                inside = trap

                def __init__(self, argument):
                    pass

            for own, told in (("Python", "/far/python3;2.7;2.2.0"), ("cloudpickle", "/far/python3;3.11;0.9.9")):
                with unittest.mock.patch.object(cadre.interpreter, "variables", lambda: {"CADRE_ACTOR_PYTHON": told}):
                    with self.assertRaises(RuntimeError) as raised:
                        cadre.remote_class(cpus=0.1)(Trapped)(trap)
                text = raised.exception.args[0]
                self.assertRegex(text, f"the actor has {own} [0-9.]+ \\(/usr/bin/python3.*, its caller {own} ")
                self.assertIn("(/far/python3)", text)
                self.assertIn("remote_class(python=...)", text)
                self.assertEqual(connections_to(listener), 0, "neither the class nor its argument was decoded")
            cadre.remote_class(cpus=0.1)(Trapped)(trap)
            self.assertEqual(connections_to(listener), 2, "with equal versions both are")

    def test_the_package_says_for_which_python_it_was_built(self):
        source = pathlib.Path(cadre.__file__).parent
        package = pathlib.Path(self.folder()) / "cadre"
        package.mkdir()
        for file in source.iterdir():
            name = file.name.replace("cpython-3", "cpython-9") if file.suffix == ".so" else file.name
            if file.is_file():
                (package / name).symlink_to(file)
        done = subprocess.run([sys.executable, "-c", "import cadre"], stderr=subprocess.PIPE, text=True, timeout=60,
                              env={**os.environ, "PYTHONPATH": str(package.parent)})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"ImportError: cadre in .* was built for Python 9\.11, but this is Python 3\.11 "
                                      rf"\({sys.executable}\)")


class Trap:
    """Connects to an address where it is decoded."""

    def __init__(self, address):
        self.address = address

    def __reduce__(self):
        return socket.create_connection, (self.address,)


def connections_to(listener):
    """How many wait to be accepted."""
    count = 0
    while True:
        try:
            listener.accept()[0].close()
            count += 1
        except BlockingIOError:
            return count


if __name__ == "__main__":
    import unittest.mock
    unittest.main(verbosity=2)
