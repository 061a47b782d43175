"""What a real Prometheus reads of the master, and the logs of master and agent as JSON."""
import json
import pathlib
import re
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
            self.assertEqual(self.query("cadre_job_wait_seconds_count"), [1.0])
            self.cluster.until(lambda: self.query("histogram_quantile(0.5, rate(cadre_control_step_seconds_bucket[1m])) > 0"))
            self.assertTrue(self.query("cadre_http_request_seconds_count{route='/api/v1/tasks',method='POST'}"))
        finally:
            prometheus.kill()
            prometheus.wait()

    def scrape(self):
        request = urllib.request.Request(self.cluster.url + "/metrics",
                                         headers={"Authorization": "Bearer " + self.cluster.admin})
        return urllib.request.urlopen(request).read().decode()

    def test_promtool_has_no_complaint(self):
        self.cluster.wait_for(self.cluster.run(["echo", "hello"]))
        said = subprocess.run(["promtool", "check", "metrics"], input=self.scrape(), capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "", ""))

    def test_histograms_observe_the_effects_of_a_job(self):
        self.cluster.wait_for(self.cluster.run(["sh", "-c", "echo one; echo two"]))
        samples = {}

        def stored():
            samples.update(line.rsplit(" ", 1) for line in self.scrape().splitlines() if not line.startswith("#"))
            return float(samples["cadre_output_lines_total"]) == 2

        self.cluster.until(stored)
        self.assertGreater(float(samples["cadre_output_bytes_total"]), 6)
        self.assertEqual(samples["cadre_job_wait_seconds_count"], "1")
        self.assertLess(float(samples["cadre_job_wait_seconds_sum"]), 60)
        for name in ("control_step_seconds", "control_step_inputs", "control_commit_seconds"):
            count = int(samples[f"cadre_{name}_count"])
            self.assertGreater(count, 0)
            self.assertEqual(int(samples[f'cadre_{name}_bucket{{le="+Inf"}}']), count)
            self.assertGreater(float(samples[f"cadre_{name}_sum"]), 0)
        request = 'method="POST",route="/api/v1/tasks",status="2xx"'
        self.assertEqual(samples[f"cadre_http_request_seconds_count{{{request}}}"], "1")

    def test_the_documentation_lists_all_of_them(self):
        self.cluster.get("/status")
        found = []
        text = self.scrape()
        for name, words in re.findall(r"^# HELP (\w+) (.*)$", text, re.M):
            kind = re.search(rf"^# TYPE {name} (\w+)$", text, re.M).group(1)
            sample = re.search(rf"^{name}(?:_bucket)?\{{(.*?)\}} ", text, re.M)
            labels = re.findall(r'(\w+)="', sample.group(1)) if sample else []
            labels = ", ".join(f"`{label}`" for label in labels if label != "le")
            found.append(f"| `{name}` | {kind} | {labels} | {words} |")
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
        listed = re.findall(r"^\| `cadre_.*$", page, re.M)
        self.assertEqual(sorted(listed), sorted(found), "docs/api.md must list:\n" + "\n".join(sorted(found)))

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
