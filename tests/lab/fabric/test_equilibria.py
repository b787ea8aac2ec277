#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The mean queue of N DCQCN senders at 40 Gb/s, with both readings of the notification point.

usage: test_equilibria.py WEIR_LAB ROOT SEEDS

The expected figures are those of an independent packet simulator with the same parameters. From ten
senders on, chance decides how the queue swings, so the mean over SEEDS seeds is compared.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

WEIR_LAB, ROOT = sys.argv[1:3]
SEEDS = ",".join(str(s) for s in range(1, 1 + int(sys.argv[3])))
EXPECTED = {  # senders: KB
    "window": {2: 19.5, 4: 42.8, 8: 85, 10: 80, 16: 66, 20: 66},
    "gap": {2: 27.5, 4: 59, 8: 125, 10: 156, 16: 190, 20: 193},
}
SCENARIO = """\
scenario: equilibria
duration: 400ms
sample: 1us
policy: %(root)s/conf/roce.yaml
override:
  switch: {buffer: {size: 32MiB}}
  profiles: {roce: {classes: {3: {wred: {kmin: 5KB, kmax: 200KB, pmax: 1%%}}}}}
hosts: {"h[1-%(ports)d]": {nic: {cc: {preset: paper%(np)s}}}}
switches: {s1: {ports: %(ports)d}}
links: [{between: ["h[1-%(ports)d]", "s1.p[1-%(ports)d]"], speed: 40G, delay: 1us}]
flows: [{from: "h[1-%(senders)d]", to: h%(ports)d, class: 3, mtu: 1000}]
expect: ["queue(s1.p%(ports)d.3, 100ms, 400ms) < 1MB", pauses == 0]
"""


def queues(folder, senders, np):
    """The mean queue of each seed, in KB."""
    path = os.path.join(folder, "scenario.yaml")
    with open(path, "w") as f:
        # The default of the preset is the paper's reading.
        f.write(SCENARIO % {"root": ROOT, "ports": senders + 1, "senders": senders,
                            "np": "" if np == "window" else f", np: {np}"})
    done = subprocess.run([WEIR_LAB, "sweep", path, "--vary", f"seed={SEEDS}", "--json", "--quiet"],
                          stdout=subprocess.PIPE, check=True, text=True)
    return [run["values"][0]["value"] / 1e3 for run in json.loads(done.stdout)["runs"]]


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for np, expected in EXPECTED.items():
            for senders, kb in expected.items():
                seeds = queues(folder, senders, np)
                mean, allowed = statistics.mean(seeds), 0.05 if senders <= 8 else 0.1
                off = mean / kb - 1
                wrong += abs(off) > allowed
                print(f"{np} {senders} senders: expected {kb} KB, mean of {len(seeds)} seeds"
                      f" {mean:.1f} KB ({off:+.1%}), from {min(seeds):.1f} to {max(seeds):.1f}"
                      f"{' WRONG' * (abs(off) > allowed)}", flush=True)
    return 1 if wrong else 0


sys.exit(main())
