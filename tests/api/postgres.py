"""A real PostgreSQL server, for tests of a master that keeps its state there. It ends with the test program."""
import atexit
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

_BINARIES = pathlib.Path(os.environ.get("CADRE_POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
_PASSWORD = "to-be-kept-secret"


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Postgres:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-postgres-"))
        atexit.register(self.close)
        self.process = None
        self.schemas = 0
        # It is no program of ours: the runtime of a sanitizer has no place in it.
        self.how = {"env": {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}}
        self.user = dict(self.how)
        secret = self.folder / "password"
        secret.write_text(_PASSWORD + "\n")
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            # The server refuses to be root.
            self.user |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            for path in (self.folder, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self.log = open(self.folder / "log", "ab")
        subprocess.run([_BINARIES / "initdb", "-D", self.folder / "data", "-U", "cadre", "-A", "scram-sha-256", f"--pwfile={secret}",
                        "-E", "UTF8", "--locale=C", "--no-sync"], check=True, stdout=self.log, stderr=self.log, **self.user)
        self.port = _free_port()
        self.process = subprocess.Popen(
            [_BINARIES / "postgres", "-D", self.folder / "data", "-p", str(self.port), "-k", self.folder, "-c",
             "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "dynamic_shared_memory_type=mmap", "-c", "shared_buffers=16MB"],
            stdout=self.log, stderr=self.log, **self.user)
        end = time.monotonic() + 60
        while subprocess.run([_BINARIES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)], **self.how).returncode != 0:
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("PostgreSQL does not start:\n" + (self.folder / "log").read_text())
            time.sleep(0.05)

    def url(self, options=""):
        return f"postgresql://cadre:{_PASSWORD}@127.0.0.1:{self.port}/postgres?sslmode=disable&{options}"

    def make_schema(self):
        """The URL of an empty one."""
        self.schemas += 1
        subprocess.run([_BINARIES / "psql", "--quiet", self.url(), "-c", f"CREATE SCHEMA test{self.schemas}"], check=True, **self.how)
        return self.url(f"options=-csearch_path%3Dtest{self.schemas}")

    def close(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)


_shared = None


def database_of_this_run():
    """Arguments of a master: an empty schema of PostgreSQL if CADRE_TEST_ENGINE is postgresql, else none."""
    global _shared
    if os.environ.get("CADRE_TEST_ENGINE") != "postgresql":
        return []
    if _shared is None:
        _shared = Postgres()
    return ["--database", _shared.make_schema()]
