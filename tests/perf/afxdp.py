# SPDX-License-Identifier: Apache-2.0
"""AF_XDP on a veth pair, Weir against testpmd: cycles of loops that moved a frame, per packet.

The generator shares the machine and the kernel works on both sides of a veth, so a packet rate says
little here; busy cycles of the one polling core compare like with like. How many frames a loop
finds, and whether the kernel hands them on at once, changes from one moment to the next and with it
what a frame costs, so the best window is luck. The median of several turns counts, each of which is
the median of its windows.
"""
import os
import statistics

import tools # noqa: F401: sets the path
from peers import lcores, testpmd, testpmd_command
from tools import Program, eal_memory
from world import World

WINDOW_S = 0.02
ETH_HLEN = 14
TESTPMD_MAX_FRAME = 3000


def generator(world, folder, cpus, frame):
    """Plays the traffic of p0 into the first host's end of its link."""
    # The driver wants blocks without a gap between their frames, so a long frame fills one.
    sizes, mbuf, n = (",framesz=12288,blocksz=12288", 12544, 4096) if frame > 2000 else \
        ("", 2176, 8192)
    log = os.path.join(world.logs, "generator.log")
    command = ["dpdk-testpmd", "--lcores", lcores(cpus[::-1], 1), *eal_memory(128), "--no-pci",
               "--no-telemetry", f"--vdev=net_pcap0,rx_pcap={folder}/p0.pcap,infinite_rx=1",
               "--vdev=net_af_packet0,iface=e1,qdisc_bypass=1" + sizes, "--", "--forward-mode=io",
               "--auto-start", f"--total-num-mbufs={n}", f"--mbuf-size={mbuf}",
               "--stats-period=1000"]
    return Program(log, world.inside("h1", *command))


def weir(bench, world, windows, frame):
    found = bench.run("--queue", "shallow", "--device", "xdp:sw1", "--device", "xdp:sw2",
                      "--frame", frame, "--round-us", int(WINDOW_S * 1e6), "--rounds", windows,
                      prefix=world.inside("sw"))["shallow"]
    return {"median": found["busy_cycles_per_packet_median"],
            "per_loop": found["packets_per_busy_loop"], "dropped": found["dropped"]}


def blind(bench, world, windows):
    devices = [f"net_af_xdp{i},iface=sw{i + 1},busy_budget=0" for i in (0, 1)]
    return testpmd(os.path.join(world.logs, "testpmd.log"),
                   testpmd_command("io", devices, bench.cpus, mbufs=32768), windows, WINDOW_S,
                   prefix=world.inside("sw"))


def middle(turns, figure):
    return statistics.median(turn[figure] for turn in turns)


def measure(bench, folder, windows, n_turns, frame):
    """The two programs in turns, under the same load. testpmd knows no frame of several buffers."""
    turns = []
    long = frame > TESTPMD_MAX_FRAME
    with World(2, mtu=max(1500, frame - ETH_HLEN)) as world, \
            generator(world, folder, bench.cpus, frame) as load:
        load.wait_for("NIC statistics", "the start of the generator")
        for _ in range(n_turns):
            turns.append((weir(bench, world, windows, frame),
                          {} if long else blind(bench, world, windows)))
    ours, theirs = zip(*turns)
    found = {"cycles": middle(ours, "median"), "per_loop": middle(ours, "per_loop"),
             "dropped": sum(t["dropped"] for t in ours), "turns": turns}
    return found if long else {**found, "io": middle(theirs, "median")}
