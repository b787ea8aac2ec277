#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `weir --selftest` says of ports that are fine, and of ports that are not.

usage: test_selftest.py WEIR PORTLOOP [TEST...]

    ns sw:  sta ------ stb        joined by a veth; or with a bridge in ns mid between them

Needs root; exit 77 without it. Makes namespaces of its own and removes them.
"""
import json
import os
import subprocess
import sys
import time
import traceback

WEIR, PORTLOOP = sys.argv[1:3]
ID = "ws"
SW, MID = f"{ID}s", f"{ID}m"
SHAPES = ["rocev2_smallest", "rocev2_largest", "vlan", "lldp", "pfc"]
TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


def sh(*cmd, check=True):
    done = subprocess.run(cmd, capture_output=True, text=True, timeout=60)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(cmd)}: {done.stderr}")
    return done


def inside(ns, *cmd, **kw):
    return sh("ip", "netns", "exec", ns, *cmd, **kw)


def selftest(*args):
    return inside(SW, WEIR, "--selftest", *args, check=False)


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def findings(*args, status):
    done = selftest(*args, "--json")
    equal(done.returncode, status, f"exit status, {done.stdout}{done.stderr}")
    out = json.loads(done.stdout)
    equal(out["failed"], sum(c["verdict"] == "failed" for c in out["checks"]), "failed")
    return {(c["device"], c["check"]): (c["verdict"], c["text"]) for c in out["checks"]}


def expect(found, device, check, verdict, text):
    got = found.get((device, check))
    equal(got and got[0], verdict, f"{device} {check} {got}")
    if text not in got[1]:
        raise AssertionError(f"{device} {check}: {text!r} is not in {got[1]!r}")


class Joined:
    """Two ends of one veth in the namespace of the switch."""

    def __init__(self, mtu=1500, queues=1):
        self.mtu, self.queues = mtu, queues

    def __enter__(self):
        q = str(self.queues)
        sh("ip", "-n", SW, "link", "add", "sta", "mtu", str(self.mtu), "numrxqueues", q,
           "numtxqueues", "1", "type", "veth", "peer", "name", "stb", "mtu", str(self.mtu),
           "numrxqueues", "1", "numtxqueues", q)

    def __exit__(self, *exc):
        sh("ip", "-n", SW, "link", "del", "sta")


class Bridged:
    """A Linux bridge between the two, which keeps PFC and LLDP frames as many a NIC does."""

    def __enter__(self):
        sh("ip", "netns", "add", MID)
        sh("ip", "-n", MID, "link", "add", "br0", "type", "bridge")
        for name in ("sta", "stb"):
            sh("ip", "-n", SW, "link", "add", name, "type", "veth", "peer", "name", f"m{name}",
               "netns", MID)
            sh("ip", "-n", MID, "link", "set", f"m{name}", "master", "br0", "up")
        sh("ip", "-n", MID, "link", "set", "br0", "up")

    def __exit__(self, *exc):
        for name in ("sta", "stb"):
            sh("ip", "-n", SW, "link", "del", name)
        sh("ip", "netns", "del", MID)


# ---- ports that are fine

@test
def two_joined_ports_pass_every_check_both_ways():
    with Joined():
        found = findings("xdp:sta", "xdp:stb", status=0)
        equal({v for v, _ in found.values()}, {"ok"}, f"verdicts {found}")
        for a, b in (("xdp:sta", "xdp:stb"), ("xdp:stb", "xdp:sta")):
            for shape in SHAPES:
                expect(found, a, shape, "ok", f"arrives at {b} unchanged")
            expect(found, a, "pause", "ok", f"a PAUSE from {b} is seen ")
            expect(found, a, "pause", "ok", "before its frame is received")
            expect(found, a, "driver", "ok", "its driver is veth")
            expect(found, a, "open", "ok", "native XDP, and the kernel copies each frame")
            expect(found, a, "mtu", "ok", "MTU is 1500, so the largest frame has 1522 bytes")
            expect(found, a, "rx_depth", "ok", "rx_guard works")
        shown = sh("ip", "-n", SW, "-d", "link").stdout
        equal("prog/xdp" in shown, False, "a program stays behind")


@test
def text_has_one_sentence_for_each_finding():
    with Joined():
        done = selftest("xdp:sta", "xdp:stb")
        lines = done.stdout.splitlines()
        equal((done.returncode, lines[-1]), (0, "nothing failed"), "end")
        equal({line[:13] for line in lines[:-1]}, {"ok           "}, "verdicts")
        equal(len(lines) - 1, len(findings("xdp:sta", "xdp:stb", status=0)), "sentences")


@test
def one_port_without_a_loop_cannot_tell_about_frames():
    with Joined():
        sh("ip", "-n", SW, "link", "set", "stb", "up")
        found = findings("xdp:sta", status=0)
        expect(found, "xdp:sta", "loop", "cannot tell", "no frame that it sends comes back")
        expect(found, "xdp:sta", "pfc_rx", "ok", "veth is known to pass PFC frames")
        equal([s for s in SHAPES if ("xdp:sta", s) in found], [], "shapes")


@test
def one_port_with_a_loop_tests_itself():
    found = findings("vdev:net_ring0", status=1)
    for shape in SHAPES:
        expect(found, "vdev:net_ring0", shape, "ok", "arrives at vdev:net_ring0 unchanged")
    expect(found, "vdev:net_ring0", "pause", "ok", "when its frame is received")
    expect(found, "vdev:net_ring0", "rx_depth", "failed", "rx_guard is off")
    equal([k[1] for k, v in found.items() if v[0] == "failed"], ["rx_depth"], "failed")


@test
def an_interface_with_an_address_is_tested():
    with Joined():
        sh("ip", "-n", SW, "addr", "add", "192.0.2.1/24", "dev", "sta")
        found = findings("xdp:sta", "xdp:stb", status=0)
        expect(found, "xdp:sta", "open", "ok", "native XDP")


# ---- ports that are not

@test
def what_a_path_loses_or_changes_is_found():
    with Bridged():
        found = findings("xdp:sta", "xdp:stb", status=1)
        for a in ("xdp:sta", "xdp:stb"):
            expect(found, a, "rocev2_smallest", "ok", "unchanged")
            expect(found, a, "rocev2_largest", "ok", "unchanged")
            expect(found, a, "vlan", "failed", "without its tag; `ethtool -K PEER txvlan off`")
            expect(found, a, "lldp", "failed", "does not arrive")
            expect(found, a, "pfc", "failed", "does not arrive")
            expect(found, a, "pfc_rx", "cannot tell", "PFC frames got lost on the way to")
            expect(found, a, "pfc_tx", "cannot tell", "PFC frames got lost on the way from")
        for name in ("msta", "mstb"):
            inside(MID, "ethtool", "-K", name, "txvlan", "off")
        found = findings("xdp:sta", "xdp:stb", status=1)
        expect(found, "xdp:sta", "vlan", "ok", "unchanged")


@test
def a_driver_that_nobody_knows_is_told_as_such():
    sh("ip", "-n", SW, "link", "add", "br9", "type", "bridge")
    try:
        found = findings("xdp:br9", status=0)
        expect(found, "xdp:br9", "driver", "ok", "its driver is bridge")
        expect(found, "xdp:br9", "pfc_rx", "cannot tell", "is not known")
        expect(found, "xdp:br9", "pfc_tx", "cannot tell", "is not known")
        expect(found, "xdp:br9", "open", "ok", "slower generic XDP")
        expect(found, "xdp:br9", "link", "ok", "no speed of its own")
    finally:
        sh("ip", "-n", SW, "link", "del", "br9")


@test
def many_queues_come_with_their_remedy():
    with Joined(queues=4):
        found = findings("xdp:sta", "xdp:stb", status=1)
        expect(found, "xdp:sta", "queues", "failed", "4 receive queues")
        expect(found, "xdp:sta", "queues", "failed", "`ethtool -L sta rx 1` leaves one")
        expect(found, "xdp:stb", "open", "ok", "native XDP")
        equal(("xdp:sta", "open") in found, False, "it is not opened")


@test
def the_largest_frames_of_the_devices_are_tested():
    with Joined(mtu=9216):
        found = findings("xdp:sta", "xdp:stb", status=0)
        expect(found, "xdp:sta", "open", "ok", "native XDP")
        expect(found, "xdp:sta", "rocev2_largest", "ok", "(9230 bytes) arrives")


@test
def an_mtu_beyond_the_driver_is_found_and_the_largest_that_fits_is_tested():
    with Joined(mtu=9300):
        found = findings("xdp:sta", "xdp:stb", status=1)
        expect(found, "xdp:sta", "mtu", "failed", "its MTU is 9300 and a port on it carries at "
               "most 9216")
        expect(found, "xdp:sta", "rocev2_largest", "ok", "(9230 bytes) arrives")


@test
def a_link_without_carrier_is_down():
    with Joined():
        sh("ip", "-n", SW, "link", "set", "stb", "down")
        found = findings("xdp:sta", status=1)
        expect(found, "xdp:sta", "link", "failed", "its link is down")
        equal(("xdp:sta", "loop") in found, False, "frames are sent")


@test
def what_cannot_be_opened_says_why_once():
    found = findings("xdp:none0", status=1)
    expect(found, "xdp:none0", "open", "failed", "no such interface")
    equal(found["xdp:none0", "open"][1].startswith("none0"), False, "said twice")
    with Joined():
        busy = subprocess.Popen(["ip", "netns", "exec", SW, PORTLOOP, "xdp:sta"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            while busy.stdout.readline().strip() not in ("ready", ""):
                pass
            expect(findings("xdp:sta", status=1), "xdp:sta", "open", "failed",
                   "port already in use by another weir or weir-host")
        finally:
            busy.communicate("quit\n", timeout=10)


@test
def misuse_is_told_apart():
    for args in (("a",), ("xdp:a", "xdp:b", "xdp:c"), ("xdp:a", "xdp:a"), ("xdp:a", "-c", "f"),
                 ("xdp:a", "--never"), ()):
        equal(selftest(*args).returncode, 2, f"exit status of {args}")


def main():
    wanted = sys.argv[3:]
    if os.geteuid() != 0:
        print("skipped: namespaces and AF_XDP need root")
        return 77
    failed = 0
    sh("ip", "netns", "add", SW)
    inside(SW, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
    try:
        for run in TESTS:
            if wanted and run.__name__ not in wanted:
                continue
            start = time.monotonic()
            try:
                run()
                verdict = "ok"
            except Exception:
                verdict = "FAILED\n" + traceback.format_exc()
                failed += 1
            print(f"{run.__name__} ({time.monotonic() - start:.1f} s): {verdict}", flush=True)
    finally:
        sh("ip", "netns", "del", SW, check=False)
        sh("ip", "netns", "del", MID, check=False)
    print(f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
