"""Actors that create actors: they end with their creator, at all levels at once, and no import creates any."""
import json
import subprocess
import unittest

from scene import PROGRAM, Scripts, until

CHAIN = """
    import cadre, sys
    cadre.connect()

    @cadre.remote_class(cpus=0.1)
    class Link:
        def __init__(self, more):
            self.next = Link(more - 1) if more else None
        def length(self):
            return 1 + (self.next.length() if self.next else 0)

    first = Link(4)
    print(first.length(), flush=True)
    sys.stdin.readline()
    """


class Nested(Scripts):
    def chain(self, folder):
        """A driver whose actor has created one, which has created one, ...: five levels."""
        driver = self.start_script({}, CHAIN, folder=folder, stdin=subprocess.PIPE)
        self.addCleanup(self.end, driver)
        self.assertEqual(driver.stdout.readline(), "5\n", driver.poll() and driver.stderr.read())
        links = sorted(one["id"] for one in self.actors() if one["actor"] == "Link")
        self.assertEqual(len(links), 5)
        return driver, links

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def reasons(self, jobs):
        return [self.cluster.get(f"/jobs/{job}").json["detail"] for job in jobs]

    def test_all_levels_end_when_the_first_is_killed(self):
        driver, links = self.chain(self.folder())
        subprocess.run([PROGRAM, "actor", "kill", str(links[0])], check=True, timeout=60, stdout=subprocess.PIPE)
        until(lambda: not self.left(links), "all levels end")
        # None of them had to wait until the silence of its client was noticed.
        for job, detail in zip(links[1:], self.reasons(links[1:])):
            self.assertRegex(detail, f"^its client, task {job - 1}.0, has ended$")
        self.assertEqual([one for one in self.sessions() if one["program"] == "cadre.host"], [])

    def test_all_levels_end_when_the_driver_dies(self):
        driver, links = self.chain(self.folder())
        driver.kill()
        until(lambda: not self.left(links), "all levels end")
        first, *others = self.reasons(links)
        self.assertIn("its client sent no heartbeat", first)
        for detail in others:
            self.assertIn("has ended", detail)

    def left(self, jobs):
        return [one["id"] for one in self.actors() if one["id"] in jobs]

    def sessions(self):
        return self.cluster.get("/sessions").json["sessions"]

    def test_a_module_that_creates_an_actor_when_it_is_imported_makes_no_chain(self):
        code, said, errors = self.try_script({"library.py": """
            import cadre
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Endless:
                def f(self): return 1
            shared = Endless()
            """}, "import library\nprint(library.shared.f())\n")
        self.assertNotEqual(code, 0, said)
        self.assertIn("Endless is created while a module is imported for an actor", errors)
        self.assertIn("library.py", errors)
        self.assertIn('if __name__ == "__main__"', errors)
        made = [one for one in self.cluster.get("/actors", query={"ended": "true"}).json["actors"]
                if one["actor"] == "Endless"]
        self.assertEqual(len(made), 1, json.dumps(made))
        until(lambda: not self.left([one["id"] for one in made]), "it ends")

    def test_a_module_that_only_connects_when_it_is_imported_works(self):
        said = self.run_script({"library.py": """
            import cadre
            cadre.connect()
            @cadre.remote_class(cpus=0.1)
            class Leaf:
                def f(self): return 1
            @cadre.remote_class(cpus=0.1)
            class Root:
                def f(self): return 1 + Leaf().f()
                def late(self):
                    import later
                    return later.leaf.f()
            """, "later.py": "import library\nleaf = library.Leaf()\n"},
            "import library\nroot = library.Root()\nprint(root.f(), root.late())\n")
        self.assertEqual(said.strip(), "2 1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
