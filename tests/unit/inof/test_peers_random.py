#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Random schedules of hosts, daemons, runs of weir-inof, sessions and reflectors. At rest each
switch knows just the hosts that others have (control/inof/hosts.py). The reflectors are a model.

usage: test_peers_random.py [SCHEDULES [FIRST]]
"""
import ipaddress
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "control", "inof"))
from hosts import Local, NO_END_S, Remote, Route # noqa: E402

FAMILIES = {"ipv4 unicast"}
SWITCHES, HOSTS, STEPS = 3, 4, 60
RESTART_S, REST_S = 10, NO_END_S + 60 # rest: all that is old has gone
TLV = bytes.fromhex("fe1f 001882 65 01 81 0000" + "00" * 16 + "01 01 0101 1144 00")
IPS = [ipaddress.ip_address(f"10.0.0.{i + 1}") for i in range(HOSTS)]


def tlv_of(ip):
    return TLV[:10] + ip.packed + TLV[14:]


class Reflector:
    """FRR with graceful restart, as far as weir-inof sees it."""

    def __init__(self):
        self.n_sessions = 0
        self.begin(0)

    def begin(self, now):
        self.up, self.rib = True, {} # (ip, switch): route
        self.sessions, self.lost = {}, {} # switch: number of the session; when it ended
        self.sent = {} # (switch, ip): (who has it, route)

    def best(self, ip):
        have = [(-r.preference(), s, r) for (i, s), r in self.rib.items() if i == ip]
        return min(have, key=lambda h: h[:2])[1:] if have else None

    def end(self, switch, now):
        if switch in self.sessions:
            del self.sessions[switch]
            self.lost[switch] = now
            self.sent = {k: v for k, v in self.sent.items() if k[0] != switch}

    def poll(self, now):
        for s, at in list(self.lost.items()):
            if now >= at + RESTART_S:
                del self.lost[s]
                self.rib = {k: r for k, r in self.rib.items() if k[1] != s}


class Switch:
    def __init__(self, no, reflectors):
        self.no, self.id, self.reflectors = no, f"10.9.0.{no + 2}", reflectors
        self.hosts, self.peers, self.daemon = {}, {}, True
        self.runs = 0
        self.begin(0)

    def begin(self, now):
        """A run of weir-inof."""
        self.runs += 1
        self.program = True
        self.local = Local(self.runs * 10**6)
        self.remote = Remote(self.id, [str(i) for i in range(len(self.reflectors))], FAMILIES)
        self.known, self.seen, self.waits = False, {}, set()

    def end(self, now):
        self.program = False
        for i, r in enumerate(self.reflectors):
            r.end(self.no, now)

    def register(self, ip, reason):
        self.hosts[ip] = reason
        if reason == "none":
            self.peers.pop(ip, None)

    def take(self, ip, peer, reason):
        if reason != "none":
            if self.peers.get(ip) == peer:
                del self.peers[ip]
            return True
        if self.hosts.get(ip) == "none" or self.peers.get(ip, peer) != peer:
            return False
        self.peers[ip] = peer
        return True

    def step(self, now):
        if not self.program:
            return
        self.local.daemon(self.daemon, now)
        if self.daemon:
            if not self.known:
                self.remote.learned([(p, tlv_of(ip)) for ip, p in self.peers.items()])
            self.remote.retry(self.local.rows([(tlv_of(ip), r) for ip, r in self.hosts.items()],
                                              now))
        self.known = self.daemon
        self.local.poll(now)
        for i, r in enumerate(self.reflectors):
            self.session(str(i), r, now)
        self.local.changed.clear()
        self.remote.poll(now)
        for ip in sorted(self.remote.dirty) if self.daemon else ():
            self.remote.dirty.discard(ip)
            for peer, tlv, reason in self.remote.says(ip):
                self.remote.answered(ip, peer, tlv, reason, self.take(ip, peer, reason))

    def session(self, name, r, now):
        mine = self.remote.reflectors[name]
        new = self.seen.get(name) != r.sessions.get(self.no)
        if new and mine.up_at is not None:
            self.remote.down(name)
        self.seen[name] = r.sessions.get(self.no)
        if self.no not in r.sessions:
            return
        if new:
            self.remote.up(name, now)
            self.waits.add(name)
        for ip in self.local.routes if new else self.local.changed:
            if ip in self.local.routes:
                r.rib[ip, self.no] = self.local.routes[ip]
            else:
                r.rib.pop((ip, self.no), None)
        if name in self.waits and self.known: # the end of our routes
            self.waits.discard(name)
            r.rib = {k: v for k, v in r.rib.items()
                     if k[1] != self.no or k[0] in self.local.routes}
        self.hear(name, r)
        if new:
            self.remote.end_of_routes(name, "ipv4 unicast")

    def hear(self, name, r):
        for ip in IPS:
            best = r.best(ip)
            best = None if best is None or best[0] == self.no else best
            if r.sent.get((self.no, ip)) == best:
                continue
            r.sent[self.no, ip] = best
            if best is None:
                self.remote.withdraw(name, f"{ip}/32")
            else:
                self.remote.announce(name, f"{ip}/32", f"10.9.0.{best[0] + 2}", best[1].payload())


def act(rng, switches, reflectors, now):
    s, r = rng.choice(switches), rng.choice(reflectors)
    kind = rng.randrange(12)
    if kind < 5 and s.daemon:
        s.register(rng.choice(IPS), rng.choice(("none", "none", "link-down", "pfc-storm")))
    elif kind < 7:
        s.hosts.pop(rng.choice(IPS), None)
    elif kind == 7:
        s.daemon = not s.daemon
        if not s.daemon:
            s.hosts, s.peers = {}, {}
    elif kind == 8:
        s.end(now)
    elif kind == 9 and not s.program:
        s.begin(now)
    elif kind == 10 and s.no in r.sessions:
        r.end(s.no, now)
    elif kind == 11:
        r.up = not r.up
        if r.up:
            r.begin(now)
        else:
            r.sessions = {}


def connect(rng, switches, reflectors, chance):
    for r in reflectors:
        for s in switches:
            if r.up and s.program and s.no not in r.sessions and rng.random() < chance:
                r.n_sessions += 1
                r.sessions[s.no] = r.n_sessions
                r.lost.pop(s.no, None)


def schedule(seed):
    rng, now = random.Random(seed), 0.0
    reflectors = [Reflector() for _ in range(rng.choice((1, 1, 2)))]
    switches = [Switch(i, reflectors) for i in range(SWITCHES)]
    for i in range(STEPS + REST_S):
        now += rng.choice((0.1, 1, 5)) if i < STEPS else 1
        if i < STEPS:
            act(rng, switches, reflectors, now)
        if i == STEPS:
            for r in reflectors:
                if not r.up:
                    r.begin(now)
            for s in switches:
                s.daemon = True
                if not s.program:
                    s.begin(now)
        for r in reflectors:
            r.poll(now)
        connect(rng, switches, reflectors, 0.3 if i < STEPS else 1)
        for s in rng.sample(switches, SWITCHES):
            s.step(now)
    for s in switches:
        for ip in IPS:
            have = {t.id for t in switches if t is not s and t.hosts.get(ip) == "none"}
            here = s.hosts.get(ip) == "none"
            got = s.peers.get(ip)
            if (here and got) or (not here and (got not in have if have else got is not None)):
                raise AssertionError(f"seed {seed}: {s.id} has {ip} of {got}; online at {have}, "
                                     f"here: {here}")


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for seed in range(first, first + n):
        schedule(seed)
    print(f"ok   {n} schedules: at rest each switch knows the hosts that others have")


main()
