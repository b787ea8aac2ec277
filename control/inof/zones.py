# SPDX-License-Identifier: Apache-2.0
"""Zones that a file beside the reflector has for all switches. Pure but for read_file(): calls
return what to do. docs/inof.md has the promises.

The zones are one text of JSON, {name: [member, ...]}. It travels in pieces: BGP host routes of
PREFIX with the attribute 224. All pieces have the stamp and the number of the pieces, so a switch
takes a text as a whole or not at all. The newest stamp counts. A route that is withdrawn says
nothing: only a text without zones ends them. All that comes in is hostile until parse() takes it."""
import ipaddress
import json
import re
import struct
from dataclasses import dataclass, field

# For packets that are dropped (RFC 6666), so no host has such an address.
PREFIX = ipaddress.IPv6Network('100::/64')
HEAD = struct.Struct('>BBHHHQ') # version, 0, number of the piece, pieces, 0, stamp
VERSION = 2
PIECE = 2048 # bytes; a BGP message has 4096
MOST_PIECES = 2048
MOST_SPEAKERS = 8 # that announce zones at the same time
MOST_ZONES, MOST_MEMBERS = 1000, 256 # as in control/inof/zone.h
MOST_TEXT = 2 * 46 + 223 - 1 # of a member, likewise
NAME = re.compile(r'[a-zA-Z0-9._-]{1,31}')
PLAIN = re.compile(r'[!-~]+')


class Bad(Exception):
    """Bytes that are no piece, or a text that is no zones."""


def address(no):
    return PREFIX[no]


# ---- the speaker

@dataclass(frozen=True)
class Piece:
    """A route, as weir-inof announces it."""
    no: int
    n: int
    stamp: int
    data: bytes

    def preference(self):
        return 300 # above a host that says such an address

    def payload(self):
        return HEAD.pack(VERSION, 0, self.no, self.n, 0, self.stamp) + self.data


