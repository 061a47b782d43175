"""A real master and agent as processes of this host, and what is asked of them over HTTP."""
import http.client
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

from postgres import database_of_this_run

PROGRAM = os.environ["CADRE_PROGRAM"]


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Cluster:
    """`user` is an ordinary user as whom a cluster of root runs; an ordinary user can start one only as itself."""

    def __init__(self, master=(), agent=("--artificial-slots", "4"), user=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-api-"))
        self.command = [PROGRAM]
        if user is not None and os.geteuid() == 0:
            self.become(user)
        self.data = self.folder / "m"
        self.master_arguments = [str(one) for one in master] + database_of_this_run()
        self.agent_arguments = list(agent)
        self.processes = {}
        self.start_master()
        self.start("agent", ["agent", "--master", str(self.data), "--data", str(self.folder / "a"), "--id", "a1",
                             *self.agent_arguments])
        self.until(lambda: self.get("/status").json["agents_up"] == 1)

    def become(self, user):
        """With a copy of the programs: the user may not see the build folder."""
        programs = self.folder / "bin"
        programs.mkdir()
        beside = pathlib.Path(PROGRAM).parent
        for name in ("cadre", "cadre-supervisor"):
            shutil.copy(beside / name, programs / name)
        if (beside / "python/cadre").exists():
            shutil.copytree(beside / "python/cadre", programs / "python/cadre")
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", self.folder], check=True)
        account = pwd.getpwnam(user)
        os.chown(self.folder, account.pw_uid, account.pw_gid)
        self.command = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups",
                        "env", "--chdir=/", f"HOME={self.folder}", str(programs / "cadre")]

    def start(self, name, arguments):
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([*self.command, *arguments], stdout=log, stderr=log)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def start_master(self):
        self.start("master", ["master", "--data", str(self.data), "--port", "0", "--agent-timeout", "5s",
                              *self.master_arguments])
        self.until(self.is_up)

    def is_up(self):
        try:
            known = json.loads((self.data / "client.json").read_text())
            self.url = known["url"]
            self.admin = known["token"]
            return self.request("GET", "/health", token=None).status == 200
        except (OSError, ValueError, http.client.HTTPException):
            return False

    def kill_master(self):
        self.processes["master"].send_signal(signal.SIGKILL)
        self.processes["master"].wait()

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, holds, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                if holds():
                    return
            except AssertionError:
                raise
            except Exception as failure:  # it is not there yet, in whichever way
                self.last_failure = failure
            if time.monotonic() > end:
                for log in self.folder.glob("*.log"):
                    sys.stderr.write(f"--- {log.name}\n{log.read_text()}")
                raise AssertionError(f"it did not come to that; {getattr(self, 'last_failure', '')}")
            time.sleep(0.02)

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, path, token="admin", body=None, query=None, raw=None, headers=None):
        """`token` is a secret, None for none, or "admin" for that of the data folder."""
        connection = self.connect()
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = "Bearer " + (self.admin if token == "admin" else token)
        data = raw
        if body is not None:
            data = json.dumps(body)
            headers["Content-Type"] = "application/json"
        target = "/api/v1" + path + ("?" + urllib.parse.urlencode(query) if query else "")
        try:
            connection.request(method, target, body=data, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def user(self, name, workspaces=None, **more):
        """Creates a user and returns a token of theirs."""
        made = self.request("POST", "/users", body={"name": name, **more})
        assert made.status == 200, made.body
        for workspace, role in (workspaces or {}).items():
            put = self.request("PUT", f"/workspaces/{workspace}/members/{name}", body={"role": role})
            assert put.status == 200, put.body
        token = self.request("POST", "/tokens", body={"user": name})
        assert token.status == 200, token.body
        return token.json["token"]

    def run(self, argv, token="admin", **more):
        body = {"command": {"argv": argv}, **more}
        made = self.request("POST", "/tasks", token=token, body=body)
        assert made.status == 200, made.body
        return made.json["id"]

    def wait_for(self, job, stage="ended", token="admin"):
        seen = {}

        def reached():
            seen.update(self.get(f"/jobs/{job}", token=token).json)
            return seen["stage"] == stage

        self.until(reached)
        return seen
