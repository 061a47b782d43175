"""Checkpoints of experiments in every kind of store: what a policy promises remains, what is half uploaded is never
listed, what is wrong with a store is said where the user sees it, and tasks see neither keys nor folders of stores."""
import json
import os
import pathlib
import re
import shutil
import tempfile
import unittest

from scene import Scene
from servers import Redis, S3, WebHdfs

one_trial = {
    "name": "stores",
    "seed": 3,
    "searcher": {"type": "single", "metric": "loss"},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 0,
}

# It saves a checkpoint in each of eight steps. The loss falls, rises and falls again: 4 3 2 1 2 3 2 1.5
saving = """
    import os, time
    from cadre import core
    with core.init() as trial:
        for step, loss in enumerate([4, 3, 2, 1, 2, 3, 2, 1.5], 1):
            trial.train.report_validation(step, {"loss": loss})
            with trial.checkpoint.store_path(steps=step) as (path, uuid):
                (path / "weights").mkdir()
                (path / "weights" / "layer 1").write_bytes(bytes([step]) * 100_000)
                (path / "step").write_text(str(step))
        if HOLD:
            with trial.checkpoint.store_path(steps=9) as (path, uuid):
                (path / "half").write_bytes(os.urandom(30_000_000))
                import threading, signal
                threading.Thread(target=lambda: (time.sleep(0.15), os.kill(os.getpid(), signal.SIGKILL)), daemon=True).start()
"""


def uuids(names):
    """Of the checkpoints to which these files belong."""
    return {found.group() for found in (re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name) for name in names)
            if found}


