"""Actors that are forked from a prepared interpreter: what they share, what they do not, and what becomes of them when
something dies."""
import json
import os
import pathlib
import random
import signal
import subprocess
import textwrap
import time
import unittest

import numpy

from scene import Scripts, hosts_of_actors, process_is_there, until  # first: it knows where cadre is
import cadre


@cadre.remote_class(cpus=0.1)
class Actor:
    def add(self, n):
        return n + 1

    def numbers(self):
        return random.random(), float(numpy.random.rand())

    def facts(self):
        return {"pid": os.getpid(), "uid": os.getuid(), "task": os.environ["CADRE_TASK"],
                "processes": sorted(int(one) for one in os.listdir("/proc") if one.isdigit()),
                "namespaces": {one: os.readlink(f"/proc/self/ns/{one}") for one in ("mnt", "pid", "ipc", "user")}}

    def leave(self, name):
        for folder in (".", "/tmp", "/dev/shm", os.environ["XDG_RUNTIME_DIR"]):
            pathlib.Path(folder, name).write_text("mine")

    def see(self, name):
        return [folder for folder in (".", "/tmp", "/dev/shm", os.environ["XDG_RUNTIME_DIR"])
                if pathlib.Path(folder, name).exists()]

    def run(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def status(self, key):
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith(key + ":"))

    def end(self, code):
        os._exit(code)

    def signal_itself(self, number):
        os.kill(os.getpid(), number)


def template_of(folder):
    """The process that the others of this cluster are forked from, as this host numbers it."""
    own = {}
    for pid in hosts_of_actors():
        try:
            own[pid] = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has ended meanwhile
    return [pid for pid, parent in own.items() if parent not in own and is_of(pid, folder)]