class Announced:
    """`routes` is what reflectors should have; `changed` has the addresses where that is new."""

    def __init__(self):
        self.routes, self.changed = {}, set()

    def put(self, zones, stamp):
        """{name: [member, ...]}"""
        text = json.dumps(zones, sort_keys=True, separators=(',', ':')).encode()
        n = -(-len(text) // PIECE)
        if n > MOST_PIECES:
            raise Bad(f'the zones have {len(text)} bytes, more than {MOST_PIECES * PIECE}; '
                      'use prefixes, ranges or patterns')
        old = set(self.routes)
        self.routes = {address(i): Piece(i, n, stamp, text[i * PIECE:(i + 1) * PIECE])
                       for i in range(n)}
        self.changed |= old | set(self.routes)


# ---- a switch

def parse(text):
    """The zones of a text; who reads members is the switch."""
    try:
        zones = json.loads(text)
    except (ValueError, RecursionError):
        raise Bad('the zones are no JSON') from None
    if not isinstance(zones, dict) or len(zones) > MOST_ZONES:
        raise Bad(f'the zones are no map of at most {MOST_ZONES}')
    for name, members in zones.items():
        if not NAME.fullmatch(name) or name == 'default' or not isinstance(members, list) or \
                not 0 < len(members) <= MOST_MEMBERS:
            raise Bad('a zone has another name or number of members than zones have')
        for m in members:
            if not isinstance(m, str) or not PLAIN.fullmatch(m) or len(m) > MOST_TEXT:
                raise Bad('a member is no text')
    return zones


@dataclass
class Part:
    stamp: int
    n: int
    data: dict = field(default_factory=dict)
    bad: bool = False # all pieces were there, and were no zones


class Learned:
    """What reflectors say. `zones`: the newest whole text, None before there is one. `new`: the
    switch has not yet been asked to take it. `name`: the reflector that completed it."""

    def __init__(self):
        self.parts = {} # router ID of the speaker: Part
        self.zones, self.text, self.stamp = None, None, -1
        self.new, self.name = False, None

    def take(self, name, nlri, peer, payload):
        if len(payload) <= HEAD.size:
            raise Bad('a short attribute')
        _, _, no, n, _, stamp = HEAD.unpack_from(payload)
        data = payload[HEAD.size:]
        if not no < n <= MOST_PIECES or len(data) > PIECE or nlri != f'{address(no)}/128':
            raise Bad('no piece of zones')
        if stamp <= self.stamp:
            return
        part = self.parts.get(peer)
        if part is None and len(self.parts) >= MOST_SPEAKERS:
            raise Bad('too many speakers of zones')
        if part is None or part.stamp < stamp or (part.bad and part.stamp != stamp):
            part = self.parts[peer] = Part(stamp, n)
        if part.stamp > stamp or part.bad:
            return # a text that is bad is bad once
        if part.n != n:
            raise Bad('pieces of one stamp have different numbers')
        part.data[no] = data
        if len(part.data) == n:
            self.whole(name, part)

    def whole(self, name, part):
        text = b''.join(part.data[i] for i in range(part.n))
        part.bad, part.data = True, {}
        zones = self.zones if text == self.text else parse(text)
        self.stamp = part.stamp
        self.parts = {p: k for p, k in self.parts.items() if k.stamp > part.stamp}
        if text != self.text:
            self.zones, self.text, self.new, self.name = zones, text, True, name

    def again(self):
        """The switch begins anew and has no zones."""
        self.new = self.zones is not None


def words(zones):
    """The requests by which the switch takes the zones: all of them, or none."""
    yield {'cmd': 'inof_zones', 'step': 'begin'}
    for name, members in zones.items():
        batch, size = [], 0
        for m in members:
            if size + len(m) > PIECE and batch:
                yield {'cmd': 'inof_zones', 'step': 'add', 'zone': name, 'members': batch}
                batch, size = [], 0
            batch.append(m)
            size += len(m) + 6
        yield {'cmd': 'inof_zones', 'step': 'add', 'zone': name, 'members': batch}
    yield {'cmd': 'inof_zones', 'step': 'apply'}


# ---- the file

def why_no_member(text):
    """None, or the reason. A zone of all switches has no port."""
    if text.startswith(('nqn.', 'iqn.', '*')):
        return None if PLAIN.fullmatch(text) and len(text) <= MOST_TEXT else \
            'is no NQN: write printable ASCII without blanks'
    try:
        if '%' in text:
            raise ValueError
        if re.search(r'/\d{1,3}$', text):
            ipaddress.ip_network(text)
        elif '-' in text:
            first, last = map(ipaddress.ip_address, text.split('-', 1))
            if first.version != last.version or first > last:
                return 'is no range: write two addresses of one family, the lower first'
        else:
            ipaddress.ip_address(text)
    except ValueError:
        return 'is no address, prefix, range or NQN; ports belong into the policy of a switch'
    return None


class Reader:
    """Walks the nodes of a YAML file and collects its mistakes."""

    def __init__(self, yaml, path):
        self.yaml, self.path, self.mistakes = yaml, path, []

    def wrong(self, node, key, text):
        at = node.start_mark
        self.mistakes.append(f'{self.path}:{at.line + 1}:{at.column + 1}: {key}{text}')

    def map(self, node, key):
        """[(name, key node, value node)] without those that come twice."""
        if not isinstance(node, self.yaml.MappingNode):
            self.wrong(node, key, ': write a map')
            return []
        found = {}
        for k, v in node.value:
            if str(k.value) in found:
                self.wrong(k, f'{key}.{k.value}', ': is there already')
            else:
                found[str(k.value)] = (k, v)
        return [(name, *nodes) for name, nodes in found.items()]

    def members(self, node, key):
        if not isinstance(node, self.yaml.SequenceNode) or not node.value:
            self.wrong(node, key, ': write a list: [10.0.0.1, 10.0.1.0/24]')
            return []
        if len(node.value) > MOST_MEMBERS:
            self.wrong(node, key, f': {len(node.value)} members are more than {MOST_MEMBERS}; '
                       'use prefixes, ranges or patterns')
        found = []
        for m in node.value:
            text = m.value if isinstance(m, self.yaml.ScalarNode) else '...'
            why = 'is there already' if text in found else why_no_member(text)
            if why:
                self.wrong(m, key, f': "{text}" {why}')
            found.append(text)
        return found

    def zone(self, name, k, v):
        key = f'zones.{name}'
        if not NAME.fullmatch(name) or name == 'default':
            self.wrong(k, key, ': a zone has a name of 1 to 31 letters, digits, . _ -, and not '
                       '"default"')
        for what, at, node in self.map(v, key):
            if what == 'members':
                return self.members(node, f'{key}.members')
            self.wrong(at, f'{key}.{what}', ': is no key here; did you mean "members"?')
        self.wrong(k, key, ': has no members; write {members: [10.0.0.1]}')
        return []

    def zones(self, root):
        zones = {}
        keys = self.map(root, 'zones') if root is not None else []
        for what, k, v in keys:
            if what != 'zones':
                self.wrong(k, what, ': is no key here; did you mean "zones"?')
                continue
            rows = self.map(v, 'zones')
            if len(rows) > MOST_ZONES:
                self.wrong(v, 'zones', f': {len(rows)} are more than {MOST_ZONES}')
            zones = {name: self.zone(name, at, node) for name, at, node in rows}
        if 'zones' not in [what for what, _, _ in keys]:
            self.mistakes.append(f'{self.path}: has no zones; write zones: {{}} for none')
        return zones


def read_file(path):
    """({name: [member, ...]}, []), or (None, [mistake, ...])."""
    import yaml # noqa: PLC0415: switches do not need it
    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    try:
        with open(path, encoding='utf-8') as f:
            root = yaml.compose(f, Loader=loader)
    except OSError as e:
        return None, [f'{path}: {e.strerror}']
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        at = getattr(e, 'problem_mark', None)
        where = f'{path}:{at.line + 1}:{at.column + 1}' if at else path
        why = getattr(e, 'problem', None) or str(e).partition('\n')[0]
        return None, [f'{where}: is no YAML: {why}']
    reader = Reader(yaml, path)
    zones = reader.zones(root)
    return (None, reader.mistakes) if reader.mistakes else (zones, [])
