#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole fabrics with the quick ways of switches and NICs, and without them: every file that a run
writes must be the same, with the captured frames.

    same_without_quick_ways.py WITH WITHOUT ROOT

WITH and WITHOUT are two programs weir-lab. Exit 0 all alike, 1 not.
"""
import os
import subprocess
import sys
import tempfile

# Paced senders, pauses, losses with both ways to repeat, READ, TCP, a slow receiver, notifications.
SCENARIOS = {
    "first": "s1.p1", "two-senders-pfc": "s1.p3", "hidden-fence": None, "go-back-n": None,
    "go-back-0": None, "ipcc-read": None, "tcp-beside-rdma": None, "slow-receiver": None,
    "np-capacity": None, "storm-timing": None, "marking-dense": None,
}


def results(program, root, name, captured, out):
    more = ["--set", f"record.capture=[{captured}]"] if captured else []
    run = subprocess.run([program, "run", f"{root}/conf/lab/{name}.yaml", "--quiet", "--out", out,
                          *more], capture_output=True, text=True, timeout=120, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{program} {name}: exit {run.returncode}\n{run.stderr}")
    files = {f: open(os.path.join(out, f), "rb").read() for f in sorted(os.listdir(out))
             if os.path.isfile(os.path.join(out, f))}
    if captured and len(files.get("capture.pcapng", b"")) < 1000:
        sys.exit(f"{program} {name}: the capture is empty")
    return run.returncode, files


def main():
    quick, slow, root = map(os.path.abspath, sys.argv[1:4])
    bad = 0
    for name, captured in SCENARIOS.items():
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            x = results(quick, root, name, captured, a)
            y = results(slow, root, name, captured, b)
        wrong = sorted(f for f in x[1].keys() | y[1].keys() if x[1].get(f) != y[1].get(f))
        if x[0] != y[0] or wrong:
            bad = 1
        print(f"{name}: {'differs in ' + ', '.join(wrong) if wrong else 'same'}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
