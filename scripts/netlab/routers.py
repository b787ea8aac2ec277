# SPDX-License-Identifier: Apache-2.0
"""Routers that speak BGP, around a switch whose routes come from FRR (conf/frr).

    r1 (e1) ------ p1 [      ] p2 ------ (e2) r2 (lan) ------ (e5) receiver
    sender (e4) -- p4 [ weir ] p3 ------ (e3)

Each router is a namespace: h1 is r1, h2 is r2, `plane` has the taps of the switch. Each has the
distribution's FRR in a path space of its own. A link to r2 can lose its carrier or, by a rule at
both ends, its frames alone.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import time

from switch import Switch
from world import Failed, QuickWorld, run

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONF = os.path.join(ROOT, "conf", "frr")
PLANE = "plane"
ROUTERS = {PLANE: "weir", "h1": "r1", "h2": "r2"} # namespace: file in conf/frr
DAEMONS = ["zebra", "bfdd", "bgpd"]
FRR, RUN = "/usr/lib/frr", "/run/frr"
LAN, ANSWER = "10.2.0.0/24", "10.1.0.1" # of r2, and of r1
SENDER, RECEIVER = "10.0.4.1", "10.2.0.2"
READY_S = 60
UNTIL_STOPPED = ["--time", "3600s", "--drain", f"{READY_S}s"] # of a sender
BEFORE_S = 0.2
LAN_DEV = "lan"
# A PFC frame for class 3 with the longest time, every 20 ms. It prints when it begins.
PAUSER = """
import socket, sys, time
frame = bytes.fromhex("0180c2000001" "020000000099" "8808" "0101" "0008" + "0000" * 3 + "ffff" +
                      "0000" * 4).ljust(60, b"\\0")
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
begin = time.monotonic()
print(begin, flush=True)
while time.monotonic() < begin + float(sys.argv[2]):
    s.send(frame)
    time.sleep(0.02)
