"""Event files of TensorBoard, read by a reader of their format that knows nothing of cadre."""
import collections
import json
import math
import re
import struct
import unittest

from scene import Scene

REPORTS = 12_000  # more than one page of the API

config = {
    "name": "events",
    "hyperparameters": {"lr": {"type": "double", "min": 0, "max": 1}, "note": "a|b", "net": {"layers": 3}},
    "searcher": {"type": "random", "metric": "loss", "max_trials": 2},
    "resources": {"slots_per_trial": 1},
    "max_restarts": 0,
}

program = f"""
    from cadre import core
    with core.init() as trial:
        for step in range(1, {REPORTS} + 1):
            trial.train.report_training(step, {{"loss": 1 / step, "rate": {{"inner": step * 1e30}}}})
        trial.train.report_training({REPORTS} + 1, {{"loss": float("nan"), "rate": {{"inner": float("-inf")}}}})
        trial.train.report_metrics("texts", 5, {{"phase": "warm"}})
        trial.train.report_metrics("flags", 7, {{"good": True, "bad": False, "word": "x", "huge": 1e300}})
        trial.train.report_validation({REPORTS}, {{"loss": trial.info.hyperparameters["lr"]}})
"""


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def masked_crc32c(data):
    rest = 0xFFFFFFFF
    for byte in data:
        rest = rest >> 8 ^ TABLE[(rest ^ byte) & 0xFF]
    rest ^= 0xFFFFFFFF
    return ((rest >> 15 | rest << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The data of each record; both checksums of each must hold."""
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        size, = struct.unpack("<Q", head)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc32c(head), f"length at {at}"
        body = data[at + 12:at + 12 + size]
        assert len(body) == size, f"the record at {at} is cut off"
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc32c(body), f"data at {at}"
        yield body
        at += size + 16


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data):
    """The fields of a protobuf message by number, each with all its values."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise AssertionError(f"a field of kind {kind} at {at}")
        found[key >> 3].append(value)
    assert at == len(data), "the message ends in the middle of a field"
    return dict(found)


def float32(number):
    """As a file keeps it; equal to itself."""
    if math.isnan(number):
        return "NaN"
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Scene()
        cls.addClassCleanup(cls.cluster.close)
        cls.number = cls.cluster.create(config, cls.cluster.folder_of(program))
        ended = cls.cluster.wait_for_end(cls.number)
        assert ended["state"] == "completed", cls.cluster.output_of(f"{cls.number}.0")

    def export(self, target, folder, *words, fails=False):
        return self.cluster.cadre("experiment", "export", target, "--format", "tensorboard", *words, "-o", folder,
                                  fails=fails)

    def reports(self, trial):
        found, after = [], ""
        while True:
            page = self.cluster.get(f"/trials/{trial}/reports", query={"most": 10_000, "after": after}).json
            found += page["reports"]
            after = page.get("next", "")
            if not after:
                return found

    def scalars_of_api(self, trial):
        """Tag, steps and value of each number."""
        found = []
        for report in self.reports(trial):
            for name, value in report["metrics"].items():
                if isinstance(value, str) and value not in ("NaN", "Infinity", "-Infinity"):
                    continue
                found.append((f"{report['group']}/{name}", report["steps"], float32(float(value))))
        return sorted(found, key=str)

    def events_of(self, folder, trial):
        files = list((folder / trial).iterdir())
        self.assertEqual(len(files), 1, files)
        self.assertRegex(files[0].name, r"^events\.out\.tfevents\.\d{10}\..+")
        return [fields(record) for record in records(files[0].read_bytes())]

    def test_the_event_files_have_all_numbers_of_the_api(self):
        folder = self.cluster.folder / "runs"
        said = self.export(self.number, folder, "--json")
        trials = [f"{self.number}.{trial}" for trial in range(2)]
        self.assertEqual(sorted(path.name for path in folder.iterdir()), trials)
        numbers = REPORTS + 3  # the report of texts has none
        self.assertEqual(json.loads(said.stdout), {"file": str(folder), "trials": 2, "reports": 2 * numbers})
        for trial in trials:
            version, text, *scalars = self.events_of(folder, trial)
            self.assertEqual(version[3], [b"brain.Event:2"])
            self.assertEqual(len(scalars), numbers)
            found = []
            for event in scalars:
                for value in fields(event[5][0])[1]:
                    value = fields(value)
                    found.append((value[1][0].decode(), event[2][0], float32(value[2][0])))
            expected = self.scalars_of_api(trial)
            self.assertEqual(len(expected), 2 * (REPORTS + 1) + 3 + 1)
            self.assertEqual(sorted(found, key=str), expected)
            self.assertIn(("training/loss", REPORTS + 1, "NaN"), found)
            self.assertIn(("training/rate.inner", REPORTS + 1, -math.inf), found)
            self.assertEqual([value for tag, _, value in found if tag == "flags/huge"], [math.inf])
            times = [event[1][0] for event in scalars]
            self.assertLess(max(times) - version[1][0], 600)
            self.assertGreaterEqual(min(times), version[1][0] - 1)

            value = fields(fields(text[5][0])[1][0])
            tensor, metadata = fields(value[8][0]), fields(value[9][0])
            self.assertEqual(fields(metadata[1][0])[1], [b"text"])
            self.assertEqual((value[1], tensor[1]), ([b"hyperparameters/text_summary"], [7]))
            lr = self.cluster.trial(trial)["hyperparameters"]["lr"]
            table = tensor[8][0].decode()
            self.assertEqual(float(re.search(r"\| lr \| (\S+) \|", table).group(1)), lr)
            self.assertIn("| net.layers | 3 |", table)
            self.assertIn(r"| note | a\|b |", table)

    def test_one_trial_and_one_group_can_be_chosen(self):
        folder = self.cluster.folder / "one"
        said = self.export(f"{self.number}.1", folder, "--group", "validation")
        self.assertEqual(said.stdout, f"wrote 1 report of 1 trial to {folder}\n")
        self.assertEqual([path.name for path in folder.iterdir()], [f"{self.number}.1"])
        _, _, event = self.events_of(folder, f"{self.number}.1")
        self.assertEqual(fields(fields(event[5][0])[1][0])[1], [b"validation/loss"])

    def test_what_cannot_be_written_is_refused_and_leaves_nothing(self):
        folder = self.cluster.folder / "mine"
        folder.mkdir()
        (folder / "notes").write_text("keep")
        refused = self.export(self.number, folder, fails=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"{folder} is not empty; name a new folder", refused.stderr)
        self.assertEqual([path.name for path in folder.iterdir()], ["notes"])

        self.assertNotEqual(self.export(self.number, "/proc/runs", fails=True).returncode, 0)
        gone = self.cluster.folder / "gone"
        missing = self.export(99_999, gone, fails=True)
        self.assertEqual((missing.returncode, gone.exists()), (1, False), missing.stderr)

        words = ["experiment", "export", self.number, "--format", "tensorboard"]
        nowhere = self.cluster.cadre(*words, fails=True)
        self.assertEqual(nowhere.returncode, 2)
        self.assertIn("name it with --output", nowhere.stderr)
        both = self.cluster.cadre(*words, "--trials", "-o", gone, fails=True)
        self.assertEqual((both.returncode, gone.exists()), (2, False))
        self.assertIn("--trials", both.stderr)


if __name__ == "__main__":
    unittest.main()
