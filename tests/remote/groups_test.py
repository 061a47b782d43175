"""Groups whose members are objects of classes in Python."""
import os
import subprocess
import unittest

from scene import PROGRAM, Scene, until


class Groups(Scene):
    def run_group(self, folder, file, *more):
        return subprocess.run([PROGRAM, "group", "run", "--dir", folder, f"{folder}/{file}", *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)

    def write(self, folder, **files):
        for name, text in files.items():
            with open(f"{folder}/{name.replace('_', '.')}", "w") as file:
                file.write(text)
        return folder

    def test_the_example(self):
        done = self.run_group(os.environ["CADRE_EXAMPLES"] + "/components", "classes.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "[store-0] total 6\n")

    def test_values_are_arguments_and_results_replies(self):
        folder = self.write(self.folder(), work_py="""
class Asked:
    class Inner:
        def none(self): return "none"
        def several(self, a, b): return [b, a]
        def one(self, a): return {"one": a}
        def fail(self): raise ValueError("no luck")
        def _private(self): return "seen"
class Asker:
    def run(self):
        import cadre
        ask = lambda tag, *value: self.component.request("asked-0", tag, *value).value
        print(ask("none"), ask("several", [1, 2]), ask("one", "x"), flush=True)
        for tag in ("fail", "_private", "missing"):
            try:
                print(ask(tag))
            except cadre.ComponentError as error:
                print(tag, error.code, flush=True)
""", group_yaml="""
name: g
components:
  - {type: asked, cpus: 0.1, class: "work:Asked.Inner", restart: {type: never}}
  - {type: asker, cpus: 0.1, class: "work:Asker"}
""")
        done = self.run_group(folder, "group.yaml", "--detach")
        job = done.stdout.strip()
        logs = lambda: "".join(subprocess.run([PROGRAM, "task", "logs", f"{job}.{task}"], stdout=subprocess.PIPE, text=True,
                                              timeout=60).stdout for task in (0, 1))
        until(lambda: "missing refused" in logs(), "the asker is through")
        for line in ("none [2, 1] {'one': 'x'}\n", "fail refused\n", "_private refused\n", "missing refused\n"):
            self.assertIn(line, logs())
        subprocess.run([PROGRAM, "job", "stop", job], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=60)
        until(lambda: self.cluster.get(f"/jobs/{job}").json["stage"] == "ended", "it ends when it is asked to")

    def test_a_class_that_is_not_there_is_named(self):
        folder = self.write(self.folder(), work_py="x = 1\n", group_yaml="""
name: g
components: [{type: a, cpus: 0.1, class: "work:Missing"}]
""")
        done = self.run_group(folder, "group.yaml")
        self.assertEqual(done.returncode, 1)
        self.assertIn("module 'work' has no attribute 'Missing'", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
