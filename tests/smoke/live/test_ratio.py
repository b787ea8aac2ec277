#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TCP through the switch against TCP through `testpmd`, which forwards blindly between the same two
veths.

usage: test_ratio.py BUILD_DIR [LEAST_RATIO]

Rounds of both, one after the other and in turns first, because a busy machine drifts; the medians
count. Prints both figures as JSON. Five rounds decide on a quiet machine; where they fall short
five more are added, so that a neighbour's compiler alone cannot fail it.
"""
import json
import statistics
import sys
import time

import live
from live import want

LEAST_RATIO = float(sys.argv[2]) if len(sys.argv) > 2 else 0.8
BATCHES, ROUNDS = 4, 5
SECONDS = "2"
POLICY = """\
switch: {name: %s, buffer: {size: 12MB}}
ports: [{name: "p[1-2]", device: "xdp:sw[1-2]", speed: 100G, mtu: 1500}]
"""


def tcp_mbps(world):
    listener = world.spawn("h2", "iperf3", "iperf3", "-s", "-1", "--forceflush")
    end = time.monotonic() + 10
    while "listening" not in listener.out() and time.monotonic() < end:
        time.sleep(0.05)
    try:
        done = world.run("h1", "iperf3", "-J", "-c", "10.9.0.2", "-t", SECONDS, "-O", "0.5",
                         check=False, timeout=30)
        report = json.loads(done.stdout)
        want("error" not in report, f"iperf3: {report.get('error')}")
        return report["end"]["sum_received"]["bits_per_second"] / 1e6
    finally:
        listener.kill()


def through_weir(world, programs):
    switch = Switch(world, programs, switch_name(), POLICY % switch_name())
    try:
        return tcp_mbps(world)
    finally:
        switch.stop()


def through_testpmd(world, _):
    """The same kind of memory as weir takes: hugepages where there are enough."""
    memory = ["--in-memory"] if free_hugepages() >= 160 else ["--no-huge"]
    ports = [f"--vdev=net_af_xdp{i},iface=sw{i + 1},busy_budget=0" for i in (0, 1)]
    testpmd = world.spawn("sw", "testpmd", "dpdk-testpmd", "-l", "0,1", *memory, "-m", "256",
                          "--no-pci", "--no-telemetry", *ports, "--", "--forward-mode=io",
                          "--auto-start", "--stats-period=1000")
    end = time.monotonic() + 30
    while "NIC statistics" not in testpmd.out() and testpmd.running() and time.monotonic() < end:
        time.sleep(0.1)
    want(testpmd.running(), f"testpmd ended\n{testpmd.said()}")
    try:
        return tcp_mbps(world)
    finally:
        testpmd.stop()


def free_hugepages():
    with open("/proc/meminfo") as f:
        return next((int(line.split()[1]) for line in f if line.startswith("HugePages_Free")), 0)


def play(world, programs, rounds, weir, testpmd):
    for i in range(rounds):
        turns = [(through_weir, weir), (through_testpmd, testpmd)]
        for run, figures in turns if i % 2 == 0 else reversed(turns):
            figures.append(run(world, programs))


def tcp_reaches_most_of_what_blind_forwarding_reaches():
    weir, testpmd = [], []
    programs = Programs(sys.argv[1])
    with World(2) as world:
        for i in (1, 2):
            world.run(f"h{i}", "ip", "addr", "add", f"10.9.0.{i}/24", "dev", f"e{i}")
        for _ in range(BATCHES):
            play(world, programs, ROUNDS, weir, testpmd)
            ratio = statistics.median(weir) / statistics.median(testpmd)
            if ratio >= LEAST_RATIO:
                break
    print(json.dumps({"weir_tcp_mbps": round(statistics.median(weir)),
                      "testpmd_io_tcp_mbps": round(statistics.median(testpmd)),
                      "ratio": round(ratio, 3), "rounds": len(weir),
                      "weir": [round(v) for v in weir], "testpmd": [round(v) for v in testpmd]}))
    want(ratio >= LEAST_RATIO, f"the ratio is {ratio:.2f}, at least {LEAST_RATIO} is wanted")


live.need_root("iperf3", "dpdk-testpmd")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

sys.exit(live.run_tests([tcp_reaches_most_of_what_blind_forwarding_reaches]))
