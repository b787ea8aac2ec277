#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Comparison with an earlier run, and the history page, on made-up figures. Nothing is measured.

usage: test_history.py [CASE...]
"""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import earlier # noqa: E402: the path is set above
import history # noqa: E402
import output # noqa: E402

MACHINE = {"host": "a", "model": "Xeon", "cpus": 2, "bogomips": "5200.00", "date": "2026-11-23",
           "summary": "Xeon"}
RUN = {"machine": MACHINE, "skipped": [], "targets": [], "rows": [
    {"kind": "packet", "key": "1w/74B/16f/shallow", "workers": 1, "cycles": 120, "macswap": 40,
     "ovs": 110},
    {"kind": "packet", "key": "1w/74B/16f/standing", "workers": 1, "queue": "standing",
     "cycles": 200},
    {"kind": "flows", "key": "flows/64K", "off": 200, "on": 250, "table": 50},
    {"kind": "xdp", "key": "xdp/veth", "cycles": 2000, "io": 2500},
    {"kind": "start", "key": "start/32 ports", "first_frame_s": 1.9, "memory_mib": 850},
    {"kind": "lab", "key": "lab/equilibrium", "mhops": 3.0, "least": 2.9},
]}


def changed(machine=None, **rows):
    """A copy of the run; rows: key with _ for / and space, and the figures that differ."""
    found = copy.deepcopy(RUN)
    found["machine"].update(machine or {})
    for row in found["rows"]:
        row.update(rows.get(row["key"].replace("/", "_").replace(" ", "_"), {}))
    return found


def verdicts(now, tolerance=10):
    found, without = earlier.compare(now, RUN, tolerance)
    return {(row["key"], row["by"]): row["verdict"] for row in found}, without


class Against(unittest.TestCase):
    def test_the_same_figures_are_the_same_in_every_row(self):
        found, without = verdicts(RUN)
        self.assertEqual(set(found.values()), {"same"})
        self.assertEqual(without, [])
        self.assertEqual(len(found), 7)

    def test_a_row_with_a_peer_is_compared_by_its_ratio(self):
        key = "1w/74B/16f/shallow", "cycles, to ovs"
        slower_machine = changed(**{"1w_74B_16f_shallow": {"cycles": 240, "ovs": 220}})
        self.assertEqual(verdicts(slower_machine)[0][key], "same")
        slower_code = changed(**{"1w_74B_16f_shallow": {"cycles": 133}})
        self.assertEqual(verdicts(slower_code)[0][key], "WORSE")
        self.assertEqual(verdicts(slower_code, 11)[0][key], "same")
        no_ovs = changed(**{"1w_74B_16f_shallow": {"ovs": None, "cycles": 100}})
        self.assertEqual(verdicts(no_ovs)[0][("1w/74B/16f/shallow", "cycles, to macswap")],
                         "better")

    def test_worse_is_more_cycles_and_fewer_hops(self):
        self.assertEqual(verdicts(changed(lab_equilibrium={"mhops": 2.6}))[0][
            ("lab/equilibrium", "mhops")], "WORSE")
        self.assertEqual(verdicts(changed(lab_equilibrium={"mhops": 3.6}))[0][
            ("lab/equilibrium", "mhops")], "better")
        self.assertEqual(verdicts(changed(flows_64K={"on": 280}))[0][("flows/64K", "on")], "WORSE")

    def test_a_standing_queue_has_three_times_the_tolerance(self):
        key = "1w/74B/16f/standing", "cycles"
        for cycles, expected in ((258, "same"), (262, "WORSE")):
            now = changed(**{"1w_74B_16f_standing": {"cycles": cycles}})
            self.assertEqual(verdicts(now)[0][key], expected)

    def test_of_another_machine_only_ratios_and_memory_are_compared(self):
        for other in ({"host": "b"}, {"model": "EPYC"}, {"cpus": 4}, {"bogomips": "4000.00"}):
            found, without = verdicts(changed(other, flows_64K={"on": 900}))
            self.assertEqual(set(found), {("1w/74B/16f/shallow", "cycles, to ovs"),
                                          ("xdp/veth", "cycles, to io"),
                                          ("start/32 ports", "memory_mib")}, other)
            self.assertEqual(without, ["1w/74B/16f/standing (cycles)", "flows/64K (on)",
                                       "start/32 ports (first_frame_s)",
                                       "lab/equilibrium (mhops)"])

    def test_rows_of_one_run_alone_are_named(self):
        now = copy.deepcopy(RUN)
        now["rows"].append({"kind": "flows", "key": "flows/1024K", "on": 300})
        self.assertEqual(verdicts(now)[1], ["flows/1024K (on)"])


class Command(unittest.TestCase):
    """scripts/bench with figures of files."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def bench(self, *args, status=0):
        done = subprocess.run([sys.executable, "-B", f"{ROOT}/scripts/bench", *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_a_regression_is_said_in_a_table_and_ends_with_1(self):
        old, same = self.file("old.json", RUN), self.file("same.json", RUN)
        worse = self.file("worse.json", changed(flows_64K={"on": 300}))
        self.assertIn("0 of 7 figures worse", self.bench("--against", old, "--from", same))
        said = self.bench("--against", old, "--from", worse, status=1)
        self.assertRegex(said, r"flows/64K +on +300 +250 +\+20.0% +WORSE")
        self.assertIn("1 of 7 figures worse than the earlier run by more than 10 %", said)
        self.bench("--against", old, "--from", worse, "--tolerance", "20")

    def test_another_machine_is_named(self):
        old = self.file("old.json", changed({"model": "EPYC", "host": "b"}))
        said = " ".join(self.bench("--against", old, "--from", self.file("now.json", RUN)).split())
        self.assertIn("the earlier run is of another machine (host b, now a; model EPYC, now Xeon)",
                      said)
        self.assertIn("not compared: 1w/74B/16f/standing (cycles), flows/64K (on), ", said)

    def test_a_comparison_that_was_stored_is_no_figure_of_the_run(self):
        old, path = self.file("old.json", RUN), os.path.join(self.folder, "stored.json")
        now = self.file("now.json", changed(flows_64K={"on": 260}))
        self.bench("--against", old, "--from", now, "--json", path)
        self.assertIn("0 of 7", self.bench("--against", path, "--from", now))

    def test_a_file_without_figures_is_refused(self):
        for content, why in (("", "is no JSON"), ([], "has no figures of scripts/bench --json"),
                             ({"machine": MACHINE, "rows": []}, "has no row that can be compared")):
            self.assertIn(f"bad.json {why}",
                          self.bench("--against", self.file("bad.json", content), status=2))
        self.assertIn("No such file", self.bench("--against", f"{self.folder}/none", status=2))
        self.assertIn("--from needs", self.bench("--from", self.file("now.json", RUN), status=2))
        self.bench("--against", self.file("old.json", RUN), "--tolerance", "-1", status=2)

    def test_one_command_adds_a_milestone(self):
        os.mkdir(f"{self.folder}/plots")
        for label, run in (("first", changed(**{"1w_74B_16f_shallow": {"ratio_ovs": 1.09}})),
                           ("second", RUN), ("first", RUN)):
            self.bench("--history", label, "--from", self.file("now.json", run),
                       "--docs", self.folder)
        with open(f"{self.folder}/history.json") as f:
            self.assertEqual([(e["label"], e["figures"]) for e in json.load(f)],
                             [(name, {"shallow": 120, "ovs": 110, "standing": 200, "table": 50,
                                      "start": 1.9, "lab": 3.0}) for name in ("first", "second")])
        with open(f"{self.folder}/history.md") as f:
            self.assertIn("| second | 2026-11-23 | Xeon, 2 CPUs | 120 | 110 | 200 | 50 | 1.90 "
                          "| 3.00 |", f.read())
        with open(f"{self.folder}/plots/history.svg") as f:
            self.assertEqual(f.read().count(">120</text>"), 2)

    def test_a_folder_that_cannot_take_the_page_is_refused(self):
        self.assertIn(f"{self.folder}/plots does not exist",
                      self.bench("--history", "x", "--docs", self.folder, status=2))
        os.mkdir(f"{self.folder}/plots")
        self.file("history.md", "A page without marks.\n")
        self.assertIn("history.md has no part between the lines",
                      self.bench("--history", "x", "--docs", self.folder, status=2))


class Page(unittest.TestCase):
    def test_the_page_and_the_picture_are_those_of_the_entries(self):
        docs = os.path.join(ROOT, "docs")
        entries = history.load(docs)
        before, after = output.parts(f"{docs}/history.md", history.MARKS)
        with open(f"{docs}/history.md") as f:
            self.assertEqual(f.read(), f"{before}\n{history.generated(entries)}\n{after}",
                             "docs/history.md is stale: scripts/bench --history writes it")
        with open(f"{docs}/plots/history.svg") as f:
            self.assertEqual(f.read(), history.picture(entries))

    def test_each_headline_is_a_figure_that_a_row_has(self):
        names = subprocess.run([f"{ROOT}/scripts/bench", "--list", "--history", "any"],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        for _, _, row, _, _ in history.HEADLINES:
            self.assertTrue([n for n in names if row == n or row.startswith(n + "/")], row)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [f"-k{name}" for name in sys.argv[1:]], verbosity=2)
