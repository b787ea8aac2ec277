# SPDX-License-Identifier: Apache-2.0
"""Switches with weir-inof beside each, and a route reflector that all have a link to.

    host 1 (e1) -- sw1 [ sw ] m1 --- r1 [ rr ] r2 --- m2 [ sx ] sw2 -- (e2) host 2
                                          r3 --- m3 [ st ] a stranger
A second reflector [ rq ] has a link of its own to each.
"""
import json
import os
import shutil
import socket
import sys

from switch import Switch
from world import SOCKETS, Failed, World, eventually, run, switch_name

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

POLICY = """
switch: {{name: {name}, buffer: {{size: 2MB}}, lldp: on}}
ports: [{{name: p{i}, device: "xdp:sw{i}", speed: 1G, mtu: 1500}}]
{inof}
"""
SPACES = {1: "sw", 2: "sx", 3: "st"}
REFLECTORS, PASSWORD = {"rr": "10.9.0.1", "rq": "10.9.1.1"}, "lossless"
REFLECTOR = REFLECTORS["rr"]
BESIDE = "10.9.0.254" # of a program beside the reflector
PROGRAM = os.path.join(ROOT, "control", "inof", "weir-inof")
RUN, BGPD = "/run/frr", "/usr/lib/frr/bgpd"
ZEBRA, BFDD = "/usr/lib/frr/zebra", "/usr/lib/frr/bfdd"


def address(n):
    return f"10.9.0.{n + 1}"


