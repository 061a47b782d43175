"""What travels with a remote class: its modules and files, to actors, to actors of actors, and to child processes."""
import pathlib
import unittest

from scene import Scripts


class Travel(Scripts):
    def test_modules_next_to_the_main_script_and_files_are_uploaded(self):
        said = self.run_script({
            "helper.py": "def twice(x):\n    return 2 * x\n",
            "worker.py": """
                import cadre, os, helper
                @cadre.remote_class(cpus=0.1, files=["data/*.txt", "deep", "hollow"])
                class Worker:
                    def f(self, x):
                        return helper.twice(x)
                    def files(self):
                        return open("data/a.txt").read(), open("deep/er/b.txt").read(), os.listdir("hollow")
                """,
            "data/a.txt": "content of a",
            "deep/er/b.txt": "content of b",
            "hollow/": "",
        }, """
            import cadre, worker
            cadre.connect()
            w = worker.Worker()
            print(w.f(21), w.files())
            """)
        self.assertEqual(said.strip(), "42 ('content of a', 'content of b', [])")

    def test_a_file_that_is_not_there_is_an_error_with_its_name(self):
        said = self.run_script({}, """
            import cadre
            cadre.connect()
            @cadre.remote_class(files=["missing.txt"])
            class A: pass
            try:
                A()
            except FileNotFoundError as error:
                print(error)
            """)
        self.assertIn("missing.txt", said)

    def test_a_missing_module_is_reported_with_the_remedy(self):
        said = self.run_script({"else/far/__init__.py": "", "else/far/away.py": "def f(): pass\n"}, """
            import cadre, os, sys
            sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/else")
            from far import away
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self, what=None):
                    away.f()
            @cadre.remote_class(cpus=0.1)
            class B:
                def f(self, what): pass
            for call in (A, lambda: B().f(away.f)):
                try:
                    call()
                except ModuleNotFoundError as error:
                    print(error.name, error.args[0])
            """)
        self.assertEqual(said.count("far No module named 'far'; the actor does not have it"), 2)
        self.assertEqual(said.count("files=['/path/to/far']"), 2)

    PACKAGE = {
        "project/__init__.py": "",
        "project/helper.py": "def twice(x):\n    return 2 * x\n",
        "project/deep/__init__.py": "",
        "project/deep/er.py": "from project.helper import twice\ndef f(x):\n    return twice(x) + 1\n",
        "project/deep/unused.py": "def late():\n    return 'late'\n",
        "project/.hidden/no.py": "",
        "project/env/pyvenv.cfg": "",
        "project/env/no.py": "",
    }
    CLASSES = """
        import cadre, os
        {imports}
        @cadre.remote_class(cpus=0.1)
        class A:
            def f(self, x):
                import project.deep.unused
                return er.f(x), project.deep.unused.late(), [one for one in sorted(os.listdir("project")) if one != "__pycache__"]
        def main():
            cadre.connect()
            print(A().f(20))
        if __name__ == "__main__":
            main()
        """
    SAID = "(41, 'late', ['__init__.py', 'deep', 'helper.py'{more}])"

    def test_packages_that_the_main_script_imports_go_along(self):
        said = self.run_script(self.PACKAGE, self.CLASSES.format(imports="from project.deep import er"))
        self.assertEqual(said.strip(), self.SAID.format(more=""))

    def test_a_main_module_of_a_package(self):
        files = {**self.PACKAGE, "project/train.py": self.CLASSES.format(imports="from .deep import er"),
                 "beside.py": "raise RuntimeError('nobody imports it')\n"}
        said = self.run_script(files, "", command=("-m", "project.train"))
        self.assertEqual(said.strip(), self.SAID.format(more=", 'train.py'"))
        files["project/__main__.py"] = "from project.train import main\nmain()\n"
        said = self.run_script(files, "", command=("-m", "project"))
        self.assertEqual(said.strip(), "(41, 'late', ['__init__.py', '__main__.py', 'deep', 'helper.py', 'train.py'])")

    def test_a_program_that_is_typed_in(self):
        script = "import project.deep.er as er\nimport cadre\n" \
                 "print(cadre.remote_class(cpus=0.1)(type('A', (), {'f': lambda self, x: er.f(x)}))().f(20))\n"
        said = self.run_script(self.PACKAGE, "", command=("-c", script))
        self.assertEqual(said.strip(), "41")

    def test_children_of_multiprocessing(self):
        said = self.run_script({"helper.py": "def twice(x):\n    return 2 * x\n"}, """
            import cadre, helper, multiprocessing
            class Pair:
                def __init__(self, a): self.a = a
            class Own(Exception): pass
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self, pair): return Pair(helper.twice(pair.a))
                def fail(self): raise Own("mine")
            def child(x):
                cadre.connect()
                a = A()
                try:
                    a.fail()
                except Own as error:
                    name = error.type_name
                return a.f(Pair(x)).a, name
            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    print(pool.map(child, [1, 2]))
            """)
        self.assertEqual(said.strip(), "[(2, '__mp_main__.Own'), (4, '__mp_main__.Own')]")

    def test_files_from_elsewhere_go_along_by_their_names(self):
        folder = self.folder()
        for name in ("data.txt", "sets/a.txt", "sets/in/b.txt"):
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        said = self.run_script({"own/c.txt": "own"}, f"""
            import cadre, glob, os
            cadre.connect()
            here = os.path.dirname(os.path.abspath(__file__))
            files = ["{folder}/data.txt", "{folder}/sets", "{folder}/sets/**/b.txt", here + "/own/c.txt"]
            @cadre.remote_class(cpus=0.1, files=files)
            class A:
                def f(self): return sorted(glob.glob("**/*.txt", recursive=True))
            print(A().f())
            for files in (["{folder}/data.txt", "own/../own/c.txt", "{folder}/../nothing.txt"],
                          ["{folder}/data.txt", "{folder}/sets/../sets/in/b.txt", "{folder}/sets/a.txt", "data.txt"]):
                open(here + "/data.txt", "w").close()
                try:
                    cadre.remote_class(cpus=0.1, files=files)(A.__cadre_class__)()
                except (FileNotFoundError, ValueError) as error:
                    print(error)
            """)
        lines = said.split("\n")
        self.assertEqual(lines[0], "['data.txt', 'in/b.txt', 'own/c.txt', 'sets/a.txt', 'sets/in/b.txt']")
        self.assertRegex(lines[1], "^files: there is no .*nothing.txt'$")
        self.assertRegex(lines[2], "^files: .*/data.txt and .*/data.txt would both be data.txt in the actor's folder$")

    def test_leaving_while_an_actor_is_made(self):
        said = self.run_script({}, """
            import cadre, threading, time
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def __init__(self): time.sleep(1000)
            def make():
                try:
                    A()
                except cadre.ActorError as error:
                    print(error, flush=True)
            threads = [threading.Thread(target=make) for _ in range(4)]
            for one in threads: one.start()
            def refuse(): raise cadre.ActorError("unavailable", "too late")
            time.sleep(0.01)
            cadre.session.connect = refuse  # else one that comes later opens a new session
            cadre.disconnect()
            for one in threads: one.join(60)
            print("left", [one.is_alive() for one in threads])
            """)
        self.assertIn("left [False, False, False, False]", said)

    def test_actors_make_actors(self):
        said = self.run_script({}, """
            import cadre
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Leaf:
                def f(self, x):
                    return x + 1
            @cadre.remote_class(cpus=0.1)
            class Root:
                def f(self, x):
                    leaves = [Leaf() for _ in range(2)]
                    return sum(leaf.f(x) for leaf in leaves)
            print(Root().f(10))
            """)
        self.assertEqual(said.strip(), "22")

    def test_files_of_an_actor_are_uploaded_with_actors_that_it_creates(self):
        said = self.run_script({
            "helper.py": "def twice(x):\n    return 2 * x\n",
            "leaf.py": """
                import cadre, helper
                @cadre.remote_class(cpus=0.1, files=["data.txt"])
                class Leaf:
                    def f(self, x):
                        return helper.twice(x), open("data.txt").read(), open("deep/er.txt").read()
                """,
            "data.txt": "data",
            "deep/er.txt": "deeper",
        }, """
            import cadre, helper, os
            from leaf import Leaf
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Local:
                def f(self, x):
                    return helper.twice(x), os.path.exists("deep"), os.path.exists("own.txt")
            @cadre.remote_class(cpus=0.1, files=["deep", "data.txt"])
            class Root:
                def f(self, x):
                    open("own.txt", "w").close()
                    os.chdir("/")
                    return Leaf().f(x), Local().f(x)
            print(Root().f(10))
            """)
        self.assertEqual(said.strip(), "((20, 'data', 'deeper'), (20, True, False))")

    def test_a_child_process_has_a_session_of_its_own(self):
        said = self.run_script({}, """
            import cadre, os, sys
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self):
                    return "fine"
            mine = A()
            pid = os.fork()
            if pid == 0:
                cadre.connect()
                print("child", A().f(), flush=True)
                cadre.disconnect()
                os._exit(0)
            print("waited", os.waitpid(pid, 0)[1], flush=True)
            print("parent", mine.f(), flush=True)
            """)
        self.assertEqual(said.split("\n")[:3], ["child fine", "waited 0", "parent fine"])

    def test_a_child_process_that_ends_leaves_its_parents_actors_alone(self):
        said = self.run_script({}, """
            import cadre, os, sys
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class A:
                def f(self):
                    return "fine"
            mine = A()
            pid = os.fork()
            if pid == 0:
                try:
                    mine.f()
                except cadre.ActorError as error:
                    print(error.code, flush=True)
                del mine
                sys.exit(0)
            print("waited", os.waitpid(pid, 0)[1], flush=True)
            print("parent", mine.f(), flush=True)
            """)
        self.assertEqual(said.split("\n")[:3], ["conflict", "waited 0", "parent fine"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
