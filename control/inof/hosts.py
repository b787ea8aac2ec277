# SPDX-License-Identifier: Apache-2.0
"""What weir-inof knows: hosts of its own switch that go out, and hosts of other switches that come
in over reflectors. Pure: time is an argument, and calls return what to do. docs/inof.md has the
promises.

A host is an address and the TLV that it registered with. On the way it is a BGP host route with the
attribute 224: version, state, reason, 0, a stamp of eight bytes, and the TLV. The stamp grows with
each change at the switch of the host. All that comes in is hostile until Route.read() takes it.

A route that is withdrawn while its host is online says that the switch is not reachable: a switch
that works announces a host as offline, with the reason, and withdraws the route LINGER_S later."""
import ipaddress
import struct
import zones
from dataclasses import dataclass, replace

MOST_HOSTS = 8000 # of all switches, as in control/inof/registry.h
MOST_PEERS = 256
ATTRIBUTE, TRANSITIVE = 0xE0, 0xC0
HEAD = struct.Struct('>BBBBQ')
VERSION = 1
STAMP_END = 2 ** 63 # no clock gives a stamp from here on: nanoseconds since 1970
TLV_HEAD, ORGANIZATION, TLV_MOST = 2, bytes.fromhex('00188265'), 2 + 31 + 223
REASONS = ('none', 'link-down', 'pfc-storm', 'packet-error', 'zone-change', 'address-change',
           'aged-out', 'bfd-down')
ONLINE, AGED_OUT, BFD_DOWN = REASONS[0], 'aged-out', 'bfd-down'

LINGER_S = 10 # that a host which went is still announced, as offline
GONE_S = 5 # without the daemon, until its hosts are offline
REGISTER_S = 40 # after a daemon came back, in which its hosts register again
SETTLE_S = 20 # after a session began, in which routes of before it stay
NO_END_S = 120 # the same, where the reflector does not say that it has sent all


class Refused(Exception):
    """Bytes that are no route of a host."""


def address_of(tlv):
    """The address in a registration; the rest of it is for the switch to read."""
    if not 33 <= len(tlv) <= TLV_MOST or tlv[2:6] != ORGANIZATION or \
            struct.unpack_from('>H', tlv)[0] != 127 << 9 | len(tlv) - TLV_HEAD:
        raise Refused('no registration')
    family = tlv[7] & 0xF
    if family not in (1, 2):
        raise Refused('a family that is not known')
    ip = ipaddress.ip_address(tlv[10:14] if family == 1 else tlv[10:26])
    if ip.is_multicast or ip.is_unspecified or ip.is_loopback:
        raise Refused('no address of a host')
    return ip


def is_zones(ip):
    """Routes with such an address carry zones, so a host with one is known at its switch alone."""
    return ip.version == 6 and ip in zones.PREFIX


@dataclass(frozen=True)
class Route:
    """A host as its switch announces it."""
    ip: object
    tlv: bytes
    reason: str
    stamp: int

    def preference(self):
        """A reflector passes on one route of a host: that of a switch that has it online."""
        return 200 if self.reason == ONLINE else 100

    def payload(self):
        online = self.reason == ONLINE
        return HEAD.pack(VERSION, online, REASONS.index(self.reason), 0, self.stamp) + self.tlv

    @classmethod
    def read(cls, nlri, payload):
        if len(payload) < HEAD.size:
            raise Refused('a short attribute')
        version, online, reason, _, stamp = HEAD.unpack_from(payload)
        tlv = payload[HEAD.size:]
        if version != VERSION or reason >= len(REASONS) or online != (reason == 0):
            raise Refused('an unknown version, state or reason')
        ip = address_of(tlv)
        if nlri != f'{ip}/{ip.max_prefixlen}' or is_zones(ip):
            raise Refused('the attribute is of another host')
        return cls(ip, tlv, REASONS[reason], stamp)


