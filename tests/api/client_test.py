"""The OpenAPI document is valid, and a client that is made from it alone drives the cluster."""
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster

HERE = pathlib.Path(__file__).parent


class GeneratedClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.text = cls.cluster.get("/openapi.json", token=None).body
        made = subprocess.run([sys.executable, HERE / "make_client.py"], input=cls.text, capture_output=True, check=True)
        path = cls.cluster.folder / "client.py"
        path.write_bytes(made.stdout)
        spec = importlib.util.spec_from_file_location("client", path)
        cls.client = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.client)

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def test_the_document_is_valid(self):
        checked = subprocess.run(["node", HERE / "validate.mjs"], input=self.text, capture_output=True,
                                 env={**os.environ, "NODE_PATH": os.environ["CADRE_NODE_MODULES"]})
        self.assertEqual(checked.returncode, 0, checked.stderr.decode() + checked.stdout.decode())

    def test_the_check_finds_what_is_wrong(self):
        broken = json.loads(self.text)
        broken["paths"]["/jobs"]["get"]["parameters"][0]["in"] = "nowhere"
        checked = subprocess.run(["node", HERE / "validate.mjs"], input=json.dumps(broken).encode(), capture_output=True,
                                 env={**os.environ, "NODE_PATH": os.environ["CADRE_NODE_MODULES"]})
        self.assertEqual(checked.returncode, 1)

    def test_it_is_the_one_that_is_kept_with_the_source(self):
        self.assertEqual(self.text.decode(), (HERE / "../../schema/openapi.json").read_text())

    def test_a_client_made_from_it_drives_the_cluster(self):
        client = self.client
        admin = client.Client(self.cluster.url, self.cluster.admin)
        self.assertTrue(admin.get_me()["user"]["admin"])
        admin.create_workspace(name="robots", max_slots=2)
        admin.create_user(name="ann", password="correct horse", max_slots=1)
        admin.set_member(workspace="robots", user="ann", role="editor")

        ann = client.Client(self.cluster.url)
        with self.assertRaises(client.Refused) as refused:
            ann.get_me()
        self.assertEqual(refused.exception.status, 401)
        ann.token = ann.login(user="ann", password="correct horse")["token"]
        with self.assertRaises(client.Refused) as refused:
            ann.submit(members=[{"command": {"argv": ["true"]}, "slots": -1}], workspace="robots")
        self.assertEqual([one["path"] for one in refused.exception.problem["faults"]], ["members[0].slots"])

        job = ann.run_task(command={"argv": ["sh", "-c", "echo one; echo two >&2; exit 3"]}, workspace="robots")
        while job["stage"] != "ended":
            job = ann.get_job(job=job["id"], seen=job["version"])
        self.assertEqual((job["owner"], job["workspace"], job["code"]), ("ann", "robots", 3))
        task = job["tasks"][0]["id"]
        lines, offset = [], 0
        while len(lines) < 2:
            page = ann.read_logs(task=task, offset=offset, wait=True)
            lines += [(line["stream"], line["text"]) for line in page["lines"]]
            offset = page["next"]
        self.assertEqual(sorted(lines), [("err", "two"), ("out", "one")])
        self.assertIn("3", ann.why(job=job["id"])["text"])

        code = b"print('hello')"
        sent = ann.put_code(hash=hashlib.sha256(code).hexdigest(), size=len(code), offset=0, raw=code)
        self.assertTrue(sent["complete"])

        long = ann.run_task(command={"argv": ["sleep", "1000"]}, workspace="robots")
        self.cluster.until(lambda: ann.get_task(task=f"{long['id']}.0")["stage"] == "running")
        news = ann.exec(task=f"{long['id']}.0", argv=["sh", "-c", "exit 7"])
        self.assertEqual(news[-1]["news"]["code"], 7, news)
        ann.kill_job(job=long["id"])
        self.assertEqual(self.cluster.wait_for(long["id"])["reason"], "killed_by_user")
        ann.logout()
        with self.assertRaises(client.Refused):
            ann.get_me()
        admin.delete_user(user="ann")
        self.assertEqual([one["act"] for one in admin.list_audit(most=1)["entries"]], ["delete_user"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
