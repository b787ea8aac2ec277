#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each scenario is run without each mechanism that it is `about`, and must miss an expectation.

usage: battery.py WEIR_LAB CONF_LAB NAME...
"""
import json
import pathlib
import re
import subprocess
import sys

LAB, SCENARIOS, NAMES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
# Of these no mechanism can be taken away: they are about what the program does without one.
OF_OTHER_THINGS = {
    "go-back-0": "retransmission", "go-back-n": "retransmission", "hidden-fence": "a fence",
    "impair-icrc": "impairments", "impair-loss": "impairments", "impair-nak": "impairments",
    "impair-reorder": "impairments", "inof-cut": "iNOF", "inof-cut-off": "iNOF",
    "inof-fabric": "iNOF", "inof-hard-zones": "iNOF", "inof-silent": "iNOF", "inof-zone": "iNOF",
    "live-tcp": "WRED", "loop-2-below": "no PAUSE, the control of loop-2-above",
    "loop-4-below": "no PAUSE, the control of loop-4-above", "loop-transient": "TTL",
    "loop-transient-slow": "TTL", "microbursts": "measurement",
    "neighbours": "address resolution", "tcp-rdma-sizes": "slow start",
}


def about(name):
    found = re.search(r"^about: \[(.*)\]$", (SCENARIOS / f"{name}.yaml").read_text(), re.M)
    return re.split(r", *", found.group(1)) if found else []


def missed(name, mechanism):
    done = subprocess.run([LAB, "run", SCENARIOS / f"{name}.yaml", "--quiet", "--json", "--set",
                           f"without={mechanism}"], capture_output=True, text=True, timeout=600)
    if done.returncode > 1:
        sys.exit(done.stderr)
    return [e["expectation"] for e in json.loads(done.stdout)["expectations"] if not e["passed"]]


wrong = []
for name in NAMES:
    if not about(name) and name not in OF_OTHER_THINGS:
        wrong.append(f"{name} does not say what it is about")
    for mechanism in about(name):
        lines = missed(name, mechanism)
        print(f"{name} without {mechanism}: {len(lines)} missed", *lines[:1], sep=": ", flush=True)
        if not lines:
            wrong.append(f"{name} holds without {mechanism}")
print(*wrong, sep="\n")
sys.exit(1 if wrong or not NAMES else 0)
