#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files for Grafana and Prometheus, without a switch: what Grafana needs to load the dashboard,
and each alert against made series, by promtool. Whether the series exist on a live switch is asked
by tests/smoke/monitoring. Exits 77 where promtool is not installed.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import alerts
import expressions
import yaml

KINDS = {"row", "stat", "timeseries", "table", "state-timeline"}
UNITS = {"short", "bps", "pps", "cps", "bytes", "s", "percentunit"} # those of Grafana that are used


def promtool(*args):
    done = subprocess.run(["promtool", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode, done.stdout


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.board = expressions.dashboard()
        self.panels = self.board["panels"]

    def test_the_frame_is_what_grafana_imports(self):
        self.assertGreaterEqual(self.board["schemaVersion"], 39)
        self.assertEqual((self.board["uid"], self.board["title"]), ("weir", "Weir"))
        self.assertNotIn("id", self.board) # Grafana gives one
        ids = [p["id"] for p in self.panels]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual({p["type"] for p in self.panels} - KINDS, set())
        rows = [p["title"].split(":")[0].split(" $")[0] for p in self.panels if p["type"] == "row"]
        self.assertEqual(rows, ["Overview", "Port", "Storms", "IPCC and flows", "Lab"])

    def test_panels_lie_in_the_grid_and_on_no_other(self):
        taken = {}
        for p in self.panels:
            g = p["gridPos"]
            self.assertLessEqual(g["x"] + g["w"], 24, p["title"])
            for cell in ((x, y) for x in range(g["x"], g["x"] + g["w"])
                         for y in range(g["y"], g["y"] + g["h"])):
                self.assertNotIn(cell, taken, f"{p['title']} on {taken.get(cell)}")
                taken[cell] = p["title"]

    def test_each_panel_has_words_a_unit_and_the_chosen_prometheus(self):
        for p in expressions.panels(self.board):
            self.assertTrue(p["description"].endswith("."), p["title"])
            self.assertIn(p["fieldConfig"]["defaults"]["unit"], UNITS, p["title"])
            self.assertEqual(p["datasource"], {"type": "prometheus", "uid": "${datasource}"})
            self.assertTrue(p["targets"], p["title"])
            refs = [t["refId"] for t in p["targets"]]
            self.assertEqual(len(refs), len(set(refs)), p["title"])

    def test_variables_exist_and_are_used(self):
        names = [v["name"] for v in self.board["templating"]["list"]]
        texts = json.dumps([self.panels, self.board["templating"]])
        used = set(re.findall(r"\$\{?([a-z]\w*)", texts))
        self.assertEqual(used, set(names))
        for p in expressions.panels(self.board):
            for t in p["targets"]:
                self.assertNotIn("$", expressions.as_sent(t["expr"], names), p["title"])
                for selector, *_ in expressions.selectors(t["expr"]):
                    self.assertIn('instance=~"$instance"', selector, p["title"])


class Alerts(unittest.TestCase):
    def setUp(self):
        self.rules = expressions.alerts()

    def test_promtool_accepts_the_configuration_and_the_rules(self):
        for kind, path in (("config", expressions.CONFIG), ("rules", expressions.RULES)):
            code, said = promtool("check", kind, path)
            self.assertEqual(code, 0, said)

    def test_each_alert_has_a_name_a_severity_a_summary_and_a_case(self):
        names = [r["alert"] for r in self.rules]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({c.split(",")[0] for c in alerts.CASES}, set(names))
        for r in self.rules:
            self.assertIn(r["labels"]["severity"], ("critical", "warning"), r["alert"])
            self.assertTrue(r["annotations"]["summary"], r["alert"])

    def evaluated(self, series, name, minutes):
        """What promtool says to the claim that the alert does not fire: (status, what fires)."""
        test = {"rule_files": [expressions.RULES], "evaluation_interval": "15s", "tests": [{
            "interval": "15s",
            "input_series": [{"series": s, "values": v} for s, v in series.items()],
            "alert_rule_test": [{"eval_time": f"{minutes}m", "alertname": name,
                                 "exp_alerts": []}]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            yaml.safe_dump(test, f)
            f.flush()
            code, said = promtool("test", "rules", f.name)
        return code, said.partition("got:[")[2]

    def test_each_alert_fires_for_its_fault_and_for_nothing_near_it(self):
        for case, (minutes, fault, near) in alerts.CASES.items():
            name = case.split(",")[0]
            with self.subTest(case):
                code, fired = self.evaluated(fault, name, minutes)
                self.assertNotEqual(code, 0, "it does not fire")
                self.assertIn(f'alertname="{name}"', fired)
                self.assertNotRegex(fired, "no value|error calling")
                if near:
                    self.assertEqual(self.evaluated(near, name, minutes), (0, ""))


if __name__ == "__main__":
    if shutil.which("promtool") is None:
        print("needs promtool")
        sys.exit(77)
    unittest.main()
