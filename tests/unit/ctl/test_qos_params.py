#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weirctl plan FILE --sonic` is YAML with the sections and fields of SONiC's qos_params.*.yaml.

usage: test_qos_params.py WEIRCTL SOURCE-ROOT

lab_sonic_params checks that a switch acts at these numbers.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

WEIRCTL, ROOT = sys.argv[1:3]
DOC = os.path.join(ROOT, "docs/coming-from-sonic.md")

XOFF = {"dscp", "ecn", "pg", "pkts_num_trig_pfc", "pkts_num_trig_ingr_drp", "pkts_num_margin",
        "packet_size", "cell_size"}
LOSSY = {"dscp", "ecn", "pg", "pkts_num_trig_egr_drp", "pkts_num_margin", "packet_size",
         "cell_size"}
FIELDS = {
    "xoff_1": XOFF, "xoff_2": XOFF, "wm_pg_headroom": XOFF, "lossy_queue_1": LOSSY,
    "xon_1": XOFF - {"pkts_num_trig_ingr_drp"} | {"pkts_num_dismiss_pfc"},
    "wm_pg_shared_lossless": {"dscp", "ecn", "pg", "pkts_num_fill_min", "pkts_num_trig_pfc",
                              "packet_size", "cell_size"},
    "wm_pg_shared_lossy": LOSSY - {"pkts_num_margin"} | {"pkts_num_fill_min"},
    "wm_q_shared_lossless": {"dscp", "ecn", "queue", "pkts_num_fill_min",
                             "pkts_num_trig_ingr_drp", "packet_size", "cell_size"},
    "wm_q_shared_lossy": LOSSY - {"pkts_num_margin", "pg"} | {"pkts_num_fill_min", "queue"},
    "hdrm_pool_size": {"dscps", "ecn", "pgs", "src_port_ids", "dst_port_id", "pgs_num",
                       "pkts_num_trig_pfc_shp", "pkts_num_hdrm_full", "pkts_num_hdrm_partial",
                       "margin", "packet_size", "cell_size"},
    "ecn_1": {"dscp", "ecn", "num_of_pkts", "limit", "min_limit", "packet_size", "cell_size"},
}
FIELDS["wm_buf_pool_lossless"] = XOFF - {"pkts_num_margin"} | {
    "queue", "pkts_num_fill_ingr_min", "pkts_num_fill_egr_min"}
FIELDS["wm_buf_pool_lossy"] = LOSSY - {"pkts_num_margin"} | {
    "queue", "pkts_num_fill_ingr_min", "pkts_num_fill_egr_min"}
FIELDS["xon_2"] = FIELDS["xon_1"]

POLICY = """
switch: {name: t, buffer: {size: 1MB, cell: %s}}
ports:
  - {name: "p[1-3]", device: "wire:w[1-3]", speed: 10G, cable: 2.5m, mtu: 1500, profile: x}
%s
profiles:
  x:
    %s
    classes:
      3: {lossless: true, ingress: {headroom: 20KB}%s}
"""


def plan(path, *more):
    return subprocess.run([WEIRCTL, "plan", path, "--sonic", *more], capture_output=True, text=True,
                          timeout=60, check=False)


def plan_of(ports="", profile="trust: dscp", cls="", cell="256B"):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(POLICY % (cell, ports, profile, cls))
        f.flush()
        return plan(f.name)


def profiles(text):
    return yaml.safe_load(text)["qos_params"]["weir"]["topo-any"]


