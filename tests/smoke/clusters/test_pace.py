#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How much faster two Dask workers are than one, in pairs of sweeps. A machine with less than two
free processors cannot show it, so it is of the suite perf.

usage: test_pace.py WEIR_LAB ROOT [PAIRS]
"""
import json
import os
import statistics
import subprocess
import sys
import time

from test_clusters import LAB, ON, ROOT, SWEEP, Cluster, own_network

PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
AT_LEAST = 1.6
RUNS = 24
SCENARIO = str(ROOT / "conf/lab/curve-grid.yaml")


def seconds(n_workers, cluster):
    """Of a sweep whose workers are there before it begins."""
    seeds = ",".join(str(s + 1) for s in range(RUNS))
    command = ["/usr/bin/python3", "-EsB", SWEEP, "--digits=4", "--json", "--set=expect=[]",
               "--on", ON, f"--vary=seed={seeds}", "--", LAB, SCENARIO]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=cluster.env)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{n_workers} workers: exit {done.returncode}\n{done.stderr}")
    return took, done.stdout


def sweep_with(n_workers):
    with Cluster(n_workers) as cluster:
        seconds(n_workers, cluster)  # workers have started, files are hashed and cached
        return seconds(n_workers, cluster)


def main():
    ratios = []
    for _ in range(PAIRS):
        one, two = sweep_with(1), sweep_with(2)
        if one[1] != two[1]:
            sys.exit("two workers gave other bytes than one")
        ratios.append(one[0] / two[0])
        print(json.dumps({"one_s": one[0], "two_s": two[0], "ratio": ratios[-1]}), flush=True)
    median = statistics.median(ratios)
    print(f"median {median:.2f} of {PAIRS} pairs, {os.cpu_count()} processors")
    sys.exit(median < AT_LEAST)


own_network()
main()