def is_of(pid, folder):
    try:
        return f"CADRE_FORKS=" in pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace") and \
            str(folder) in pathlib.Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return False


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def namespace_of(pid):
    """That of its number; empty when it runs the code of init, or has ended."""
    try:
        comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        return "" if comm == "cadre-init" else os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def children_of(parent):
    return [int(one) for one in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


class Forks(Scripts):
    AGENT = ("--artificial-slots", "4", "--cpus", "8", "--memory", "8GiB", "--warm", "1")

    stamped = {"stamped.py": "import time\nstamp = time.time_ns()\n"}

    def script(self, more=""):
        return textwrap.dedent("""
            import cadre, stamped
            @cadre.remote_class(cpus=0.1)
            class A:
                def stamp(self): return stamped.stamp
            actors = [A() for _ in range(6)]
            print(len({one.stamp() for one in actors}))
            """) + textwrap.dedent(more)

    def test_modules_of_a_class_are_imported_once(self):
        self.assertEqual(self.run_script(self.stamped, self.script()), "1\n")

    def test_each_has_namespaces_files_and_random_numbers_of_its_own(self):
        actors = [Actor() for _ in range(6)]
        facts = [one.facts() for one in actors]
        self.assertEqual(len({one["task"] for one in facts}), 6)
        for one in facts:
            self.assertEqual(one["processes"], [1, one["pid"]])
        for kind in ("mnt", "pid", "ipc", "user"):
            self.assertEqual(len({one["namespaces"][kind] for one in facts}), 6, kind)
        self.assertEqual(len({number for one in actors for number in one.numbers()}), 12)
        actors[0].leave("secret")
        self.assertEqual(len(actors[0].see("secret")), 4)
        self.assertEqual([one.see("secret") for one in actors[1:]], [[]] * 5)

    def test_the_walls_around_it_are_those_of_any_task(self):
        actor = Actor()
        self.assertEqual(actor.status("CapEff"), "0" * 16)
        self.assertEqual(actor.status("CapBnd"), "0" * 16)
        self.assertEqual(actor.status("NoNewPrivs"), "1")
        for command in (("unshare", "-U", "true"), ("unshare", "-m", "true"), ("mount", "-t", "tmpfs", "x", "/mnt"),
                        ("umount", "/tmp"), ("cat", "/etc/shadow")):
            code, said = actor.run(*command)
            self.assertNotEqual(code, 0, f"{command}: {said}")
        code, said = actor.run("sh", "-c", f"ls {self.cluster.data} {self.cluster.folder}/a")
        self.assertNotIn("cadre.db", said)
        self.assertNotIn("agent.keys", said)

    def test_imports_of_a_template_run_in_the_isolation_of_its_user(self):
        """Its imports are code of the user: what a module finds out while the template imports it."""
        hidden = [str(self.cluster.data / "cadre.db"), str(self.cluster.data / "client.json"),
                  str(self.cluster.folder / "a" / "agent.keys")]
        for path in hidden:
            self.assertTrue(os.path.exists(path), path)
        files = {"seen.py": f"""
            import os, pathlib
            status = pathlib.Path("/proc/self/status").read_text().splitlines()
            facts = {{"stamp": os.urandom(8).hex(), "is_template": "CADRE_FORKS" in os.environ, "uid": os.getuid(),
                     "rights": [line.split()[1] for line in status if line.startswith(("CapEff", "CapBnd"))],
                     "found": [path for path in {hidden} if os.path.lexists(path)]}}
            """}
        script = textwrap.dedent("""
            import cadre, json, seen
            @cadre.remote_class(cpus=0.1)
            class A:
                def facts(self): return seen.facts
            actors = [A() for _ in range(3)]
            print(json.dumps([one.facts() for one in actors]))
            """)
        tokens = {name: self.cluster.user(name, {"default": "editor"}) for name in ("ann", "bob")}
        templates = []
        for name in ("ann", "bob", "ann"):
            environment = {**os.environ, "CADRE_MASTER": self.cluster.url, "CADRE_TOKEN": tokens[name]}
            facts = json.loads(self.run_script(files, script, env=environment))
            self.assertEqual(facts, [facts[0]] * 3, "all are forked from one template")
            self.assertTrue(facts[0]["is_template"])
            self.assertNotEqual(facts[0]["uid"], 0)
            self.assertEqual((facts[0]["rights"], facts[0]["found"]), (["0" * 16] * 2, []))
            templates.append(facts[0])
        self.assertEqual(templates[0], templates[2], "that of ann is still there")
        self.assertNotEqual(templates[0]["stamp"], templates[1]["stamp"])
        if os.getuid() == 0:  # an agent of an ordinary user has no other users
            self.assertNotEqual(templates[0]["uid"], templates[1]["uid"])

    def test_memory_above_the_limit_of_a_forked_one_ends_it_with_that_reason(self):
        said = self.run_script(self.stamped, """
            import cadre, stamped, time
            @cadre.remote_class(cpus=0.1, memory="100MiB")
            class A:
                def stamp(self): return stamped.stamp
                def hold(self, size):
                    self.block = b"x" * size
                    time.sleep(60)
            actors = [A(), A()]
            print(len({one.stamp() for one in actors}))
            try:
                actors[0].hold(300 << 20)
            except cadre.ActorError as error:
                print(error)
            print(actors[1].stamp() == actors[1].stamp())
            """)
        forked, reason, other = said.splitlines()
        self.assertEqual(forked, "1")
        self.assertRegex(reason, "memory.*100MiB")
        self.assertEqual(other, "True")

    def test_numpy_is_there_before_the_modules_of_a_class(self):
        files = {"first.py": "import os, sys, time\nfacts = time.time_ns(), 'CADRE_FORKS' in os.environ, "
                             "'numpy' in sys.modules\n"}
        said = self.run_script(files, """
            import cadre, first
            @cadre.remote_class(cpus=0.1)
            class A:
                def facts(self): return first.facts
            one, two = A().facts(), A().facts()
            print(one == two, *one[1:])
            """)
        self.assertEqual(said, "True True True\n")

    def test_its_supervisor_learns_how_it_ends(self):
        for end, words in ((lambda one: one.end(7), "exited with 7"), (lambda one: one.end(0), "ended well"),
                           (lambda one: one.signal_itself(signal.SIGTERM), "signal 15"),
                           (lambda one: one.signal_itself(signal.SIGKILL), "signal 9")):
            with self.assertRaises(cadre.ActorError) as raised:
                end(Actor())
            self.assertIn(words, str(raised.exception))

    def test_commands_run_inside_the_task(self):
        actor = Actor()
        task = actor.facts()["task"]
        done = subprocess.run([os.environ["CADRE_PROGRAM"], "exec", task, "--", "sh", "-c",
                               "echo $CADRE_TASK; cat /proc/2/comm; id -u; exit 5"], stdout=subprocess.PIPE, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stdout.split(), [task, "python3", str(actor.facts()["uid"])])

    def test_modules_that_start_threads_are_not_forked_and_the_log_says_so(self):
        files = {"stamped.py": self.stamped["stamped.py"] + "import threading\n"
                               "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"}
        self.assertEqual(self.run_script(files, self.script()), "6\n")
        self.assertIn("are started, not forked, for now: the modules that it imports start threads", self.cluster.log("agent"))

    def test_a_module_that_cannot_be_imported_is_the_actors_own_error(self):
        code, said, errors = self.try_script({"broken.py": "import os\nif 'CADRE_TASK' in os.environ or "
                                                           "'CADRE_WARM' in os.environ: raise RuntimeError('not here')\n"},
                                             "import cadre, broken\n@cadre.remote_class(cpus=0.1)\nclass A:\n"
                                             "    def f(self): return broken\nA().f()\n")
        self.assertNotEqual(code, 0)
        self.assertIn("not here", errors)


class Faults(Scripts):
    """Each with a cluster of its own: what became of a template counts for a while."""

    AGENT = Forks.AGENT

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        super().setUpClass()
        self.addCleanup(super().tearDownClass)
        super().setUp()

    def test_a_killed_template_leaves_the_others_alone(self):
        actor = Actor()
        templates = template_of(self.cluster.folder)
        self.assertTrue(templates)
        for pid in templates:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(process_is_there(pid) for pid in templates), "they are gone")
        self.assertEqual(actor.add(1), 2)
        self.assertEqual(Actor().add(2), 3)
        time.sleep(1)
        self.assertEqual(actor.add(3), 4, "what the template leaves behind does not take others along")

    def test_a_stopped_init_or_keeper_does_not_keep_an_actor_from_ending(self):
        for which in ("cadre-init", "cadre-keeper"):
            one, other = Actor(), Actor()
            templates = template_of(self.cluster.folder)
            space = one.facts()["namespaces"]["pid"]
            mine = next(pid for pid in hosts_of_actors() if namespace_of(pid) == space)
            keeper = parent_of(mine)
            init = next(pid for pid in children_of(keeper) if pid != mine)
            family = {"cadre-init": init, "cadre-keeper": keeper}
            self.assertEqual({name: pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                              for name, pid in family.items()}, {name: name for name in family})
            os.kill(family[which], signal.SIGSTOP)
            began = time.monotonic()
            cadre.kill(one)
            until(lambda: not any(map(process_is_there, (mine, init, keeper))), f"it ends with a stopped {which}")
            self.assertLess(time.monotonic() - began, 8, which)
            self.assertEqual(other.add(1), 2)
            self.assertEqual(template_of(self.cluster.folder), templates, "others keep their template")

    def test_they_outlive_their_agent_and_its_templates(self):
        actors = [Actor() for _ in range(3)]
        agent = self.cluster.processes["agent"]
        agent.kill()
        agent.wait()
        self.assertEqual([one.add(1) for one in actors], [2] * 3)
        self.cluster.start("agent", ["agent", "--data", str(self.cluster.folder / "a"), "--master",
                                     str(self.cluster.data), "--id", "a1", *self.AGENT])
        self.cluster.until(lambda: self.cluster.get("/status").json["agents_up"] == 1)
        self.assertEqual([one.add(1) for one in actors], [2] * 3)
        self.assertEqual(Actor().add(7), 8)
        jobs = [one._cadre_actor.job for one in actors]
        del actors
        until(lambda: not [one for one in self.actors() if one["id"] in jobs], "they end")


