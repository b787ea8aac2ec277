#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Zones from a reflector (control/inof/zones.py): the file, the pieces on the way, and what a
switch takes of them.

usage: test_zones.py
"""
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "control", "inof"), os.path.join(ROOT, "tests/smoke/live")]
from hosts import Local, Refused, Remote, Route # noqa: E402
from live import run_tests # noqa: E402
from zones import (Announced, Bad, HEAD, Learned, MOST_PIECES, MOST_SPEAKERS, # noqa: E402
                   MOST_ZONES, PIECE, VERSION, address, parse, read_file, words)

A, B = "10.9.0.254", "10.9.0.253"
SMALL = {"db": ["10.0.0.1", "10.0.1.0/24"]}
LARGE = {f"z{i}": [f"10.{i}.0.0/16"] for i in range(200)}
FULL = {f"zone-{i:026}": [f"10.0.{k}.0-10.0.{k}.255" for k in range(8)] for i in range(MOST_ZONES)}


def want(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got}\n  wanted {wanted}")


def pieces(zones, stamp=1):
    announced = Announced()
    announced.put(zones, stamp)
    return [(f"{ip}/128", route.payload()) for ip, route in announced.routes.items()]


def take(learned, routes, peer=A, name="r"):
    """How many of the routes were refused."""
    n = 0
    for nlri, payload in routes:
        try:
            learned.take(name, nlri, peer, payload)
        except Bad:
            n += 1
    return n


def a_piece_has_version_number_pieces_stamp_and_text():
    want([(n, p.hex()) for n, p in pieces({"db": ["p*"]}, 0x0102)],
         [("100::/128", "02000000" "00010000" "0000000000000102" + b'{"db":["p*"]}'.hex())])


def thousand_zones_pass_in_pieces_that_fit_into_a_message():
    routes, learned = pieces(FULL), Learned()
    want(max(len(p) for _, p in routes), HEAD.size + PIECE)
    random.Random(1).shuffle(routes)
    want((take(learned, routes[:-1]), learned.zones), (0, None))
    want((take(learned, routes[-1:]), learned.zones == FULL, learned.new), (0, True, True))


def zones_that_are_too_long_are_not_announced():
    announced = Announced()
    announced.put(SMALL, 1)
    before = dict(announced.routes)
    try:
        announced.put({"a": ["x" * PIECE * MOST_PIECES]}, 2)
        raise AssertionError("it was put")
    except Bad:
        want(announced.routes, before)


def fewer_pieces_than_before_are_withdrawn():
    announced = Announced()
    announced.put(LARGE, 1)
    n = len(announced.routes)
    announced.changed.clear()
    announced.put(SMALL, 2)
    want((n > 1, len(announced.routes), announced.changed),
         (True, 1, {address(i) for i in range(n)}))


def pieces_of_two_stamps_are_no_zones():
    learned, old, new = Learned(), pieces(LARGE, 1), pieces(LARGE | SMALL, 2)
    want(len(old) == len(new) > 1, True)
    want([take(learned, some) for some in (old[:-1], new[-1:], old[-1:])], [0, 0, 0])
    want(learned.zones, None)
    take(learned, new)
    want(learned.zones, LARGE | SMALL)


def the_newest_stamp_counts_also_over_speakers_and_reflectors():
    learned = Learned()
    take(learned, pieces(SMALL, 5))
    take(learned, pieces(LARGE, 4), B, "t")
    want(learned.zones, SMALL)
    take(learned, pieces(LARGE, 6)[:1], B, "t")
    take(learned, pieces(LARGE, 6)[1:], B, "r")
    want((learned.zones, learned.parts), (LARGE, {}))


def zones_that_are_said_again_are_not_new():
    learned = Learned()
    take(learned, pieces(SMALL, 1))
    learned.new = False
    take(learned, pieces(SMALL, 1))
    take(learned, pieces(SMALL, 2))
    want((learned.new, learned.stamp), (False, 2))
    learned.again()
    want(learned.new, True)


def rubbish_of_one_speaker_keeps_no_other_from_changing_the_zones():
    learned = Learned()
    take(learned, pieces(SMALL, 5))
    rubbish = [("100::/128", HEAD.pack(VERSION, 0, 0, 1, 0, 2 ** 64 - 1) + b"rubbish")]
    want((take(learned, rubbish, B), learned.zones), (1, SMALL))
    want((take(learned, rubbish, B), learned.zones), (0, SMALL))
    want((take(learned, pieces(LARGE, 6)), learned.zones), (0, LARGE))
    want((take(learned, pieces(SMALL, 7), B), learned.zones), (0, SMALL))


def a_text_without_zones_ends_them_and_a_withdrawal_does_not():
    remote = Remote("10.9.0.2", ["r"], {"ipv6 unicast"})
    for nlri, payload in pieces(SMALL, 1):
        remote.announce("r", nlri, A, payload)
        remote.withdraw("r", nlri)
    want((remote.zones.zones, remote.dirty), (SMALL, set()))
    for nlri, payload in pieces({}, 2):
        remote.announce("r", nlri, A, payload)
    want((remote.zones.zones, remote.zones.new), ({}, True))
    want(remote.reflectors["r"].refused, 0)


def what_is_no_piece_is_refused_and_counted():
    (nlri, good), remote = pieces(SMALL, 9)[0], Remote("10.9.0.2", ["r"], {"ipv6 unicast"})
    head = HEAD.pack
    bad = [(nlri, good[:i]) for i in range(1, HEAD.size + 1)]
    bad += [("100::1/128", good), ("10.0.0.1/32", good), ("100::/64", good), ("x", good),
            (nlri, head(VERSION, 0, 1, 1, 0, 9) + b"{}"),
            (nlri, head(VERSION, 0, 0, 0, 0, 9) + b"{}"),
            (nlri, head(VERSION, 0, 0, MOST_PIECES + 1, 0, 9) + b"{}"), (nlri, good + bytes(PIECE))]
    for n, p in bad:
        remote.announce("r", n, A, p)
    want((remote.reflectors["r"].refused, remote.zones.zones, remote.zones.parts),
         (len(bad), None, {}))


def bad_zones_are_refused_once_and_those_before_stay():
    texts = [b"x", b"[]", b"1", b"[" * 2000, b'{"a":[]}', b'{"a":1}', b'{"a":[1]}', b'{"":["x"]}',
             b'{"default":["x"]}', b'{"a b":["x"]}', b'{"' + b"a" * 32 + b'":["x"]}',
             b'{"a":["x y"]}', b'{"a":["\\u001b[2J"]}', b'{"a":["' + b"x" * 315 + b'"]}',
             b'{"a":["\\ud800"]}', b"\xff"]
    texts += [str({f"z{i}": ["x"] for i in range(MOST_ZONES + 1)}).replace("'", '"').encode(),
              str({"a": [f"{i}" for i in range(257)]}).replace("'", '"').encode()]
    for text in texts:
        learned = Learned()
        take(learned, pieces(SMALL, 1))
        n = -(-len(text) // PIECE)
        routes = [(f"{address(i)}/128", HEAD.pack(VERSION, 0, i, n, 0, 2) +
                   text[i * PIECE:(i + 1) * PIECE]) for i in range(n)]
        want((take(learned, routes), take(learned, routes), learned.zones), (1, 0, SMALL))
        take(learned, pieces(LARGE, 3))
        want(learned.zones, LARGE)


def more_speakers_than_eight_are_refused():
    learned = Learned()
    first = pieces(LARGE, 1)[:1]
    for i in range(MOST_SPEAKERS):
        want(take(learned, first, f"10.9.1.{i}"), 0)
    want(take(learned, first, A), 1)


def random_bytes_in_pieces_never_end_the_program():
    rng, (nlri, good) = random.Random(1), pieces(SMALL, 1)[0]
    for _ in range(20000):
        data, learned = bytearray(good), Learned()
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        take(learned, [(nlri, bytes(data))])


def a_host_with_an_address_of_zones_stays_at_its_switch():
    tlv = bytes.fromhex("fe1f 001882 65 01 82 0000") + address(0).packed + \
        bytes.fromhex("01 01 0101 1144 00")
    local = Local(0)
    want((local.rows([(tlv, "none")], 0), local.routes), (set(), {}))
    try:
        Route.read(f"{address(0)}/128", Route(None, tlv, "none", 1).payload())
        raise AssertionError("it was read")
    except Refused:
        pass


def the_requests_have_all_members_and_lines_below_4096_bytes():
    members = [f"nqn.{i:03}" + "x" * 307 for i in range(256)]
    got = list(words({"a": members, "b": ["10.0.0.1"]}))
    want([w["step"] for w in got], ["begin"] + ["add"] * (len(got) - 2) + ["apply"])
    want([m for w in got[1:-1] if w["zone"] == "a" for m in w["members"]], members)
    want(max(len(str(w)) for w in got) < 4000, True)


def read(text):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
        f.write(text)
        f.flush()
        zones, mistakes = read_file(f.name)
        return zones, [m.replace(f.name, "F") for m in mistakes]


def a_file_has_zones_by_name():
    want(read("zones:\n  db: {members: [10.0.0.1, fd00::/64, 10.0.0.1-10.0.0.9, 'nqn.x*']}\n"),
         ({"db": ["10.0.0.1", "fd00::/64", "10.0.0.1-10.0.0.9", "nqn.x*"]}, []))
    want(read("zones: {}\n"), ({}, []))


def all_mistakes_of_a_file_come_at_once_with_their_places():
    members = ("p1", "10.0.0.1/33", "10.0.0.1/24", "10.0.0.9-10.0.0.1", "10.0.0.1-fd00::1",
               "fe80::1%e1", "10.0.0.0/255.0.0.0", "'nqn. x'")
    for m in members:
        zones, mistakes = read(f"zones: {{a: {{members: [{m}]}}}}")
        m = m.strip("'")
        want((zones, len(mistakes)), (None, 1))
        want(mistakes[0].startswith(f'F:1:23: zones.a.members: "{m}" is no '), True)
    want(read("zone: {}\nzones:\n  default: {members: [10.0.0.1]}\n  a: {}\n  a: {}\n"
              "  b: {member: []}\n"),
         (None, ['F:1:1: zone: is no key here; did you mean "zones"?',
                 'F:5:3: zones.a: is there already',
                 'F:3:3: zones.default: a zone has a name of 1 to 31 letters, digits, . _ -, and '
                 'not "default"',
                 "F:4:3: zones.a: has no members; write {members: [10.0.0.1]}",
                 'F:6:7: zones.b.member: is no key here; did you mean "members"?',
                 "F:6:3: zones.b: has no members; write {members: [10.0.0.1]}"]))
    want(read(""), (None, ["F: has no zones; write zones: {} for none"]))
    want(read("zones: 1")[1], ["F:1:8: zones: write a map"])
    want(read("zones: {a: {members: 10.0.0.1}}")[1],
         ["F:1:22: zones.a.members: write a list: [10.0.0.1, 10.0.1.0/24]"])
    want(read("zones: [")[1][0][:20], "F:2:1: is no YAML: d")
    want(read_file("/nonexistent/z")[1], ["/nonexistent/z: No such file or directory"])
    many = "zones:\n" + "".join(f"  z{i}: {{members: [10.0.0.1]}}\n" for i in range(MOST_ZONES + 1))
    want(read(many)[1], ["F:2:3: zones: 1001 are more than 1000"])
    many = ", ".join(f"10.0.{i}.0" for i in range(256))
    want(read(f"zones: {{a: {{members: [{many}, 10.1.0.0]}}}}")[1],
         ["F:1:22: zones.a.members: 257 members are more than 256; use prefixes, ranges or "
          "patterns"])


def mistakes_of_a_file_move_no_terminal():
    with tempfile.TemporaryDirectory() as folder:
        exabgp, path = os.path.join(folder, "exabgp"), os.path.join(folder, "F")
        with open(exabgp, "w") as f:
            f.write("#!/bin/sh\n")
        os.chmod(exabgp, 0o755)
        for text, said in (('zones: {"a\\e[31m\\u202E\\nb": {members: [10.0.0.1]}}',
                            ":1:9: zones.a?[31m??b: a zone has a name"),
                           ("zones: {a\033: 1}", ": is no YAML: unacceptable character"),
                           ("zones: {[a]: 1}", ":1:9: zones.[")):
            with open(path, "w") as f:
                f.write(text)
            done = subprocess.run([os.path.join(ROOT, "control/inof/weir-inof"), "--zones", path,
                                   "--local", "127.0.0.1", "--reflector", "127.0.0.2"],
                                  env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"},
                                  capture_output=True, text=True, timeout=30)
            first, *more = done.stderr.splitlines()
            want((done.returncode, first[:len(path) + 11 + len(said)]),
                 (2, f"weir-inof: {path}{said}"))
            want([line for line in [first, *more] if not line.isprintable() or
                  not line.startswith(f"weir-inof: {path}:")], [])


def the_example_is_a_good_file():
    zones, mistakes = read_file(os.path.join(ROOT, "conf", "inof", "zones.yaml"))
    want((list(zones), mistakes), (["db", "backup"], []))


def what_the_file_may_have_a_switch_may_take():
    zones, _ = read("zones: {a: {members: [10.0.0.1, 'nqn.*']}, 'b.-_': {members: ['*']}}")
    routes = pieces(zones)
    learned = Learned()
    want((take(learned, routes), learned.zones, parse(learned.text)), (0, zones, zones))


TESTS = [a_piece_has_version_number_pieces_stamp_and_text,
         thousand_zones_pass_in_pieces_that_fit_into_a_message,
         zones_that_are_too_long_are_not_announced,
         fewer_pieces_than_before_are_withdrawn,
         pieces_of_two_stamps_are_no_zones,
         the_newest_stamp_counts_also_over_speakers_and_reflectors,
         rubbish_of_one_speaker_keeps_no_other_from_changing_the_zones,
         zones_that_are_said_again_are_not_new,
         a_text_without_zones_ends_them_and_a_withdrawal_does_not,
         what_is_no_piece_is_refused_and_counted,
         bad_zones_are_refused_once_and_those_before_stay,
         more_speakers_than_eight_are_refused,
         random_bytes_in_pieces_never_end_the_program,
         a_host_with_an_address_of_zones_stays_at_its_switch,
         the_requests_have_all_members_and_lines_below_4096_bytes,
         a_file_has_zones_by_name,
         all_mistakes_of_a_file_come_at_once_with_their_places,
         mistakes_of_a_file_move_no_terminal,
         the_example_is_a_good_file,
         what_the_file_may_have_a_switch_may_take]

sys.exit(run_tests(TESTS))
