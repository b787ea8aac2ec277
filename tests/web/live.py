#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live switch with its page, in namespaces of its own, and a program of node beside it.

usage: live.py WEIR WEIRCTL WEIR_HOST PROGRAM [ARGUMENT...]

Two senders overload a receiver, in slow motion. The program runs in the switch's namespace with the
address of the page as its first argument. Needs root; exits 77 without, or without node and a
browser. Run it inside scripts/contain. The exit status is that of the program.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

WEIR, WEIRCTL, WEIR_HOST = sys.argv[1:4]
NAME, PORT, HOSTS, SCALE = "web", 8089, 3, 500
LATE_S = 180  # on a machine that others slow down
POLICY = """\
switch:
  name: web
  workers: 1
  time_scale: 500
  buffer: {size: 1MB, cell: 256B}
  stall: {pause_after: off}
ports:
  - {name: "p[1-3]", device: "xdp:ws[1-3]", speed: 40G, mtu: 1500, cable: 5m, profile: lab}
profiles:
  lab:
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    watchdog: on
    classes:
      0: {schedule: {dwrr: 10}}
      3:
        lossless: true
        schedule: {dwrr: 90}
        ingress: {min: 6KB, alpha: 1, xon_offset: 18KB, headroom: auto}
        wred: {ecn: on, kmin: 50KB, kmax: 400KB, pmax: 100%}
        ipcc: on
      6: {schedule: strict}
"""


def sh(*cmd, check=True):
    subprocess.run(cmd, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)


def inside(n):
    return ["nsenter", f"--net=/run/netns/web{n}"]


def links():
    for n in ["s", *range(1, HOSTS + 1)]:
        sh("ip", "netns", "add", f"web{n}")
    sh("ip", "-n", "webs", "link", "set", "lo", "up")
    for i in range(1, HOSTS + 1):
        sh("ip", "link", "add", f"ws{i}", "netns", "webs", "type", "veth",
           "peer", "name", f"we{i}", "netns", f"web{i}")
        for n, dev in (("s", f"ws{i}"), (i, f"we{i}")):
            sh(*inside(n), "sysctl", "-qw", f"net.ipv6.conf.{dev}.disable_ipv6=1", check=False)
            sh(*inside(n), "ethtool", "-K", dev, "tx", "off", "tso", "off", "gso", "off",
               "gro", "off", check=False)
            sh("ip", "-n", f"web{n}", "link", "set", dev, "up")


def host(i, out, *args):
    # They poll: at the lowest priority they leave the processors to the browser.
    return subprocess.Popen(
        ["nice", "-n", "19", *inside(i), WEIR_HOST, "--device", f"xdp:we{i}",
         "--ip", f"10.0.0.{i}", "--speed", "40G", "--time-scale", str(SCALE), "--dscp", "26",
         "--drain", f"{LATE_S}s", *args], stdout=out, stderr=out)


def wait_for(condition, what):
    end = time.monotonic() + LATE_S
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {LATE_S} s: {what}")
        time.sleep(0.1)


def ready(process, out):
    wait_for(lambda: process.poll() is not None or "ready" in printed(out).splitlines(),
             f"{process.args} is ready")


def moved():
    shown = subprocess.run([WEIRCTL, "-s", NAME, "show", "ports", "--json"], capture_output=True,
                           text=True)
    return shown.returncode == 0 and all(
        port["rx_packets"] > 100 for port in json.loads(shown.stdout)["ports"])


def printed(out):
    return os.pread(out.fileno(), 1 << 20, 0).decode()


def beside(policy, out, listens):
    """Runs the switch, its hosts and the program; the program's exit status."""
    started = [subprocess.Popen([*inside("s"), WEIR, "-c", policy, "--web", str(PORT)],
                                stdout=out, stderr=out)]
    switch = started[0]
    try:
        ready(switch, out)
        started.append(host(3, listens, "--listen", "--cc", "dcqcn"))
        ready(started[-1], listens)
        started += [host(i, subprocess.DEVNULL, "--to", "10.0.0.3", "--qps", "4", "--time", "600s")
                    for i in (1, 2)]
        wait_for(moved, "frames move")
        program, *more = sys.argv[4:]
        return subprocess.run(
            [*inside("s"), "node", program, f"http://127.0.0.1:{PORT}/", *more],
            env={**os.environ, "WEIRCTL": WEIRCTL, "SWITCH_PID": str(switch.pid)}).returncode
    finally:
        for p in reversed(started):
            if p.poll() is None:
                p.terminate() if p is switch else p.kill()  # a sender would wait for its last ACK
        for p in started:
            p.wait(LATE_S)
        print(printed(out)[-1000:])


def main():
    if os.geteuid() != 0 or not shutil.which("node") or not os.path.exists("/usr/bin/chromium"):
        print("skipped: needs root, node and /usr/bin/chromium (scripts/setup --browser)")
        return 77
    links()
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy, \
            tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as listens:
        policy.write(POLICY)
        policy.flush()
        status = beside(policy.name, out, listens)
    for n in ["s", *range(1, HOSTS + 1)]:
        sh("ip", "netns", "del", f"web{n}")
    return status


if __name__ == "__main__":
    sys.exit(main())