class Local:
    """The hosts at ports of this switch. `routes` is what reflectors should have; `changed` has the
    addresses for which that is new."""

    def __init__(self, stamp):
        self.routes, self.changed = {}, set()
        self.ends = {} # ip: when it is withdrawn
        self.stale = set() # of before the daemon began anew
        self.stale_end = self.gone_at = None
        self.stamp = stamp

    def put(self, ip, tlv, reason):
        self.stamp += 1
        self.routes[ip] = Route(ip, tlv, reason, self.stamp)
        self.changed.add(ip)
        self.ends.pop(ip, None)

    def heard(self, ip, stamp):
        """A reflector still has a route that this switch announced with this stamp. If the clock
        was set back since then, the routes of now need higher stamps."""
        if stamp >= STAMP_END:
            return
        self.stamp = max(self.stamp, stamp)
        known, end = self.routes.get(ip), self.ends.get(ip)
        if known is not None and known.stamp < stamp:
            self.put(ip, known.tlv, known.reason)
            if end is not None:
                self.ends[ip] = end

    def end(self, ip, reason, now):
        if self.routes[ip].reason == ONLINE:
            self.put(ip, self.routes[ip].tlv, reason)
        self.ends[ip] = now + LINGER_S

    def rows(self, rows, now):
        """All hosts of the daemon: (tlv, reason). Returns the addresses that are online."""
        there = set()
        for tlv, reason in rows[:MOST_HOSTS]:
            ip = address_of(tlv)
            if is_zones(ip):
                continue
            there.add(ip)
            self.stale.discard(ip)
            known = self.routes.get(ip)
            if known is None or (known.tlv, known.reason) != (tlv, reason) or ip in self.ends:
                self.put(ip, tlv, reason)
        for ip in set(self.routes) - there - self.stale - set(self.ends):
            self.end(ip, AGED_OUT, now)
        return {ip for ip in there if self.routes[ip].reason == ONLINE}

    def daemon(self, there, now):
        """The daemon answers again, or no more."""
        if not there:
            self.gone_at = now if self.gone_at is None else self.gone_at
        elif self.gone_at is not None:
            self.gone_at = None
            self.stale = set(self.routes) - set(self.ends)
            self.stale_end = now + REGISTER_S

    def poll(self, now):
        if self.gone_at is not None and now >= self.gone_at + GONE_S:
            for ip, route in list(self.routes.items()):
                if route.reason == ONLINE:
                    self.put(ip, route.tlv, BFD_DOWN)
        if self.stale_end is not None and now >= self.stale_end:
            stale, self.stale, self.stale_end = self.stale, set(), None
            for ip in stale:
                self.end(ip, AGED_OUT, now)
        for ip in [ip for ip, end in self.ends.items() if now >= end]:
            del self.ends[ip], self.routes[ip]
            self.changed.add(ip)


@dataclass
class Path:
    """A route as one reflector has it. stale: learned before its session began anew."""
    peer: str
    route: Route
    stale: bool = False


class Reflector:
    """What one reflector says."""

    def __init__(self):
        self.paths = {} # ip: Path
        self.up_at, self.ended = None, set()
        self.refused = self.overflow = 0

    def up(self, now):
        self.down()
        self.up_at, self.ended = now, set()

    def down(self):
        """What it said stays as it was: a reflector that is gone says nothing about hosts."""
        self.up_at = None
        self.paths = {ip: replace(p, stale=True) for ip, p in self.paths.items()}

    def poll(self, now, families):
        """The addresses that it has not named again, and which are forgotten therefore."""
        if self.up_at is None or not (
                (now >= self.up_at + SETTLE_S and self.ended >= families) or
                now >= self.up_at + NO_END_S):
            return []
        stale = [ip for ip, p in self.paths.items() if p.stale]
        for ip in stale:
            del self.paths[ip]
        return stale