class Stores(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-stores-"))
        cls.redis, cls.s3, cls.webhdfs = Redis(cls.folder), S3(cls.folder), WebHdfs(cls.folder)
        cls.going = Redis(cls.folder)
        cls.full = WebHdfs(cls.folder, capacity=300_000)
        shared = cls.folder / "shared"
        shared.mkdir()
        s3 = cls.s3.settings()
        cls.settings = {
            "shared": {"type": "file", "path": str(shared)},
            "going": {"type": "redis", "url": cls.going.url, "prefix": "test:", "timeout": "1s"},
            "redis": {"type": "redis", "url": cls.redis.url, "prefix": "test:", "timeout": "1s"},
            "s3": s3,
            "webhdfs": cls.webhdfs.settings(),
            "wrong_key": {**s3, "secret_key": "another-key-that-nobody-knows"},
            "no_bucket": {**s3, "bucket": "not-there"},
            "full": cls.full.settings(),
        }
        cls.secrets = [cls.s3.secret_key, cls.redis.password, "another-key-that-nobody-knows", str(shared)]
        config = cls.folder / "master.yaml"
        config.write_text(json.dumps({"checkpoints": {"stores": cls.settings}}))
        os.chmod(config, 0o600)
        cls.cluster = Scene(master=("--config", config), agent=("--artificial-slots", "4"))

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()
        for server in (cls.redis, cls.going, cls.s3, cls.webhdfs, cls.full):
            server.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def create(self, store, hold=False, program=saving, **more):
        config = {**one_trial, **more, "checkpoints": {"store": store, "save_trial_best": 1, "save_trial_latest": 2}}
        return self.cluster.create(config, self.cluster.folder_of(program.replace("HOLD", str(hold))))

    def kept(self, number):
        """The steps of the checkpoints that are listed."""
        listed = self.cluster.get(f"/experiments/{number}/checkpoints", query={"most": 1000}).json["checkpoints"]
        self.assertEqual({one["state"] for one in listed}, {"completed"} if listed else set())
        return sorted(one["steps"] for one in listed)

    def until_kept(self, number, steps):
        try:
            self.cluster.until(lambda: self.kept(number) == steps, 30)
        except AssertionError:
            self.assertEqual(self.kept(number), steps)

    def assert_content(self, number):
        """Each checkpoint that is listed can be downloaded, and is what was saved."""
        for one in self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]:
            self.assertEqual(self.content(one["id"], "step"), str(one["steps"]).encode())
            self.assertEqual(self.content(one["id"], "weights/layer 1"), bytes([one["steps"]]) * 100_000)

    def content(self, checkpoint, name):
        """Of a file; a store that is slow is asked again."""
        answers = []

        def is_there():
            answers.append(self.cluster.get(f"/checkpoints/{checkpoint}/files", query={"name": name}))
            return answers[-1].status != 503

        self.cluster.until(is_there)
        self.assertEqual(answers[-1].status, 200, answers[-1].body)
        return answers[-1].body

    def retention(self, store):
        number = self.create(store)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual(ended["state"], "completed", self.cluster.output_of(f"{number}.0"))
        self.until_kept(number, [4, 7, 8])  # the best, and the latest two
        self.assert_content(number)
        self.cluster.cadre("experiment", "set", number, "save_trial_latest=1", "save_trial_best=0")
        self.until_kept(number, [8])
        self.assert_content(number)
        self.cluster.cadre("experiment", "set", number, "save_trial_latest=0", "save_experiment_best=3")
        self.until_kept(number, [8])  # what is gone does not return
        listed = self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]
        self.cluster.cadre("checkpoint", "delete", listed[0]["id"])
        self.until_kept(number, [])
        self.cluster.cadre("experiment", "delete", number, "--yes")
        self.cluster.until(lambda: self.cluster.get(f"/experiments/{number}").json.get("state", "deleted") == "deleted")

    def half_uploaded(self, store, objects):
        """A trial that is killed while it uploads leaves nothing: neither in the list nor in the store."""
        before = uuids(objects()) if objects else set()
        number = self.create(store, hold=True)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual(ended["state"], "error")
        self.until_kept(number, [4, 7, 8])
        ids = {one["id"] for one in self.cluster.get(f"/experiments/{number}/checkpoints").json["checkpoints"]}
        if objects is not None:
            self.cluster.until(lambda: uuids(objects()) - before == ids, 30)
        self.cluster.cadre("experiment", "delete", number, "--yes")
        self.cluster.until(lambda: self.cluster.get(f"/experiments/{number}").json.get("state", "deleted") == "deleted")
        if objects is not None:
            self.assertEqual(uuids(objects()) - before, set())

    def files_below(self, folder):
        """Keys of the objects of a store in a folder."""
        return [str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")
                if path.is_file() and "checkpoints/" in str(path.relative_to(folder))
                and not any(part.startswith(".") for part in path.relative_to(folder).parts)]

    def test_file(self):
        self.retention("shared")
        self.half_uploaded("shared", lambda: self.files_below(self.settings["shared"]["path"]))

    def test_master(self):
        self.retention("default")
        self.half_uploaded("default", lambda: self.files_below(self.cluster.data / "checkpoints/store"))

    def test_redis(self):
        self.retention("redis")
        self.half_uploaded("redis", None)

    def test_s3(self):
        self.retention("s3")
        self.half_uploaded("s3", lambda: self.s3.objects())

    def test_webhdfs(self):
        self.retention("webhdfs")
        self.half_uploaded("webhdfs", None)

    def refused(self, store, *words):
        """The user sees what is wrong in the output of the task."""
        number = self.create(store, program=saving)
        ended = self.cluster.wait_for_end(number)
        self.assertEqual(ended["state"], "error")
        job = self.cluster.trial(f"{number}.0")["jobs"][-1]
        shown = self.cluster.cadre("logs", job, fails=True)
        for word in words:
            self.assertIn(word, shown.stdout + shown.stderr)
        self.assertEqual(self.kept(number), [])
        for secret in self.secrets:
            self.assertNotIn(secret, shown.stdout + shown.stderr)

    def test_a_wrong_key_is_named(self):
        self.refused("wrong_key", "secret_key", "wrong")

    def test_a_missing_bucket_is_named(self):
        self.refused("no_bucket", "not-there", "bucket")

    def test_a_store_that_is_not_there_is_refused_when_the_experiment_is_submitted(self):
        folder = self.cluster.folder_of("")
        path = folder / "x.json"
        path.write_text(json.dumps({**one_trial, "entrypoint": "true", "checkpoints": {"store": "nowhere"}}))
        refused = self.cluster.cadre("experiment", "create", path, folder, fails=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("there is no store 'nowhere'", refused.stderr)

    def test_a_full_store_is_named_and_waited_for(self):
        number = self.create("full")
        self.cluster.until(lambda: self.cluster.trial(f"{number}.0")["jobs"])
        job = self.cluster.trial(f"{number}.0")["jobs"][-1]

        def says_so():
            shown = self.cluster.cadre("logs", job, fails=True)
            return "HDFS is full" in shown.stdout + shown.stderr

        self.cluster.until(says_so, 120)
        self.assertNotIn(8, self.kept(number))
        self.cluster.cadre("experiment", "kill", number)
        self.assertEqual(self.cluster.wait_for_end(number)["state"], "canceled")

    def test_a_store_that_cannot_be_reached_when_checkpoints_are_removed_is_named(self):
        number = self.create("going")
        self.assertEqual(self.cluster.wait_for_end(number)["state"], "completed")
        self.until_kept(number, [4, 7, 8])
        self.going.close()
        self.cluster.cadre("experiment", "delete", number, "--yes")
        self.cluster.until(lambda: self.cluster.experiment(number)["state"] == "delete_failed", 120)
        self.assertIn("could not be removed", self.cluster.experiment(number)["reason"])
        self.going.start()
        self.cluster.cadre("experiment", "delete", number, "--yes")
        self.cluster.until(lambda: self.cluster.get(f"/experiments/{number}").json.get("state", "deleted") == "deleted")

    def test_no_key_and_no_folder_of_a_store_is_visible_in_a_task(self):
        paths = [self.settings["shared"]["path"], str(self.cluster.data / "checkpoints"), str(self.folder / "master.yaml")]
        program = f"""
            import os, pathlib
            from cadre import core
            seen = [str(os.environ)]
            for name in ("self/environ", "self/mounts", "self/cmdline"):
                seen.append(pathlib.Path("/proc", name).read_bytes().decode(errors="replace"))
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                for name in ("environ", "cmdline"):
                    try:
                        seen.append((process / name).read_bytes().decode(errors="replace"))
                    except OSError:
                        pass
            with core.init() as trial:
                with trial.checkpoint.store_path(steps=1) as (path, uuid):
                    (path / "step").write_text("1")
                trial.train.report_validation(1, {{"loss": 1}})
                for path in {paths!r}:
                    print("EXISTS" if os.path.exists(path) else "hidden", flush=True)
                print("SEEN" + repr(seen), flush=True)
        """
        number = self.create("s3", program=program)
        self.assertEqual(self.cluster.wait_for_end(number)["state"], "completed", self.cluster.output_of(f"{number}.0"))
        shown = self.cluster.output_of(f"{number}.0")
        self.assertNotIn("EXISTS", shown)
        self.assertEqual(shown.count("hidden"), len(paths))
        self.assertIn("SEEN", shown)
        for secret in self.secrets:
            self.assertNotIn(secret, shown.replace("hidden", ""))
        view = json.dumps(self.cluster.experiment(number)) + json.dumps(self.cluster.trial(f"{number}.0"))
        for secret in self.secrets:
            self.assertNotIn(secret, view)


if __name__ == "__main__":
    unittest.main()