class QosParams(unittest.TestCase):
    def check_section(self, name, section):
        if name == "wrr":
            self.assertEqual({k for k in section if not re.fullmatch(r"q[0-7]_num_of_pkts", k)},
                             {"ecn", "limit"})
        else:
            self.assertEqual(set(section), FIELDS[name], name)
        for key, v in section.items():
            numbers = v if isinstance(v, list) else [v]
            self.assertTrue(all(isinstance(n, int) and n >= 0 for n in numbers), (name, key, v))

    def test_every_policy_has_sections_that_sonic_knows(self):
        paths = glob.glob(os.path.join(ROOT, "conf/*.yaml"))
        self.assertGreater(len(paths), 5)
        some = set()
        for path in paths:
            r = plan(path)
            self.assertEqual(r.returncode, 0, r.stderr)
            for name, profile in profiles(r.stdout).items():
                self.assertRegex(name, r"^\d+_[\d.]+m(_\w+)?$")
                self.assertEqual(profile.pop("pkts_num_leak_out"), 0)
                self.assertGreater(profile.pop("cell_size"), 0)
                for section, rows in profile.items():
                    self.check_section(section, rows)
                some |= set(profile)
        self.assertLess({"xoff_1", "xoff_2", "xon_1", "wm_pg_headroom", "wrr", "ecn_1",
                         "wm_q_shared_lossy"}, some)

    def test_ports_of_one_speed_and_cable_share_a_profile_unless_they_differ(self):
        other = ('  - {name: q1, device: "wire:v1", speed: 10G, cable: 2.5m, mtu: 1500, '
                 'profile: x, classes: {3: {ingress: {alpha: 1/8}}}}\n'
                 '  - {name: q2, device: "wire:v2", speed: 25G, cable: 2.5m, mtu: 1500, '
                 'profile: x}')
        r = plan_of(other)
        self.assertEqual(list(profiles(r.stdout)), ["10000_2.5m", "10000_2.5m_q1", "25000_2.5m"],
                         r.stderr)
        self.assertIn("# ports: p1 p2 p3\n", r.stdout)
        self.assertIn("# ports: q1\n", r.stdout)

    def test_what_has_no_number_is_a_comment(self):
        for profile, cls, why in (
                ("trust: dscp", ", wred: {ecn: off, kmin: 10KB, kmax: 20KB, pmax: 50%, "
                 "not_ect: drop}", "# class 3: WRED drops packets before the buffer is full"),
                ("pfc: {tx: off}", "", "# class 3: the class sends no PFC"),
                ("trust: port", "", "# class 3: no code point has the class")):
            r = plan_of("", profile, cls)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(why + "\n", r.stdout)
            self.assertNotIn("xoff_1", profiles(r.stdout)["10000_2.5m"], why)

    def test_no_packet_is_longer_than_the_port_takes(self):
        r = plan_of(cls=", wred: {ecn: on, kmin: 5KB, kmax: 9KB, pmax: 50%}", cell="4096B")
        [profile] = profiles(r.stdout).values()
        self.assertIn("wm_pg_shared_lossy", profile, r.stderr)
        self.assertFalse({"wm_q_shared_lossless", "wm_q_shared_lossy", "ecn_1"} & set(profile))

    def test_the_code_point_is_the_one_that_the_port_trusts(self):
        for trust, mark in (("dscp", 24), ("pcp", 3)):
            r = plan_of("", f"trust: {trust}")
            self.assertEqual(profiles(r.stdout)["10000_2.5m"]["xoff_1"]["dscp"], mark, r.stderr)

    def test_a_mistake_is_reported_as_of_every_plan(self):
        r = plan_of("", "trust: cisco")
        self.assertEqual((r.returncode, r.stdout), (2, ""))
        self.assertIn("profiles.x.trust", r.stderr)
        r = plan(os.path.join(ROOT, "conf/roce.yaml"), "--json")
        self.assertEqual(r.returncode, 2)
        self.assertIn("plan --sonic prints YAML", r.stderr)

    def test_the_sample_in_the_docs_is_what_is_printed(self):
        with open(DOC, encoding="utf-8") as f:
            sample = re.search(r"plan conf/roce.yaml --sonic\n\n((?: {4}.*\n|\n)+)", f.read())
        self.assertIsNotNone(sample)
        out = plan(os.path.join(ROOT, "conf/roce.yaml")).stdout
        lines = [line[4:] for line in sample.group(1).strip("\n").split("\n")]
        for part in "\n".join(lines).split("\n...\n"):
            self.assertIn(part + "\n", out)


unittest.main(argv=sys.argv[:1], verbosity=2)