class OfAnOrdinaryUser(Scripts):
    """Its agent has namespaces of users instead of rights."""

    AGENT = Forks.AGENT
    USER = "nobody"

    def test_they_are_forked_and_isolated(self):
        said = self.run_script(Forks.stamped, """
            import json, os
            import cadre, stamped
            @cadre.remote_class(cpus=0.1)
            class A:
                def facts(self):
                    open("/tmp/left", "x").close()  # fails if another one sees the same folder
                    return [stamped.stamp, len([one for one in os.listdir("/proc") if one.isdigit()]),
                            *[os.readlink("/proc/self/ns/" + kind) for kind in ("user", "pid", "mnt", "ipc")]]
            actors = [A() for _ in range(6)]
            print(json.dumps([one.facts() for one in actors]))
            """)
        stamps, processes, *namespaces = zip(*json.loads(said))
        self.assertEqual(len(set(stamps)), 1, self.cluster.log("agent"))
        self.assertEqual(set(processes), {2})
        for kind in namespaces:
            self.assertEqual(len(set(kind)), 6, kind)
        owners = {os.stat(f"/proc/{one.pid}").st_uid for one in self.cluster.processes.values()}
        self.assertNotIn(0, owners)

    def test_one_that_cannot_be_forked_is_started_and_the_log_says_why(self):
        files = {"stamped.py": Forks.stamped["stamped.py"] + "import threading\n"
                               "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"}
        self.assertEqual(self.run_script(files, Forks.script(self)), "6\n")
        self.assertIn("are started, not forked, for now: the modules that it imports start threads",
                      self.cluster.log("agent"))


class WithoutTemplates(Scripts):
    AGENT = ("--artificial-slots", "4", "--cpus", "8", "--memory", "8GiB", "--warm", "0")

    def test_an_agent_that_keeps_nothing_ready_forks_nothing(self):
        self.assertEqual(self.run_script(Forks.stamped, Forks.script(self)), "6\n")


if __name__ == "__main__":
    unittest.main()
