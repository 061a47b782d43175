"""A cluster with experiments: what the tests of experiments have in common."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "api"))

from cluster import Cluster  # noqa: E402

EXAMPLES = pathlib.Path(os.environ["CADRE_EXAMPLES"])
PYTHON = os.environ.get("CADRE_TRIAL_PYTHON", "/usr/bin/python3")
TERMINAL = ("completed", "canceled", "error", "deleted", "delete_failed")


class Scene(Cluster):
    """With commands of `cadre` as the owner of the data folder."""

    def environment(self, **more):
        return {**os.environ, "CADRE_MASTER": str(self.data), **more}

    def cadre(self, *words, fails=False, **environment):
        done = subprocess.run([os.environ["CADRE_PROGRAM"], *map(str, words)], capture_output=True, text=True,
                              env=self.environment(**environment), timeout=600)
        if not fails and done.returncode != 0:
            raise AssertionError(f"cadre {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def folder_of(self, program):
        """A folder with the program of a trial."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="trial-", dir=self.folder))
        (folder / "train.py").write_text(textwrap.dedent(program))
        return folder

    def create(self, config, folder, token="admin", *words):
        """Submits an experiment and returns its number."""
        path = folder.parent / f"{folder.name}.json"
        path.write_text(json.dumps({"entrypoint": [PYTHON, "train.py"], **config}))
        words = ["experiment", "create", str(path), str(folder), *words]
        environment = {} if token == "admin" else {"CADRE_TOKEN": token}
        return int(self.cadre(*words, **environment).stdout.split()[0])

    def experiment(self, number, token="admin"):
        found = self.get(f"/experiments/{number}", token=token)
        assert found.status == 200, found.body
        return found.json

    def trials(self, number):
        return self.get(f"/experiments/{number}/trials", query={"most": 10_000}).json["trials"]

    def trial(self, name):
        return self.get(f"/trials/{name}").json

    def wait_for_end(self, number, seconds=300):
        self.until(lambda: self.experiment(number)["state"] in TERMINAL, seconds)
        return self.experiment(number)

    def output_of(self, trial):
        """Of all jobs of a trial, for messages."""
        text = ""
        for job in self.trial(trial).get("jobs", []):
            text += self.cadre("logs", job, fails=True).stdout
        return text
