"""Servers that keep checkpoints, as processes of a test: Redis, an S3 server that checks signatures, and a stub of
WebHDFS."""
import os
import pathlib
import socket
import subprocess
import time

SOURCE = pathlib.Path(os.environ["CADRE_EXAMPLES"]).parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    def launch(self, folder, name, command, port, **environment):
        log = open(pathlib.Path(folder) / f"{name}.log", "ab")
        self.process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                        env={**os.environ, **environment})
        log.close()
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        raise AssertionError(f"{name} does not start:\n" + (pathlib.Path(folder) / f"{name}.log").read_text())

    def close(self):
        self.process.kill()
        self.process.wait()


class Redis(Server):
    password = "a-password-of-redis"

    def __init__(self, folder, ):
        self.folder, self.port = folder, free_port()
        self.url = f"redis://:{self.password}@127.0.0.1:{self.port}"
        self.start()

    def start(self):
        self.launch(self.folder, f"redis-{self.port}",
                    ["/usr/bin/redis-server", "--port", self.port, "--bind", "127.0.0.1", "--requirepass",
                     self.password, "--save", "", "--appendonly", "no", "--dir", self.folder], self.port)


class S3(Server):
    access_key = "AKIATEST"
    secret_key = "a-secret-key-of-the-s3-server"
    bucket = "checkpoints-of-tests"

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) / "s3"
        self.port = free_port()
        self.launch(folder, "s3", ["/usr/bin/env", "node", SOURCE / "tests/servers/s3_server.js", self.folder,
                                   self.port, self.bucket, self.access_key, self.secret_key], self.port,
                    NODE_PATH=str(SOURCE / "build/node/node_modules"))

    def settings(self):
        return {"type": "s3", "bucket": self.bucket, "endpoint": f"http://127.0.0.1:{self.port}",
                "access_key": self.access_key, "secret_key": self.secret_key}

    def objects(self):
        """Keys of the objects of checkpoints."""
        top = self.folder / self.bucket
        keys = [str(path.relative_to(top)) for path in top.rglob("*._S3rver_object")]
        return [key for key in keys if key.startswith("checkpoints/")]


class WebHdfs(Server):
    def __init__(self, folder, capacity=1 << 30):
        self.port, data = free_port(), free_port()
        self.launch(folder, f"webhdfs-{self.port}", ["/usr/bin/python3", SOURCE / "tests/servers/webhdfs_stub.py",
                                                     self.port, data, capacity], self.port)

    def settings(self):
        return {"type": "webhdfs", "url": f"http://127.0.0.1:{self.port}", "path": "/stores", "user": "cadre"}
