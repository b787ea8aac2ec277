#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A switch that the machine cannot hold is refused with one sentence that names the cure.

usage: test_limits.py [-h] WEIR WEIRCTL

Needs root; exits 77 without.
"""
import resource
import subprocess
import sys
import tempfile

from harness import main, want

POLICY = """\
switch: {name: limits, %s}
ports:
  - {name: p1, device: "vdev:net_ring1", speed: 1G, mtu: 1500}
"""


def available_mb():
    with open("/proc/meminfo") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("MemAvailable")) // 1024


def run(program, *args, switch, policy=POLICY, seconds=20, **kw):
    """Exit status and output; a switch that runs is stopped."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(policy % switch)
        file.flush()
        p = subprocess.Popen([program, *args, file.name], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, **kw)
        lines = []
        for line in p.stdout:
            lines.append(line)
            if line == "ready\n":
                p.terminate()
        return p.wait(seconds), "".join(lines)


def more_memory_than_is_free_is_refused(args):
    size = "buffer: {size: 1GB, cell: 32B}" # 150 GB of ordinary pages
    want(available_mb() < 150000, "the machine is too large for this test")
    status, text = run(args.weir, "--allow-vdev", "-c", switch=size)
    want(status == 1, f"exit {status}: {text}")
    want(text.startswith("weir: not enough memory: ") and text.count("\n") == 1, text)
    for cure in ("switch.buffer.size smaller", "switch.buffer.cell larger", "nr_hugepages"):
        want(cure in text, text)


def rings_that_take_more_memory_than_is_free_are_refused(args):
    want(available_mb() < 66000, "the machine is too large for this test")
    policy = """\
switch: {name: limits, %s}
ports: [{name: "p[1-512]", device: "xdp:none[1-512]", speed: 1G, mtu: 9000, rx_ring: 32768,
    optional: on}]
"""
    status, text = run(args.weir, "-c", switch="buffer: {size: 1MB}", policy=policy)
    want(status == 1, f"exit {status}: {text}")
    want("not enough memory: the rings of the xdp: ports take 66048 MB" in text and
         "make rx_ring or tx_ring of the ports smaller" in text, text)


def forty_workers_have_rings_between_them(args):
    """1,560 of them with a flow table, and DPDK has 2,560 named areas of memory in all."""
    status, text = run(args.weir, "--allow-vdev", "-c", switch="workers: 40, flows: {max: 1024}")
    want(status == 0 and "\nready\n" in text, f"exit {status}: {text}")


def a_low_limit_of_open_files_is_raised_or_named(args):
    def lower():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))

    status, text = run(args.weir, "--allow-vdev", "-c", switch="buffer: {size: 1MB}",
                       preexec_fn=lower)
    want("Cannot allocate memory" not in text, text)
    # Without CAP_SYS_RESOURCE nobody may raise it.
    want((status == 0 and "\nready\n" in text) or (status == 1 and "`ulimit -n 272`" in text), text)


def a_virtual_device_needs_a_word_of_the_operator(args):
    """A policy may come from elsewhere, and DPDK's net_pcap writes any file as root. DPDK takes it
    by its name alone, so a pci: device with this name is none."""
    for kind, words in (("vdev", ("port p1 ", "net_pcap0", "--allow-vdev")),
                        ("pci", ("ports[0] (p1).device", "net_pcap0", "pci:ADDRESS"))):
        with tempfile.TemporaryDirectory() as folder:
            victim = f"{folder}/victim"
            with open(victim, "w") as f:
                f.write("of root\n")
            pcap = f"{kind}:net_pcap0,rx_iface=lo,tx_pcap={victim}"
            policy = POLICY.replace("vdev:net_ring1", pcap)
            status, text = run(args.weir, "-c", switch="buffer: {size: 1MB}", policy=policy)
            with open(victim, "rb") as f:
                want(f.read() == b"of root\n", "the file is as it was")
        want(status == 2 and text.count("\n") == 1, f"exit {status}: {text}")
        for word in words:
            want(word in text, text)


TESTS = [more_memory_than_is_free_is_refused,
         rings_that_take_more_memory_than_is_free_are_refused,
         a_virtual_device_needs_a_word_of_the_operator,
         forty_workers_have_rings_between_them, a_low_limit_of_open_files_is_raised_or_named]


sys.exit(main(__doc__, TESTS, "weir", "weirctl"))