class Peers(World):
    """Use it in a `with` block; then start(). homes: the switch of each host. inof: the policy."""

    def __init__(self, programs, homes=((1, 1), (2, 2))):
        self.homes = dict(homes)
        super().__init__(len(self.homes))
        self.programs, self.inof = programs, "inof: on"
        self.switches, self.programs_of, self.ups, self.reflectors = {}, {}, {}, {}
        self.n_started, self.frr = 0, []

    def build(self):
        for where in (*SPACES.values(), *REFLECTORS, *(f"h{i}" for i in self.homes)):
            run("ip", "netns", "add", self.ns(where))
            self.run(where, "ip", "link", "set", "lo", "up")
            self.no_ipv6(where)
        for i in self.homes:
            self.link(i)
        for n, where in SPACES.items():
            for near, (rr, ip) in zip("mn", REFLECTORS.items()):
                self.veth(where, f"{near}{n}", rr, f"r{n}")
                self.run(where, "ip", "addr", "add", address(n), "peer", ip, "dev", f"{near}{n}")
                self.run(rr, "ip", "addr", "add", ip, "peer", address(n), "dev", f"r{n}")
        self.run("rr", "ip", "addr", "add", BESIDE, "dev", "lo")
        self.password = os.path.join(self.logs, "password")
        with open(self.password, "w") as f:
            f.write(PASSWORD + "\n")

    def home(self, i):
        return SPACES[self.homes[i]]

    # ---- programs

    def start(self, reflectors=("rr",), words=(), bfd=False):
        for rr in reflectors:
            self.start_reflector(rr, bfd)
        for n in (1, 2):
            self.start_switch(n)
            self.start_program(n, *words, *[w for rr in reflectors[1:]
                                            for w in ("--reflector", REFLECTORS[rr])])
        for n in (1, 2):
            self.up_again(n, len(reflectors))

    def name_of(self, n):
        """Of a switch."""
        return f"s{n}{switch_name()}"

    def policy_of(self, n):
        return POLICY.format(name=self.name_of(n), i=n, inof=self.inof)

    def start_switch(self, n):
        self.switches[n] = Switch(self, self.programs, self.name_of(n), self.policy_of(n),
                                  where=SPACES[n])

    def start_program(self, n, *words, password=True):
        self.n_started += 1
        self.ups[n] = 0
        self.programs_of[n] = self.spawn(
            SPACES[n], f"inof{n}-{self.n_started}", sys.executable, "-B", PROGRAM, "-s",
            self.name_of(n), "--local", address(n), "--reflector", REFLECTOR,
            *(("--password-file", self.password) if password else ()), *words)

    def start_zones(self, text, *words):
        """weir-inof --zones beside the reflector."""
        self.zones_file = os.path.join(self.logs, "zones.yaml")
        self.write_zones(text)
        self.n_started += 1
        self.ups["zones"] = 0
        self.programs_of["zones"] = self.spawn(
            "rr", f"zones-{self.n_started}", sys.executable, "-B", PROGRAM, "-s", switch_name(),
            "--zones", self.zones_file, "--local", BESIDE, "--reflector", REFLECTOR,
            "--password-file", self.password, *words)

    def write_zones(self, text):
        with open(self.zones_file, "w") as f:
            f.write(text)

    def frr_conf(self, where, name, old, new):
        """The path of a copy of conf/frr/NAME. FRR's user can read it, and has a folder beside
        it."""
        folder = os.path.join(RUN, self.ns(where))
        os.makedirs(folder, exist_ok=True)
        shutil.chown(folder, "frr", "frr")
        conf = f"{folder}.{name}"
        with open(os.path.join(ROOT, "conf", "frr", name)) as f, open(conf, "w") as to:
            to.write(f.read().replace(old, new))
        return conf

    def spawn_frr(self, where, program, *words):
        self.n_started += 1
        name = os.path.basename(program)
        return self.spawn(where, f"{name}-{self.n_started}", program, "-N", self.ns(where), "-i",
                          os.path.join(RUN, self.ns(where), f"{name}.pid"), "--log", "stdout",
                          *words)

    def start_bfd(self, where, *words):
        """zebra and bfdd in a namespace."""
        zebra = self.spawn_frr(where, ZEBRA, "-f", "/dev/null")
        api = os.path.join(RUN, self.ns(where), "zserv.api")
        eventually(lambda: os.path.exists(api), "zebra listens")
        self.frr += [zebra, self.spawn_frr(where, BFDD, *words)]

    def start_reflector(self, rr="rr", bfd=False):
        conf = self.frr_conf(rr, "reflector.conf", f"-id {REFLECTOR}", f"-id {REFLECTORS[rr]}")
        if bfd:
            self.start_bfd(rr, "-f", "/dev/null")
        self.reflectors[rr] = self.spawn_frr(rr, BGPD, "-n" if bfd else "-Z", "-f", conf, "-l",
                                             REFLECTORS[rr])

    def end(self):
        for p in self.programs_of.values():
            p.stop()
        for p in (*self.reflectors.values(), *self.frr):
            p.kill()
        for switch in self.switches.values():
            if switch.stop() != 0:
                raise Failed(f"the balance does not hold at the end\n{switch.process.said()}")

    def remove(self):
        super().remove()
        for where in (*REFLECTORS, *SPACES.values()):
            shutil.rmtree(os.path.join(RUN, self.ns(where)), ignore_errors=True)

    # ---- faults

    def kill_speaker(self, n):
        pid = self.programs_of[n].p.pid
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            for child in f.read().split():
                os.kill(int(child), 9)

    def silence(self, n):
        """No word passes between the switch and the reflector."""
        self.run("rr", "ip", "link", "set", f"r{n}", "down")

    def swallow(self, n):
        """The same, while both ends have a link: frames go to a MAC address that nothing has."""
        for where, device, ip in ((SPACES[n], f"m{n}", REFLECTOR), ("rr", f"r{n}", address(n))):
            self.run(where, "ip", "neigh", "replace", ip, "lladdr", "02:00:00:00:de:ad", "dev",
                     device, "nud", "permanent")

    def heal(self, n):
        self.run("rr", "ip", "link", "set", f"r{n}", "up")

    # ---- what programs say

    def said(self, n, text):
        return text in self.programs_of[n].err()

    def ask(self, n, *requests):
        """Requests on the control socket of a switch, and their answers."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{SOCKETS}/{self.switches[n].name}.sock")
            with s.makefile("rw") as f:
                answers = []
                for request in requests:
                    f.write(json.dumps(request) + "\n")
                    f.flush()
                    answers.append(json.loads(f.readline()))
                return answers

    def up_again(self, n, sessions=1):
        """Waits for more sessions."""
        self.ups[n] += sessions
        p = self.programs_of[n]
        eventually(lambda: p.err().count("is up") >= self.ups[n], f"a session\n{p.said()}")

    def json_of(self, words):
        """What the first reflector says."""
        out = self.run("rr", "vtysh", "-N", self.ns("rr"), "-c", f"{words} json")
        return json.loads(out.stdout)

    def bgp(self, words):
        return self.json_of(f"show bgp {words}")

    def routes(self, family):
        """{prefix: [path, ...]}"""
        return self.bgp(f"{family} unicast")["routes"]

    def established(self):
        """The neighbours with a session."""
        peers = self.bgp("ipv4 unicast summary")["peers"]
        return sorted(ip for ip, p in peers.items() if p["state"] == "Established")

    def refused_by(self, counter):
        """Segments that the kernel of the reflector has dropped."""
        out = self.run("rr", "nstat", "-az", f"TcpExt{counter}").stdout
        return int(out.split()[-2])