"""
ARRIVAL = re.compile(r"(?m)^(\d+\.\d+) (\w+) +(In|Out) +IP \S+\.(\d+) > ")


class Routers(QuickWorld):
    """Use it in a `with` block; then policy(), start_frr() and converge()."""

    FIRST = ["nice", "-n", "-10"] # its links are full: in real time nothing else would run

    def __init__(self, detect_ms=300):
        super().__init__(4, ipv6=True)
        self.detect_ms = detect_ms
        self.daemons = {}

    # ---- namespaces and links

    def build(self):
        for where in ("sw", PLANE, "h1", "h2", "h4", "h5"):
            run("ip", "netns", "add", self.ns(where))
            self.run(where, "ip", "link", "set", "lo", "up")
        self.no_ipv6("sw")
        for where in (PLANE, "h2"): # routers take no route from router advertisements
            self.sysctl(where, "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                        "net.ipv6.conf.default.forwarding=1")
        for i, host in ((1, "h1"), (2, "h2"), (3, "h2"), (4, "h4")):
            self.veth("sw", f"sw{i}", host, f"e{i}")
        self.veth("h2", "lan", "h5", "e5")
        for host, dev, ip in (("h1", "e1", "10.0.1.1/24"), ("h1", "lo", ANSWER + "/24"),
                              ("h2", "e2", "10.0.2.2/24"), ("h2", "lan", "10.2.0.1/24")):
            self.run(host, "ip", "addr", "add", ip, "dev", dev)
        # weir-host knows no router: the routers answer its ARP for all addresses.
        self.veth("h2", "sink", "h2", "sunk") # nothing comes out of it
        self.sysctl("h2", "net.ipv4.conf.lan.proxy_arp=1", "net.ipv4.fib_multipath_hash_policy=1")

    def sysctl(self, where, *settings):
        self.run(where, "sysctl", "-qw", *settings)

    def silence(self, dev, lost):
        """Frames of a link to r2 are lost both ways, or pass again; both ends stay up."""
        if lost:
            self.run("h2", "tc", "qdisc", "add", "dev", dev, "clsact")
            self.batch("h2", "tc", [f"filter add dev {dev} {way} protocol all u32 match u32 0 0 "
                                    "action mirred egress redirect dev sink"
                                    for way in ("ingress", "egress")])
        else:
            self.run("h2", "tc", "qdisc", "del", "dev", dev, "clsact")

    def batch(self, where, program, lines):
        """Many commands of ip or tc in one process."""
        path = os.path.join(self.logs, f"batch-{where}")
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        self.run(where, program, "-batch", path)

    def carrier(self, dev, up):
        self.run("h2", "ip", "link", "set", dev, "up" if up else "down")
        if up and dev == "e2":
            self.run("h2", "ip", "addr", "replace", "10.0.2.2/24", "dev", "e2")

    # ---- FRR

    def start_switch(self, programs, name):
        with open(os.path.join(CONF, "policy.yaml")) as f:
            text = f.read()
        # With the stand-in, which quiet() would turn off: the links are full, and a worker that a
        # busy machine keeps waiting loses no frame of class 3.
        text = text.replace("name: bgp", f"name: {name}, stall: {{pause_after: 10ms}}")
        text = text.replace("weirlab-plane", self.ns(PLANE))
        switch = Switch(self, programs, name, text)
        self.sysctl(PLANE, "net.ipv4.conf.p4.proxy_arp=1")
        return switch

    def start_frr(self, only=tuple(ROUTERS), daemons=tuple(DAEMONS)):
        for where in only:
            folder = os.path.join(RUN, self.ns(where))
            os.makedirs(folder, exist_ok=True)
            shutil.chown(folder, "frr", "frr")
            for daemon in daemons:
                self.start_daemon(where, daemon)
            self.load(where)

    def start_daemon(self, where, daemon):
        folder = os.path.join(RUN, self.ns(where))
        self.daemons[where, daemon] = p = self.spawn(
            where, f"{ROUTERS[where]}-{daemon}", f"{FRR}/{daemon}", "-N", self.ns(where),
            "-f", "/dev/null", "-i", f"{folder}/{daemon}.pid", "--log", "stdout")
        end = time.monotonic() + READY_S
        while not os.path.exists(f"{folder}/{daemon}.vty"):
            if not p.running() or time.monotonic() > end:
                raise Failed(f"{p.name} does not start\n{p.said()}")
            time.sleep(0.02)

    def load(self, where):
        """The file of conf/frr, with the times of this world."""
        path = os.path.join(self.logs, f"{ROUTERS[where]}.conf")
        with open(os.path.join(CONF, f"{ROUTERS[where]}.conf")) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("-interval 300", f"-interval {self.detect_ms}"))
        run(*self.vtysh(where, "-f", path))

    def vtysh(self, where, *args):
        return self.inside(where, "vtysh", "-N", self.ns(where), *args)

    def ask(self, where, command):
        done = run(*self.vtysh(where, "-c", command), check=False)
        return done.stdout

    def ask_config(self, where, *commands):
        run(*self.vtysh(where, "-c", "configure terminal", *[a for c in commands
                                                              for a in ("-c", c)]))

    def ask_json(self, where, command):
        try:
            return json.loads(self.ask(where, command + " json"))
        except ValueError:
            return {}

    def kill_daemon(self, where, daemon):
        folder = os.path.join(RUN, self.ns(where))
        self.daemons[where, daemon].stop(signal.SIGKILL)
        os.unlink(f"{folder}/{daemon}.vty")

    # ---- hosts

    def receiver(self, programs, *args):
        p = self.spawn("h5", "receiver", programs.weir_host, "--device", "xdp:e5", "--ip",
                       RECEIVER, "--listen", "--json", *args)
        return p.wait_line("ready")

    def sender(self, programs, *args):
        return self.spawn("h4", "sender", programs.weir_host, "--device", "xdp:e4", "--ip", SENDER,
                          "--to", RECEIVER, "--json", *args)

    def pauser(self, dev, seconds):
        """r2 pauses class 3 of a link."""
        return self.spawn("h2", "pauser", "/usr/bin/python3", "-c", PAUSER, dev, str(seconds))

    @contextlib.contextmanager
    def arrivals(self):
        """Yields a list, and fills it at the end: (time, device, flow) of the sender's frames
        at r2: as they come by a link, and as they leave to the receiver."""
        rows = []
        path = os.path.join(self.logs, "arrivals.pcap")
        dump = self.spawn("h2", "arrivals", "tcpdump", "-i", "any", "-s", "96", "-B", "16384", "-w",
                          path, "-Z", "root", "udp dst port 4791 and dst host " + RECEIVER)
        end = time.monotonic() + READY_S
        while "listening on" not in dump.err():
            if time.monotonic() > end:
                raise Failed(f"tcpdump does not start\n{dump.said()}")
            time.sleep(0.01)
        yield rows
        dump.stop()
        text = self.run("h2", "tcpdump", "-r", path, "-tt", "-nn", timeout=600).stdout
        for t, dev, way, flow in ARRIVAL.findall(text):
            if (dev, way) in (("e2", "In"), ("e3", "In"), (LAN_DEV, "Out")):
                rows.append((float(t), dev, int(flow)))

    # ---- routes

    def paths(self, where=PLANE, to=LAN):
        """Interfaces by which the kernel of a router reaches a network."""
        out = self.run(where, "ip", "-j", "route", "show", to, check=False).stdout
        rows = json.loads(out or "[]")
        return sorted(h["dev"] for r in rows for h in r.get("nexthops") or [r])

    def remove(self):
        super().remove()
        for where in ROUTERS:
            shutil.rmtree(os.path.join(RUN, self.ns(where)), ignore_errors=True)


def outages_ms(rows, cut, dead="e2", alive="e3"):
    """(flow: how long it did not reach the receiver's link, in ms) for the flows that came by the
    dead link before the cut. A flow that never comes by the other link has an endless outage."""
    flows = {f for t, dev, f in rows if dev == dead and cut - BEFORE_S < t < cut}
    out = {}
    for flow in flows:
        times = [t for t, dev, f in rows if dev == LAN_DEV and f == flow and t > cut - BEFORE_S]
        moved = any(dev == alive and f == flow and t > cut for t, dev, f in rows)
        gaps = [b - a for a, b in zip(times, times[1:])]
        out[flow] = max(gaps) * 1000 if moved and gaps else float("inf")
    return out