class Remote:
    """The hosts of other switches. `told` is what the daemon has taken. own_route: called with each
    address and stamp for which a reflector has a route of this switch."""

    def __init__(self, own, reflectors, families):
        self.own, self.families = own, families
        self.reflectors = {name: Reflector() for name in reflectors}
        self.told = {} # ip: Path
        self.dirty, self.refused = set(), set()
        self.zones = zones.Learned()
        self.own_route = lambda ip, stamp: None
        self.begun = self.now = None

    def announce(self, name, nlri, peer, payload):
        r = self.reflectors[name]
        try:
            ipaddress.IPv4Address(peer)
            if payload[:1] == bytes([zones.VERSION]):
                self.zones.take(name, nlri, peer, payload)
                return
            route = Route.read(nlri, payload)
        except (Refused, zones.Bad, ValueError):
            r.refused += 1
            self.withdraw(name, nlri) # what it said before holds no more
            return
        if peer == self.own:
            self.own_route(route.ip, route.stamp)
            return
        self.outdate(route.ip, peer, lambda stamp: stamp != route.stamp)
        if route.ip not in r.paths and len(r.paths) >= MOST_HOSTS:
            r.overflow += 1
            return
        r.paths[route.ip] = Path(peer, route)
        self.dirty.add(route.ip)

    def withdraw(self, name, nlri):
        try:
            net = ipaddress.ip_network(nlri)
        except ValueError:
            return
        ip = net.network_address
        path = self.reflectors[name].paths.pop(ip, None) if net.num_addresses == 1 else None
        if path:
            self.outdate(ip, path.peer, lambda stamp: stamp <= path.route.stamp)
            self.dirty.add(ip)

    def outdate(self, ip, peer, is_old):
        """Ends what reflectors that are down said of the host with such a stamp. A reflector that
        is up has said something newer."""
        for r in self.reflectors.values():
            p = r.paths.get(ip)
            if p and p.stale and r.up_at is None and p.peer == peer and is_old(p.route.stamp):
                del r.paths[ip]

    def up(self, name, now):
        self.reflectors[name].up(now)

    def down(self, name):
        self.reflectors[name].down()

    def end_of_routes(self, name, family):
        self.reflectors[name].ended.add(family)
        self.dirty.update(ip for ip, told in self.told.items() if told.stale)

    def poll(self, now):
        self.now = now
        if self.begun is None:
            self.begun = now
        for r in self.reflectors.values():
            self.dirty.update(r.poll(now, self.families))
        if now >= self.begun + NO_END_S:
            self.dirty.update(ip for ip, told in self.told.items() if told.stale)

    def best(self, ip):
        """Of each switch the newest word counts, and a word of a session that stands before one of
        a session that ended: the clock of the switch may have been set back between them. A switch
        that has the host online goes before one that has not, the switch that holds it before
        others, then the lower router ID."""
        newest = {}
        for r in self.reflectors.values():
            p = r.paths.get(ip)
            if p and (p.peer not in newest or
                      (not p.stale, p.route.stamp) >
                      (not newest[p.peer].stale, newest[p.peer].route.stamp)):
                newest[p.peer] = p
        holder = self.told[ip].peer if ip in self.told else None
        return min(newest.values(), default=None, key=lambda p: (
            p.route.reason != ONLINE, p.peer != holder, ipaddress.ip_address(p.peer)))

    def learned(self, rows):
        """What a daemon had been told by the run before of this program: (peer, tlv). A daemon that
        began anew has nothing."""
        self.told = {}
        for peer, tlv in rows[:MOST_HOSTS]:
            ip = address_of(tlv)
            self.told[ip] = Path(peer, Route(ip, tlv, ONLINE, 0), stale=True)
        self.dirty.update(self.told, *(r.paths for r in self.reflectors.values()))

    def retry(self, here):
        """The switch has hosts of its own at these addresses, and may have none at others."""
        for ip in self.told.keys() & here:
            del self.told[ip]
            self.refused.add(ip)
        self.dirty |= self.refused

    def says(self, ip):
        """What the daemon must hear about a host: [(peer, tlv, reason)]."""
        told, best, out = self.told.get(ip), self.best(ip), []
        self.refused.discard(ip)
        online = best is not None and best.route.reason == ONLINE
        if told is not None and best is None and self.waits(told):
            return []
        if told is not None and (not online or best.peer != told.peer):
            same = best is not None and best.peer == told.peer
            out.append((told.peer, told.route.tlv, best.route.reason if same else BFD_DOWN))
        if online and (told is None or told.peer != best.peer or told.route.tlv != best.route.tlv):
            out.append((best.peer, best.route.tlv, ONLINE))
        return out

    def waits(self, told):
        """A host of the run before, while a reflector has not yet sent all that it has. One that
        stays away is waited for NO_END_S, if another one has sent all."""
        unsettled = [r for r in self.reflectors.values() if not self.settled(r)]
        late = self.begun is not None and self.now >= self.begun + NO_END_S
        return told.stale and bool(unsettled) and not (
            late and len(unsettled) < len(self.reflectors) and
            all(r.up_at is None for r in unsettled))

    def settled(self, r):
        return r.up_at is not None and r.ended >= self.families

    def answered(self, ip, peer, tlv, reason, taken):
        """The daemon has taken a word, or refused it."""
        self.refused.discard(ip)
        if reason != ONLINE:
            self.told.pop(ip, None)
        elif taken:
            self.told[ip] = Path(peer, Route(ip, tlv, ONLINE, 0))
        else:
            self.refused.add(ip)
