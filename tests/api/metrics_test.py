"""What a real Prometheus reads of the master, and the logs of master and agent as JSON."""
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

from cluster import Cluster


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Metrics(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(master=("--log", "json"), agent=("--artificial-slots", "4", "--log", "json"))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cadre-prometheus-"))
        self.port = free_port()

    def tearDown(self):
        self.cluster.close()
        shutil.rmtree(self.folder)

    def query(self, expression):
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(url, timeout=10) as answer:
            return [float(one["value"][1]) for one in json.loads(answer.read())["data"]["result"]]

    def test_a_real_prometheus_reads_it(self):
        (self.folder / "token").write_text(self.cluster.admin)
        (self.folder / "prometheus.yml").write_text(f"""
scrape_configs:
  - job_name: cadre
    scrape_interval: 1s
    authorization: {{credentials_file: {self.folder}/token}}
    static_configs: [{{targets: ["127.0.0.1:{self.cluster.port}"]}}]
""")
        with open(self.folder / "log", "wb") as log:
            prometheus = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        try:
            job = self.cluster.run(["sleep", "1000"], slots=3)
            self.cluster.wait_for(job, "running")
            self.cluster.until(lambda: self.query("up{job='cadre'}") == [1.0])
            self.cluster.until(lambda: self.query("cadre_slots_used") == [3.0])
            self.assertEqual(self.query("cadre_slots"), [4.0])
            self.assertEqual(self.query("cadre_agents_up"), [1.0])
            self.assertGreater(self.query("cadre_http_requests_total")[0], 0)
        finally:
            prometheus.kill()
            prometheus.wait()

    def test_without_a_token_it_tells_nothing(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(self.cluster.url + "/metrics")
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()

    def test_logs_are_json_lines(self):
        for part in ("master", "agent"):
            lines = (self.cluster.folder / f"{part}.log").read_text().splitlines()
            self.assertTrue(lines)
            for line in lines:
                entry = json.loads(line)
                self.assertEqual(set(entry), {"time", "level", "part", "message"})
                self.assertEqual(entry["part"], part)
                time.strptime(entry["time"][:19], "%Y-%m-%dT%H:%M:%S")


if __name__ == "__main__":
    unittest.main(verbosity=2)
