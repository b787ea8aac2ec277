#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A running switch has four capabilities in each of its threads, and its control still works.

usage: test_privileges.py [-h] WEIR WEIRCTL

Needs root; exits 77 without. The interfaces are in a network namespace of the test.
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from harness import Failed, programs, want

SPACE, NAME = "priv", "priv"
KEPT = 1 << 12 | 1 << 13 | 1 << 14 | 1 << 39 # NET_ADMIN, NET_RAW, IPC_LOCK, BPF
POLICY = """\
switch: {name: priv, workers: 2, buffer: {size: 1MB}}
ports:
  - {name: p1, device: "xdp:pva", speed: 1G, mtu: 1500, keep: [%s]}
  - {name: p2, device: "xdp:pvc", speed: 1G, mtu: 1500}
"""


def ip(*words):
    subprocess.run(["ip", "-n", SPACE, *words], check=True)


class Switch:
    """One running switch on two veth ports."""

    def __init__(self, weir, weirctl, *more):
        self.ctl_path = weirctl
        self.policy = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.write("lldp")
        self.p = subprocess.Popen(["nsenter", f"--net=/run/netns/{SPACE}", weir, "-c",
                                   self.policy.name, *more], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        lines = iter(self.p.stdout.readline, "")
        want("ready\n" in lines, "not ready")

    def write(self, keep):
        self.policy.seek(0)
        self.policy.truncate()
        self.policy.write(POLICY % keep)
        self.policy.flush()

    def ctl(self, *words):
        r = subprocess.run([self.ctl_path, "-s", NAME, *words], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=20)
        want(r.returncode == 0, f"weirctl {' '.join(words)}: {r.stdout}")
        return r.stdout

    def threads(self):
        """Of each thread: name, and the fields of its status."""
        for path in glob.glob(f"/proc/{self.p.pid}/task/*/status"):
            with open(path) as f:
                yield dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        return self.p.wait(20)


def each_thread_has_four_capabilities(sw):
    n = 0
    for t in sw.threads():
        n += 1
        for key in ("CapPrm", "CapEff", "CapBnd"):
            want(int(t[key], 16) & ~KEPT == 0, f"thread {t['Name']}: {key} {t[key]}")
        want(int(t["CapInh"], 16) == 0 and int(t["CapAmb"], 16) == 0, f"thread {t['Name']}")
        want(int(t["CapEff"], 16) == KEPT, f"thread {t['Name']} has only {t['CapEff']}")
        want(t["NoNewPrivs"] == "1", f"thread {t['Name']} may gain privileges")
    print(f"    {n} threads")
    want(n >= 6, f"{n} threads")


def control_goes_on(sw):
    def port(name):
        return next(p for p in json.loads(sw.ctl("show", "ports", "--json"))["ports"]
                    if p["name"] == name)

    sw.write("lldp, arp, icmp, tcp/22")
    sw.ctl("reload", sw.policy.name)
    for what in ("ports", "pfc", "control", "events", "fdb", "workers"):
        sw.ctl("show", what)
    ip("link", "set", "pvb", "down")
    end = time.monotonic() + 10
    while port("p1")["up"]:
        want(time.monotonic() < end, "the link is not down")
        time.sleep(0.05)
    ip("link", "set", "pvb", "up")
    while not port("p1")["up"]:
        want(time.monotonic() < end, "the link is not up")
        time.sleep(0.05)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "p1.pcapng")
        tap = subprocess.Popen([sw.ctl_path, "-s", NAME, "capture", "p1", file, "--count", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while tap.poll() is None:
                want(time.monotonic() < end + 10, "nothing is captured")
                subprocess.run(["nsenter", f"--net=/run/netns/{SPACE}", sys.executable, "-c", (
                    "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
                    "s.bind(('pvb', 0)); s.send(bytes.fromhex('02000000000202000000000188b5')"
                    ".ljust(60, b'x'))")], check=True)
                time.sleep(0.05)
        finally:
            tap.kill()
            tap.wait()
        want(os.path.getsize(file) > 100, "the capture is empty")
        want(os.stat(file).st_mode & 0o777 == 0o600, "others may read a capture")


def all_stay_when_asked(args):
    sw = Switch(args.weir, args.weirctl, "--keep-privileges")
    try:
        want(any(int(t["CapEff"], 16) & ~KEPT for t in sw.threads()), "they are gone")
        want(sw.stop() == 0, "exit")
    finally:
        sw.p.kill()
        sw.p.wait()


def test(args):
    for a, b in (("pva", "pvb"), ("pvc", "pvd")):
        ip("link", "add", a, "type", "veth", "peer", "name", b)
        ip("link", "set", a, "up")
        ip("link", "set", b, "up")
    sw = Switch(args.weir, args.weirctl)
    try:
        each_thread_has_four_capabilities(sw)
        control_goes_on(sw)
        want(sw.stop() == 0, "exit")
        want(not glob.glob(f"/run/weir/{NAME}.[!f]*"), "files are left")
    finally:
        sw.p.kill()
        sw.p.wait()
    all_stay_when_asked(args)


def main():
    args = programs(__doc__, "weir", "weirctl")
    if args is None:
        return 77
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    try:
        test(args)
        print("ok   a running switch has what it needs")
        return 0
    except Failed as e:
        print(f"FAIL {e}")
        return 1
    finally:
        subprocess.run(["ip", "netns", "del", SPACE], check=True)


sys.exit(main())
