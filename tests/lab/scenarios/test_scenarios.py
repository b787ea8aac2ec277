#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The scenarios of conf/lab as a set: all are tests, each says where its figures come from, what
they expect can fail, runs repeat to the byte, the plan of a policy says what will come of it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LAB, CTL, ROOT, NAMES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4].split()
SCENARIOS = ROOT / "conf/lab"
MIX = ROOT / "tests/lab/scenarios/mix.yaml"
DATA = "report.json", "series.csv", "flows.csv"


def lab(*args):
    return subprocess.run([LAB, *map(str, args)], capture_output=True, text=True, timeout=250)


def report(name, *sets):
    """Runs a scenario with changes; exit code and report."""
    changes = [word for s in sets for word in ("--set", s)]
    done = lab("run", SCENARIOS / f"{name}.yaml", "--quiet", "--json", *changes)
    return done.returncode, json.loads(done.stdout), done


def failed(result):
    return [e["expectation"] for e in result["expectations"] if not e["passed"]]


# Two inputs with a threshold of 40 KB each: the policy of kmin-*-xoff as a file of its own.
PLAN = """
switch: {{name: s1, buffer: {{size: 12MB, cell: 256B}}}}
ports:
  - {{name: "p[1-3]", device: "xdp:sw[1-3]", speed: 40G, mtu: 1500, cable: 5m, profile: roce}}
profiles:
  roce:
    dscp_to_class: {{default: 0, 24-31: 3, 48-55: 6}}
    classes:
      0: {{schedule: {{dwrr: 50}}}}
      3:
        lossless: true
        schedule: {{dwrr: 50}}
        ingress: {{min: 0B, static: 40KB, xon_offset: 6KB, headroom: auto}}
        wred: {{ecn: on, kmin: {kmin}, kmax: {kmax}, pmax: 100%}}
      6: {{schedule: strict}}
"""
WARNING = "PFC can pause before ECN marks"


# A message in some 17 minutes: in a millisecond none.
IDLE = f"""
scenario: idle
policy: {ROOT}/conf/roce.yaml
duration: 1ms
switches: {{s1: {{ports: 2}}}}
hosts: {{"h[1-2]": {{nic: {{speed: 10G}}}}}}
links: [{{between: ["h[1-2]", "s1.p[1-2]"], speed: 10G, length: 5m}}]
flows: [{{from: h1, to: h2, pattern: poisson, load: 0.0001%, size: 1GB}}]
expect: [lossless_drops == 0]
"""


