#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What weir-inof decides (control/inof/hosts.py), with a clock of its own and no program around it.

usage: test_peers.py
"""
import ipaddress
import os
import random
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, "control", "inof"), os.path.join(ROOT, "tests/smoke/live")]
from hosts import (GONE_S, LINGER_S, MOST_HOSTS, NO_END_S, REGISTER_S, SETTLE_S, # noqa: E402
                   Local, Refused, Remote, Route)
from live import run_tests # noqa: E402

FAMILIES = {"ipv4 unicast", "ipv6 unicast"}
TLV = bytes.fromhex(
    "fe24 001882 65 01 81 0000"         # 31 octets and the NQN: version 1, IPv4, subscribed
    "0a000001 000000000000000000000000"
    "01 01 0101 1144 05 6e716e2e61")    # target, RoCE, version 0x0101, port 4420, nqn.a
HOST, NLRI = ipaddress.ip_address("10.0.0.1"), "10.0.0.1/32"
OWN, A, B = "10.9.0.1", "10.9.0.2", "10.9.0.3"


def want(got, wanted):
    if got != wanted:
        raise AssertionError(f"\n  got    {got}\n  wanted {wanted}")


def tlv_of(i):
    return TLV[:10] + bytes([10, 1, i >> 8, i & 255]) + TLV[14:]


def payload(reason="none", stamp=1, tlv=TLV):
    return Route(None, tlv, reason, stamp).payload()


class Switch:
    """A Remote, and a daemon that takes each word."""

    def __init__(self, *reflectors, refuses=False):
        self.names = reflectors or ("r",)
        self.remote = Remote(OWN, self.names, FAMILIES)
        self.refuses = refuses

    def up(self, name="r", now=0, ended=True):
        self.remote.up(name, now)
        for family in FAMILIES if ended else ():
            self.remote.end_of_routes(name, family)
        return self

    def words(self, now=0):
        """What the daemon hears: [(peer, reason)]."""
        self.remote.poll(now)
        out, dirty = [], sorted(self.remote.dirty)
        self.remote.dirty.clear()
        for ip in dirty:
            for peer, tlv, reason in self.remote.says(ip):
                self.remote.answered(ip, peer, tlv, reason, not self.refuses)
                out.append((peer, reason))
        return out

    def announce(self, peer=A, reason="none", stamp=1, name="r", tlv=TLV):
        self.remote.announce(name, NLRI, peer, payload(reason, stamp, tlv))
        return self.words()

    def withdraw(self, name="r"):
        self.remote.withdraw(name, NLRI)
        return self.words()


def the_attribute_has_version_state_reason_stamp_and_the_registration():
    want(payload("none", 0x0102).hex(), "01010000" "0000000000000102" + TLV.hex())
    want(payload("pfc-storm", 3).hex(), "01000200" "0000000000000003" + TLV.hex())
    want(Route.read(NLRI, payload("link-down", 9)), Route(HOST, TLV, "link-down", 9))


def what_is_no_route_of_a_host_is_refused():
    good, rng, n = payload(), random.Random(1), 0
    bad = [good[:i] for i in range(len(good))] + [good + b"x", b""]
    bad += [b"\2" + good[1:], good[:1] + b"\0" + good[2:], good[:2] + b"\1" + good[3:],
            good[:2] + b"\x08" + good[3:]]
    for data in bad:
        try:
            Route.read(NLRI, data)
        except Refused:
            n += 1
    want(n, len(bad))
    for nlri in ("10.0.0.2/32", "10.0.0.0/24", "fd00::1/128", "x", ""):
        try:
            Route.read(nlri, good)
            raise AssertionError(nlri)
        except Refused:
            pass
    for _ in range(20000):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            want(Route.read(NLRI, bytes(data)).ip, HOST)
        except Refused:
            pass


def a_host_that_leaves_is_announced_as_offline_and_then_withdrawn():
    local = Local(0)
    local.rows([(TLV, "none")], 0)
    want(local.routes[HOST], Route(HOST, TLV, "none", 1))
    local.rows([(TLV, "link-down")], 1)
    want(local.routes[HOST], Route(HOST, TLV, "link-down", 2))
    local.rows([(TLV, "none")], 2)
    local.changed.clear()
    local.rows([], 3)
    want((local.routes[HOST].reason, local.changed), ("aged-out", {HOST}))
    local.poll(3 + LINGER_S - 0.1)
    want(list(local.routes), [HOST])
    local.changed.clear()
    local.poll(3 + LINGER_S)
    want((local.routes, local.changed), ({}, {HOST}))


def a_host_that_comes_back_in_time_is_not_withdrawn():
    local = Local(0)
    local.rows([(TLV, "none")], 0)
    local.rows([], 1)
    local.rows([(TLV, "none")], 2)
    local.poll(100)
    want(local.routes[HOST].reason, "none")


def a_daemon_that_begins_anew_has_time_until_its_hosts_register():
    local = Local(0)
    local.rows([(TLV, "none")], 0)
    local.daemon(False, 1)
    local.poll(1 + GONE_S - 0.1)
    want(local.routes[HOST].reason, "none")
    local.daemon(True, 5)
    local.rows([], 5)
    local.poll(5 + REGISTER_S - 0.1)
    want((local.routes[HOST].reason, local.routes[HOST].stamp), ("none", 1))
    local.poll(5 + REGISTER_S)
    want(local.routes[HOST].reason, "aged-out")


def hosts_of_a_daemon_that_stays_away_are_not_reachable():
    local = Local(0)
    local.rows([(TLV, "none")], 0)
    local.daemon(False, 1)
    local.daemon(False, 3)
    local.poll(1 + GONE_S)
    want(local.routes[HOST].reason, "bfd-down")
    local.daemon(True, 20)
    local.rows([(TLV, "none")], 21)
    want(local.routes[HOST].reason, "none")


def the_reason_of_the_host_s_switch_reaches_the_daemon():
    s = Switch().up()
    want(s.announce(), [(A, "none")])
    want(s.announce(), [])
    want(s.announce(reason="pfc-storm", stamp=2), [(A, "pfc-storm")])
    want(s.withdraw(), [])
    want(s.announce(reason="link-down", stamp=3), [])


def a_withdrawal_without_farewell_is_bfd_down():
    s = Switch().up()
    s.announce()
    want(s.withdraw(), [(A, "bfd-down")])


def rubbish_in_place_of_a_host_takes_it_away():
    s = Switch().up()
    s.announce()
    s.remote.announce("r", NLRI, A, b"rubbish")
    want((s.words(), s.remote.reflectors["r"].refused), ([(A, "bfd-down")], 1))


def a_network_that_begins_with_the_address_of_a_host_is_not_the_host():
    s, host = Switch().up(), ipaddress.ip_address("10.1.0.0")
    s.remote.announce("r", f"{host}/32", A, payload(tlv=tlv_of(0)))
    want(s.words(), [(A, "none")])
    s.remote.withdraw("r", f"{host}/24")
    want(s.remote.best(host).peer, A)


def a_reflector_that_is_gone_changes_nothing_and_has_time_to_say_all_again():
    s = Switch().up()
    s.announce()
    s.remote.down("r")
    want(s.words(1e6), [])
    s.up(now=100, ended=False)
    want(s.words(100 + NO_END_S - 0.1), [])
    s.up(now=1000)
    want(s.words(1000 + SETTLE_S - 0.1), [])
    want(s.words(1000 + SETTLE_S), [(A, "bfd-down")])


def a_reflector_that_never_says_the_end_has_120_s():
    s = Switch().up()
    s.announce()
    s.up(now=100, ended=False)
    want(s.words(100 + NO_END_S), [(A, "bfd-down")])


def of_two_switches_with_a_host_the_first_keeps_it():
    s = Switch("r", "t").up("r").up("t")
    want(s.announce(B, name="r"), [(B, "none")])
    want(s.announce(A, name="t"), [])
    want(s.announce(B, "link-down", 2, name="r"), [(B, "bfd-down"), (A, "none")])


def at_the_same_time_the_lower_router_id_has_it():
    s = Switch("r", "t").up("r").up("t")
    s.remote.announce("r", NLRI, "10.9.0.10", payload())
    s.remote.announce("t", NLRI, "10.9.0.9", payload())
    want(s.words(), [("10.9.0.9", "none")])


def a_reflector_that_is_gone_does_not_bring_a_dead_host_back():
    s = Switch("r", "t").up("r").up("t")
    s.announce(name="r")
    s.announce(name="t")
    s.remote.down("t")
    want(s.announce(reason="link-down", stamp=2, name="r"), [(A, "link-down")])
    want(s.withdraw("r"), [])
    s = Switch("r", "t").up("r").up("t")
    s.announce(name="r")
    s.announce(name="t")
    s.remote.down("t")
    want(s.withdraw("r"), [(A, "bfd-down")]) # its switch is gone, and t has no news


def a_reflector_that_is_gone_keeps_the_hosts_of_switches_that_the_other_one_does_not_know():
    s = Switch("r", "t").up("r").up("t")
    want(s.announce(name="t"), [(A, "none")])
    s.remote.down("t")
    want(s.words(1e6), [])
    want(s.announce(B, "link-down", 9, name="r"), []) # of another switch


def a_run_that_begins_while_a_reflector_is_gone_waits_for_it_120_s():
    s = Switch("r", "t")
    s.remote.learned([(A, TLV)])
    s.words(0)
    s.up("r")
    want(s.words(NO_END_S - 0.1), [])
    want(s.words(NO_END_S), [(A, "bfd-down")])


def of_two_reflectors_the_newest_word_counts():
    s = Switch("r", "t").up("r").up("t")
    s.announce(name="r", stamp=5)
    want(s.announce(reason="link-down", name="t", stamp=4), [])
    want(s.announce(reason="link-down", name="t", stamp=6), [(A, "link-down")])


def a_word_of_before_the_clock_was_set_back_counts_no_more():
    for withdrawn in (False, True):
        s = Switch("r", "t").up("r").up("t")
        s.announce(name="r", stamp=2 * 10**18)
        s.announce(name="t", stamp=2 * 10**18)
        s.remote.down("t")
        # The switch of the host begins anew, with an older clock.
        want(s.announce(stamp=10**18, name="r"), [])
        want(s.announce(reason="link-down", stamp=10**18 + 1, name="r"), [(A, "link-down")])
        if withdrawn:
            want(s.withdraw("r"), [])


def a_live_word_goes_before_one_of_a_session_that_ended():
    s = Switch("r", "t").up("r").up("t")
    s.announce(name="t", stamp=9)
    s.up("t", ended=False) # another session, in which it has said nothing yet
    want(s.announce(reason="link-down", stamp=2, name="r"), [(A, "link-down")])
    want(s.announce(stamp=9, name="t"), [(A, "none")])


def stamps_go_on_from_those_that_a_reflector_still_has():
    s, local = Switch().up(), Local(5)
    s.remote.own_route = local.heard
    local.rows([(TLV, "none")], 0)
    s.announce(OWN, stamp=6) # what it says now comes back
    want(local.routes[HOST].stamp, 6)
    s.announce(OWN, stamp=1000)
    want((local.routes[HOST].stamp, local.routes[HOST].reason), (1001, "none"))
    local.end(HOST, "link-down", 0)
    s.announce(OWN, stamp=2000)
    want((local.routes[HOST].stamp, local.routes[HOST].reason), (2001, "link-down"))
    local.poll(LINGER_S)
    want(local.routes, {}) # it is withdrawn all the same
    s.announce(OWN, stamp=2**64 - 1) # no clock says that
    local.rows([(TLV, "none")], 0)
    want(local.routes[HOST].stamp, 2002)


def a_host_that_one_of_two_reflectors_has_is_there():
    s = Switch("r", "t").up("r").up("t")
    s.announce(name="r")
    s.announce(name="t")
    want(s.withdraw("r"), [])
    want(s.withdraw("t"), [(A, "bfd-down")])


def own_routes_are_no_hosts_of_others():
    want(Switch().up().announce(OWN), [])


def a_program_that_begins_anew_says_nothing_that_the_daemon_knows():
    s = Switch()
    s.remote.learned([(A, TLV)])
    want(s.words(), [])
    s.up(ended=False)
    want(s.announce(), [])
    s.up()
    want(s.words(), [])


def what_has_gone_while_the_program_was_away_goes_at_the_end_of_routes():
    s = Switch()
    s.remote.learned([(A, TLV)])
    s.up(ended=False)
    want(s.words(), [])
    s.up()
    want(s.words(), [(A, "bfd-down")])


def a_daemon_that_begins_anew_hears_of_all_hosts():
    s = Switch().up()
    s.announce()
    s.remote.learned([])
    want(s.words(), [(A, "none")])


def a_host_of_this_switch_that_leaves_gives_its_address_to_another_switch():
    s, local = Switch().up(), Local(0)
    s.announce()
    s.remote.retry(local.rows([(TLV, "none")], 0)) # the daemon takes the address from the peer
    s.refuses = True
    want(s.words(), [(A, "none")])
    here = local.rows([(TLV, "link-down")], 1)
    s.refuses = False
    s.remote.retry(here)
    want(s.words(), [(A, "none")])
    s.remote.retry(here)
    want(s.words(), [])


def a_host_that_a_daemon_has_forgotten_holds_no_address():
    s, local = Switch().up(), Local(0)
    local.rows([(TLV, "none")], 0)
    local.daemon(False, 1)
    local.daemon(True, 2)
    s.announce()
    s.remote.retry(local.rows([], 2))
    want(s.withdraw(), [(A, "bfd-down")])


def a_reflector_has_as_many_hosts_as_the_registry():
    s = Switch().up()
    for i in range(MOST_HOSTS + 5):
        tlv = tlv_of(i)
        s.remote.announce("r", f"10.1.{i >> 8}.{i & 255}/32", A, payload(tlv=tlv))
    r = s.remote.reflectors["r"]
    want((len(r.paths), r.overflow, r.refused), (MOST_HOSTS, 5, 0))


TESTS = [the_attribute_has_version_state_reason_stamp_and_the_registration,
         what_is_no_route_of_a_host_is_refused,
         a_host_that_leaves_is_announced_as_offline_and_then_withdrawn,
         a_host_that_comes_back_in_time_is_not_withdrawn,
         a_daemon_that_begins_anew_has_time_until_its_hosts_register,
         hosts_of_a_daemon_that_stays_away_are_not_reachable,
         the_reason_of_the_host_s_switch_reaches_the_daemon,
         a_withdrawal_without_farewell_is_bfd_down,
         rubbish_in_place_of_a_host_takes_it_away,
         a_network_that_begins_with_the_address_of_a_host_is_not_the_host,
         a_reflector_that_is_gone_changes_nothing_and_has_time_to_say_all_again,
         a_reflector_that_never_says_the_end_has_120_s,
         of_two_switches_with_a_host_the_first_keeps_it,
         at_the_same_time_the_lower_router_id_has_it,
         a_reflector_that_is_gone_does_not_bring_a_dead_host_back,
         a_reflector_that_is_gone_keeps_the_hosts_of_switches_that_the_other_one_does_not_know,
         a_run_that_begins_while_a_reflector_is_gone_waits_for_it_120_s,
         of_two_reflectors_the_newest_word_counts,
         a_word_of_before_the_clock_was_set_back_counts_no_more,
         a_live_word_goes_before_one_of_a_session_that_ended,
         stamps_go_on_from_those_that_a_reflector_still_has,
         a_host_that_one_of_two_reflectors_has_is_there,
         own_routes_are_no_hosts_of_others,
         a_program_that_begins_anew_says_nothing_that_the_daemon_knows,
         what_has_gone_while_the_program_was_away_goes_at_the_end_of_routes,
         a_daemon_that_begins_anew_hears_of_all_hosts,
         a_host_of_this_switch_that_leaves_gives_its_address_to_another_switch,
         a_host_that_a_daemon_has_forgotten_holds_no_address,
         a_reflector_has_as_many_hosts_as_the_registry]

sys.exit(run_tests(TESTS))