class Scenarios(unittest.TestCase):
    def test_a_run_without_a_frame_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "idle.yaml"
            path.write_text(IDLE)
            done = lab("run", path, "--quiet")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("no frame was sent: the run shows nothing", done.stdout)
            self.assertIn("FAIL: 1 of 1 expectations hold", done.stdout)
            path.write_text(IDLE.replace("0.0001%", "90%").replace("1GB", "10KB"))
            done = lab("run", path, "--quiet")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_file_is_a_test(self):
        files = [*SCENARIOS.glob("*.yaml"), *SCENARIOS.glob("models/*.yaml")]
        self.assertEqual(sorted(str(p.relative_to(SCENARIOS))[:-5] for p in files), sorted(NAMES))

    def test_every_workload_that_is_held_out_loads(self):
        for path in SCENARIOS.glob("held-out/*.yaml"):
            with self.subTest(path.stem):
                self.assertEqual(lab("check", path).returncode, 0)

    def test_every_file_loads_has_its_own_name_and_expects_that_nothing_lossless_is_lost(self):
        # Between switches action `forward` goes on sending into a full buffer: that is told. A
        # host without PFC in the class does not obey.
        loses = ("loop-2-forward", "loop-4-forward", "ring-forward", "dcbx-auto",
                 "dcbx-mismatch")
        for name in NAMES:
            text = (SCENARIOS / f"{name}.yaml").read_text()
            with self.subTest(name):
                self.assertEqual(lab("check", SCENARIOS / f"{name}.yaml").returncode, 0)
                called = "two-senders-one-receiver" if name == "first" else \
                    name.replace("models/", "model-")
                self.assertIn(f"\nscenario: {called}\n", text)
                lost = r"drops\(headroom-overrun\)" if name in loses else "0"
                self.assertRegex(
                    text, rf"(?m)^  - (lossless_)?drops(\(s1\.p[12]\.3\))? == {lost}$")
                self.assertIn("\ndescription: ", text)

    def test_senders_that_ignore_pfc_make_the_incast_lose_and_the_run_fail(self):
        code, result, done = report("incast", 'hosts."h*".nic={deaf: on}', "duration=5ms",
                                    "expect=[lossless_drops == 0]")
        self.assertEqual(code, 1, done.stderr)
        self.assertIn("lossless_drops == 0", failed(result))
        self.assertGreater(result["lossless_drops"], 0)
        first = result["first_lossless_drop"]
        self.assertEqual((first["switch"], first["class"]), ("s1", 3))

    def test_a_failed_expectation_shows_expected_measured_and_tolerance(self):
        name = "two-senders-pfc"
        done = lab("run", SCENARIOS / f"{name}.yaml", "--quiet", "--set",
                   'override.profiles.two.classes.5.schedule={dwrr: 10}')
        self.assertEqual(done.returncode, 1)
        line = next(l for l in done.stdout.splitlines() if "FAIL" in l and "of 5.15G" in l)
        words = line.split()
        self.assertEqual((words[-3], words[-1]), ("5.15G", "+-3%"))
        self.assertRegex(words[-2], r"^4\.\d+G$")
        self.assertRegex(done.stdout, r"(?m)^FAIL: \d of 7 expectations hold$")

    def test_without_dcqcn_nothing_converges(self):
        code, result, _ = report("convergence", 'hosts."h[1-9]".nic.cc=none')
        self.assertEqual(code, 1)
        self.assertIn("pauses == 0", failed(result))

    def test_the_parameters_of_qcn_fail_what_those_of_the_paper_hold(self):
        code, result, _ = report("convergence", 'hosts."h[1-9]".nic.cc=qcn')
        self.assertEqual(code, 1)
        self.assertIn("jain(rate(h[1-2]), 40ms, 80ms) >= 0.98", failed(result))

    def test_the_plan_had_said_which_of_pfc_and_ecn_comes_first(self):
        for name, kmin, kmax, verdict in (("kmin-above-xoff", "150KB", "300KB", "no"),
                                          ("kmin-below-xoff", "12KB", "162KB", "marginal")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "policy.yaml"
                path.write_text(PLAN.format(kmin=kmin, kmax=kmax))
                done = subprocess.run([CTL, "plan", "--json", path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                groups = [g for g in json.loads(done.stdout)["pgs"] if g["class"] == 3]
                self.assertEqual([g["ecn_before_pfc"] for g in groups], [verdict] * 3)
                # The scenario has the very same numbers, and is told the same.
                text = (SCENARIOS / f"{name}.yaml").read_text()
                self.assertIn(f"wred: {{kmin: {kmin}, kmax: {kmax}, pmax: 100%}}", text)
                self.assertIn("ingress: {min: 0B, alpha: ~, static: 40KB, xon_offset: 6KB}", text)
                checked = lab("check", SCENARIOS / f"{name}.yaml")
                self.assertEqual(WARNING in checked.stderr, verdict == "no", checked.stderr)

    def test_an_incast_of_2_to_32_loses_nothing_and_is_fair(self):
        done = lab("sweep", SCENARIOS / "incast.yaml", "--quiet", "--jobs", "1", "--vary",
                   "params.n=2,8,32", "--set", "duration=30ms", "--set",
                   'expect=[lossless_drops == 0, "xoffs(s1.p[1-$n].3) > 0", '
                   '"utilisation(s1.p$ports, 10ms, 30ms) >= 99%", '
                   '"slowdown(incast, max) <= $n + 1", '
                   '"slowdown(incast, min) >= 0.95 * slowdown(incast, max)"]')
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("PASS"), 3)

    def test_all_that_draws_lots_repeats_to_the_byte_and_follows_the_seed(self):
        def run(seed):
            with tempfile.TemporaryDirectory() as folder:
                done = lab("run", MIX, "--quiet", "--seed", seed, "--out", folder)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return [pathlib.Path(folder, name).read_bytes() for name in DATA]
        first, again, other = run(1), run(1), run(2)
        self.assertEqual(first, again)
        for name, a, b in zip(DATA, first, other):
            self.assertNotEqual(a, b, name)


unittest.main(argv=sys.argv[:1])
