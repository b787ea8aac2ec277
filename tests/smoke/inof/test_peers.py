#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""iNOF over two switches: weir-inof beside each, with ExaBGP, and FRR as the route reflector
(conf/frr/reflector.conf). Order and reasons of what hosts are told, not times.

usage: test_peers.py BUILD_DIR [TEST...]
"""
import glob
import json
import os
import shutil
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("exabgp", "vtysh", "tcpdump", "tshark")
from test_inof import Agent, PROGRAMS, cut, run # noqa: E402: the path is set by live
from peered import PASSWORD, PROGRAM, REFLECTOR, RUN, Peers, address # noqa: E402

TARGET, INITIATOR = "10.0.0.1", "10.0.0.2"
WRONG = "_ws.malformed || _ws.expert.severity == error || bgp && _ws.expert.severity == warning"


def told(agent):
    return [(n["online"], n["reason"]) for n in agent.notices() if n["host"] == TARGET]


def started(world, *reflectors, words=(), bfd=False):
    """A target at the first switch, and an initiator at the second, which has been told of it."""
    world.start(reflectors or ("rr",), words, bfd)
    target = Agent(world, 1, "target", "nqn.2014-08.org:disk1")
    initiator = Agent(world, 2, "initiator")
    eventually(lambda: told(initiator) == [(True, 0)], "the initiator is told of the target")
    eventually(lambda: target.last(INITIATOR) == (True, 0), "the target is told of the initiator")
    return target, initiator


def nothing_was_told_since(world, initiator, n=1):
    """A fault that comes behind all that happened is the next that the initiator is told."""
    cut(world, 1)
    eventually(lambda: len(told(initiator)) > n, "the cut link")
    want(told(initiator)[n:] == [(False, 1)], f"{told(initiator)}")


def a_target_comes_and_its_cable_is_cut_at_another_switch():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        want(initiator.told()[0]["nqn"] == "nqn.2014-08.org:disk1", f"{initiator.told()}")
        rows = {r["ip"]: r for r in world.switches[2].show("inof", "hosts")["hosts"]}
        want(rows[TARGET]["port"] == "peer" and rows[TARGET]["state"] == "online", f"{rows}")
        cut(world, 1)
        eventually(lambda: told(initiator)[1:] == [(False, 1)], "link-down, and nothing else")
        world.run("h1", "ip", "link", "set", "e1", "up")
        target = Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        eventually(lambda: told(initiator)[2:] == [(True, 0)], "the target is back")
        eventually(lambda: target.last(INITIATOR) == (True, 0), "and is told of the initiator")
        world.end()


def sessions_with_reflectors_are_shown_and_are_events():
    with Peers(PROGRAMS) as world:
        started(world)
        switch = world.switches[2]

        def session():
            rows = switch.show("inof", "peers")["reflectors"]
            return [(r["reflector"], r["session"], r["named"], r["refused"]) for r in rows]

        def events():
            return [(e["event"], e["ip"]) for e in switch.show("events")["events"]
                    if e["event"].startswith("inof-reflector")]

        eventually(lambda: session() == [(REFLECTOR, "up", 1, 0)], f"{session()}")
        world.reflectors["rr"].kill()
        eventually(lambda: session() == [(REFLECTOR, "down", 1, 0)], f"{session()}")
        want(events() == [("inof-reflector", REFLECTOR), ("inof-reflector-gone", REFLECTOR)],
             f"{events()}")
        want("down" in switch.ctl("show", "inof", "peers"), "the table")
        world.end()


def the_commands_of_the_page_connect_two_switches():
    """docs/inof.md; the second switch has a name and an address of its own."""
    bgpd, carrier, peers, zones_of_all = page.commands("inof.md", "More than one switch")
    with Peers(PROGRAMS) as world:
        words = {"/etc/weir/inof.password": world.password, carrier[0]: PROGRAM}

        def start(where, name, command, **more):
            texts = words | {w: os.path.join(live.ROOT, w) for w in command if w[:5] == "conf/"}
            return world.spawn(where, name, *[(texts | more).get(w, w) for w in command])

        os.makedirs(RUN, exist_ok=True)
        shutil.chown(RUN, "frr", "frr")
        world.reflector = start("rr", "bgpd", bgpd)
        for n, where in ((1, "sw"), (2, "sx")):
            world.start_switch(n)
            world.programs_of[n] = start(where, f"inof{n}", carrier, **{
                "sw1": world.name_of(n), "10.9.0.2": address(n)})
        target = Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        initiator = Agent(world, 2, "initiator")
        eventually(lambda: told(initiator) != [], "the initiator is told of the target")
        eventually(lambda: target.last(INITIATOR), "the target is told of the initiator")
        world.programs_of["zones"] = start("rr", "zones", zones_of_all)
        eventually(lambda: told(initiator)[1:] == [(False, 4)], "they are in different zones")
        for n in (1, 2):
            eventually(lambda n=n: "reflector" in world.switches[n].ctl("show", "inof", "zones"),
                       f"switch {n} has the zones of the file")
            want(REFLECTOR in world.switches[n].ctl(*peers[1:]), "the table")
        world.end()


TLV = ("fe1f" "00188265" "01010000" "0a000009" + "00" * 12 + "0101" "0101" "1144" "00")
BAD = [
    ({"cmd": "inof_peer"}, "has a reason"),
    ({"cmd": "inof_peer", "reason": "x"}, "has a reason"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "fd00::1", "tlv": TLV}, "has a peer"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9", "tlv": 1}, "has a tlv"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9", "tlv": TLV + "00"}, "has a tlv"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9", "tlv": TLV[1:]}, "has a tlv"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9", "tlv": "00" * 1000}, "has a tlv"),
    ({"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9",
      "tlv": TLV.replace("0a000009", "7f000001")}, "has a tlv"),
    ({"cmd": "inof_reflectors"}, "one to eight"),
    ({"cmd": "inof_reflectors", "reflectors": [{}] * 9}, "one to eight"),
    ({"cmd": "inof_reflectors", "reflectors": [1]}, "an address and a session"),
    ({"cmd": "inof_reflectors", "reflectors": [{"reflector": "p1", "session": "up"}]},
     "an address and a session"),
]


def words_of_weir_inof_that_cannot_be_change_nothing():
    with Peers(PROGRAMS) as world:
        world.start_switch(1)
        good = {"cmd": "inof_peer", "reason": "none", "peer": "10.9.0.9", "tlv": TLV}
        answers = world.ask(1, *[q for q, _ in BAD], good, good | {"peer": "10.9.0.8"})
        for (request, sentence), answer in zip(BAD, answers):
            want(not answer["ok"] and sentence in answer["error"], f"{request}: {answer}")
        want(answers[-2]["ok"], f"{answers[-2]}")
        want("another switch" in answers[-1].get("error", ""), "the first holder stays")
        rows = world.switches[1].show("inof", "hosts")["hosts"]
        want([(r["ip"], r["peer"]) for r in rows] == [("10.0.0.9", "10.9.0.9")], f"{rows}")
        want(world.switches[1].show("inof", "peers")["reflectors"] == [], "no reflector")
        want(world.switches[1].stop() == 0, world.switches[1].process.said())


def exabgp_that_is_killed_comes_back_and_no_host_is_told():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        for name in (1, 2):
            world.kill_speaker(name)
            world.up_again(name)
        nothing_was_told_since(world, initiator)
        world.end()


def exabgp_owns_no_file_and_writes_into_no_folder():
    """It reads BGP from the network, so its user may become that of a stranger. A file of root in a
    folder of that user could be exchanged for any other of root's."""
    user = ["setpriv", "--reuid", "exabgp", "--regid", "exabgp", "--clear-groups"]
    with Peers(PROGRAMS) as world:
        started(world)
        folders = glob.glob("/run/weir/*.inof")
        want(len(folders) == 2, f"{folders}")
        for folder in folders:
            names = sorted(os.listdir(folder))
            want(names == ["conf", "in", "out", "relay"], f"{names}")
            for path in (folder, *(f"{folder}/{n}" for n in names)):
                want(os.lstat(path).st_uid == 0, f"{path} belongs to {os.lstat(path).st_uid}")
                may_write = run(*user, "test", "-w", path, check=False).returncode == 0
                want(may_write == (path[-3:] in ("/in", "out")), f"{path}: writes: {may_write}")
        world.end()


def weir_inof_that_is_killed_comes_back_and_no_host_is_told():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        for name in (1, 2):
            world.programs_of[name].kill()
            world.start_program(name)
            world.up_again(name)
        nothing_was_told_since(world, initiator)
        world.end()


def a_reflector_that_is_killed_comes_back_and_no_host_is_told():
    with Peers(PROGRAMS) as world:
        target, initiator = started(world)
        world.reflectors["rr"].kill()
        for name in (1, 2):
            eventually(lambda: world.said(name, "is down"), "the loss is said") # noqa: B023
        world.start_reflector()
        for name in (1, 2):
            world.up_again(name)
        eventually(lambda: sorted(world.routes("ipv4")) == [f"{TARGET}/32", f"{INITIATOR}/32"],
                   "the new reflector has both hosts")
        nothing_was_told_since(world, initiator)
        want([n["online"] for n in target.notices()] == [True], f"{target.told()}")
        world.end()


def one_of_two_reflectors_is_enough():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world, "rr", "rq")
        world.reflectors["rr"].kill()
        for name in (1, 2):
            eventually(lambda: world.said(name, "is down"), "the loss is said") # noqa: B023
        cut(world, 1)
        eventually(lambda: told(initiator)[1:] == [(False, 1)], "link-down by the second one")
        world.run("h1", "ip", "link", "set", "e1", "up")
        Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        eventually(lambda: told(initiator)[2:] == [(True, 0)], "the target is back")
        world.start_reflector()
        for name in (1, 2):
            world.up_again(name)
        said = {n: world.programs_of[n].err().count("is down") for n in (1, 2)}
        world.reflectors["rq"].kill()
        for name in (1, 2):
            err = world.programs_of[name].err
            eventually(lambda: err().count("is down") > said[name], # noqa: B023
                       "the loss of the second is said")
        nothing_was_told_since(world, initiator, 3)
        world.end()


def a_switch_that_ends_takes_its_hosts_with_it_by_bfd_down():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        want(world.switches[1].stop() == 0, world.switches[1].process.said())
        eventually(lambda: told(initiator)[1:] == [(False, 7)], "bfd-down, and nothing else")
        world.start_switch(1)
        Agent(world, 1, "target", "nqn.2014-08.org:disk1")
        eventually(lambda: told(initiator)[2:] == [(True, 0)], "the target is back")
        world.end()


def a_switch_that_is_cut_off_keeps_the_last_word_and_others_hear_of_bfd_down():
    with Peers(PROGRAMS) as world:
        target, initiator = started(world, words=("--hold", "3", "--restart", "1"))
        world.silence(1)
        eventually(lambda: told(initiator)[1:] == [(False, 7)], "bfd-down, and nothing else")
        eventually(lambda: world.said(1, "is down"), "the cut")
        world.heal(1)
        eventually(lambda: told(initiator)[2:] == [(True, 0)], "the target is back")
        want([n["online"] for n in target.notices()] == [True], f"{target.told()}")
        world.end()


def bfd_of(world, ip):
    return {p["peer"]: p["status"] for p in world.json_of("show bfd peers")}.get(ip)


def with_bfd_a_switch_that_is_silent_is_noticed_before_the_hold_time():
    """The commands of docs/inof.md in namespaces: -N in place of -d."""
    words = [[os.path.basename(c[0]), *(w for w in c if w[:5] in ("conf/", "-n"))]
             for c in page.commands("inof.md", "BFD to the reflector")]
    want(words == [["zebra"], ["bfdd"], ["bgpd", "-n", "conf/frr/reflector.conf"], ["zebra"],
                   ["bfdd", "conf/frr/bfd.conf"]], f"{words}")
    with Peers(PROGRAMS) as world:
        # A reflector that waited for a restart would tell of nothing within the test.
        target, initiator = started(world, words=("--restart", "600"), bfd=True)
        # The links here are point to point, which bfdd of the reflector takes for several hops.
        peer = f"peer {REFLECTOR}"
        world.start_bfd("sw", "-f", world.frr_conf(
            "sw", "bfd.conf", peer, f"{peer} multihop local-address {address(1)}"))
        eventually(lambda: bfd_of(world, address(1)) == "up", "BFD is up")
        got = [world.run("rr", "ip", "route", "show", "proto", "bgp").stdout,
               world.json_of("show ip route bgp")]
        want(got == ["", {}], f"no route of a host is to forward by: {got}")
        world.swallow(1)
        eventually(lambda: told(initiator)[1:] == [(False, 7)], "bfd-down, and nothing else")
        why = world.bgp(f"neighbors {address(1)}")[address(1)].get("lastNotificationReason")
        want(why == "Cease/BFD Down", f"the session ended by {why}")
        want([n["online"] for n in target.notices()] == [True], f"{target.told()}")
        # A speaker that is killed is no fault of the switch, and BFD goes on.
        world.kill_speaker(2)
        world.up_again(2)
        want(told(initiator)[2:] == [], f"{told(initiator)}")
        world.end()


def hosts_with_ipv6_addresses_find_each_other_and_part():
    with Peers(PROGRAMS) as world:
        world.start()
        target = Agent(world, 1, "target", "nqn.2014-08.org:disk1", ip="fd00::1")
        initiator = Agent(world, 2, "initiator", ip="fd00::2")
        eventually(lambda: initiator.last("fd00::1") == (True, 0), "the initiator is told")
        eventually(lambda: target.last("fd00::2") == (True, 0), "the target is told")
        cut(world, 1)
        eventually(lambda: initiator.last("fd00::1") == (False, 1), "link-down")
        want([n["host"] for n in initiator.notices()] == ["fd00::1"] * 2, f"{initiator.told()}")
        world.end()


def of_two_switches_with_a_host_the_first_keeps_it_until_it_goes():
    with Peers(PROGRAMS, homes=((1, 1), (2, 2), (3, 3))) as world:
        _, initiator = started(world)
        world.start_switch(3)
        Agent(world, 3, "target", "nqn.2014-08.org:disk1", ip=TARGET)

        def holder(n):
            rows = {r["ip"]: r for r in world.switches[n].show("inof", "hosts")["hosts"]}
            return rows.get(TARGET, {}).get("peer")

        eventually(lambda: holder(3) == "", "the third switch has the host at its port")
        world.start_program(3)
        world.up_again(3)
        eventually(lambda: len(world.routes("ipv4")[f"{TARGET}/32"]) == 2, "both announce it")
        want((holder(1), holder(2), holder(3)) == ("", address(1), ""), "the first one holds it")
        cut(world, 1)
        eventually(lambda: holder(2) == address(3), "the third one holds it")
        eventually(lambda: told(initiator)[-1] == (True, 0), f"{told(initiator)}")
        world.end()


def a_stranger_without_the_password_is_refused():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        world.start_program(3, password=False)
        eventually(lambda: world.refused_by("TCPMD5NotFound"), "segments without the digest")
        want(not world.said(3, "is up"), "no session")
        want(world.established() == [address(1), address(2)], f"{world.established()}")
        nothing_was_told_since(world, initiator)
        world.end()


STRANGER = """neighbor {reflector} {{
  router-id {local}; local-address {local}; local-as 65000; peer-as 65000;
  md5-password "{password}"; outgoing-ttl 254;
  family {{ ipv4 unicast; }}
}}
"""


def a_stranger_behind_a_router_is_refused():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        conf = os.path.join(world.logs, "stranger.conf")
        with open(conf, "w") as f:
            f.write(STRANGER.format(reflector=REFLECTOR, local=address(3), password=PASSWORD))
        stranger = world.spawn("st", "stranger", "env", "exabgp.daemon.user=root",
                               "exabgp.api.cli=false", "exabgp.tcp.bind=", "exabgp", conf)
        eventually(lambda: world.refused_by("TCPMinTTLDrop"), "segments with a TTL below 255")
        want(world.established() == [address(1), address(2)], f"{world.established()}")
        stranger.kill()
        nothing_was_told_since(world, initiator)
        world.end()


def the_words_of_bgp_are_well_formed_to_tshark():
    with Peers(PROGRAMS) as world:
        path = os.path.join(world.logs, "bgp.pcap")
        dump = world.spawn("rr", "tcpdump", "tcpdump", "-i", "r1", "-U", "-w", path, "tcp", "port",
                           "179")
        eventually(lambda: "listening" in dump.err(), "tcpdump listens")
        _, initiator = started(world)
        cut(world, 1)
        eventually(lambda: told(initiator)[-1] == (False, 1), "the cut link")
        world.start_zones("zones:\n" + "".join(f"  {'z' * 26}{i}: {{members: ['*']}}\n"
                                               for i in range(99)))
        eventually(lambda: len(zones(world, 1)) == 99, "zones in two pieces")
        world.write_zones(APART_TEXT)
        os.kill(world.programs_of["zones"].p.pid, signal.SIGHUP)
        eventually(lambda: zones(world, 1) == APART, "zones in one")
        eventually(lambda: list(world.routes("ipv6")) == ["100::/128"], "one is withdrawn")
        dump.stop()

        def fields(*words):
            return run("tshark", "-n", "-r", path, "-T", "fields", *words).stdout.split()

        text = run("tshark", "-n", "-r", path, "-V", "-Y", WRONG).stdout
        want(text == "", text)
        kinds = {int(t) for row in fields("-Y", "bgp.type == 2", "-e",
                                          "bgp.update.path_attribute.type_code")
                 for t in row.split(",")}
        want({1, 2, 224} <= kinds, f"{kinds}")
        world.end()


def zones(world, n):
    """Without the default zone: [(zone, from, hidden, members)]."""
    rows = world.switches[n].show("inof", "zones")["zones"]
    return [(r["zone"], r["from"], r["hidden"], r["members"]) for r in rows[1:]]


DB = ("db", "reflector", False, ["10.0.0.1", "10.0.0.2"])
APART = [("a", "reflector", False, [TARGET]), ("b", "reflector", False, [INITIATOR])]
APART_TEXT = f"zones: {{a: {{members: [{TARGET}]}}, b: {{members: [{INITIATOR}]}}}}"


def zones_beside_the_reflector_reach_every_switch_and_change_live():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        world.start_zones(APART_TEXT)
        eventually(lambda: zones(world, 1) == zones(world, 2) == APART, f"{zones(world, 1)}")
        eventually(lambda: told(initiator)[1:] == [(False, 4)], "zone-change, and nothing else")
        world.write_zones(f"zones: {{db: {{members: [{TARGET}, {INITIATOR}]}}}}")
        os.kill(world.programs_of["zones"].p.pid, signal.SIGHUP)
        eventually(lambda: told(initiator)[2:] == [(True, 4)], "they are in one zone")
        want(zones(world, 1) == zones(world, 2) == [DB], f"{zones(world, 2)}")
        world.write_zones(f"zones: {{db: {{members: [{TARGET}, p1]}}}}")
        os.kill(world.programs_of["zones"].p.pid, signal.SIGHUP)
        eventually(lambda: world.said("zones", "the zones stay as they were"), "a mistake")
        want(":1:34: zones.db.members: \"p1\" is no address" in world.programs_of["zones"].err(),
             world.programs_of["zones"].err())
        world.write_zones("zones: {}")
        os.kill(world.programs_of["zones"].p.pid, signal.SIGHUP)
        eventually(lambda: zones(world, 1) == zones(world, 2) == [], "no zones of the reflector")
        nothing_was_told_since(world, initiator, 3)
        world.end()


def thousand_zones_outlive_their_speaker_and_the_reflector():
    with Peers(PROGRAMS) as world:
        _, initiator = started(world)
        members = ", ".join(f"10.{i}.0.0/16" for i in range(1, 9))
        world.start_zones("zones:\n" + "".join(
            f"  z{i}: {{members: [{members}]}}\n" for i in range(999)) +
            f"  db: {{members: [10.0.0.0/24, 'nqn.2014-08.org:*']}}\n", "--restart", "1")
        eventually(lambda: len(zones(world, 1)) == len(zones(world, 2)) == 1000, "1,000 zones")
        world.programs_of["zones"].kill()
        eventually(lambda: world.routes("ipv6") == {}, "the reflector has withdrawn the zones")
        want(len(zones(world, 1)) == len(zones(world, 2)) == 1000, "the zones stay")
        world.reflectors["rr"].kill()
        for name in (1, 2):
            eventually(lambda: world.said(name, "is down"), "the loss is said") # noqa: B023
        world.programs_of[1].kill()
        world.start_program(1)
        eventually(lambda: world.said(1, "the switch answers"), "weir-inof is back")
        want(len(zones(world, 1)) == len(zones(world, 2)) == 1000, "the zones stay")
        world.start_reflector()
        for name in (1, 2):
            world.up_again(name)
        nothing_was_told_since(world, initiator)
        world.end()


def a_zone_of_the_policy_counts_where_the_reflector_has_its_name():
    with Peers(PROGRAMS) as world:
        world.start_reflector()
        world.inof = "inof: {zones: {a: {members: [10.0.0.7]}}}"
        world.start_switch(1)
        world.start_program(1)
        world.start_zones(APART_TEXT)
        hidden = [("a", "policy", False, ["10.0.0.7"]), ("a", "reflector", True, [TARGET]),
                  ("b", "reflector", False, [INITIATOR])]
        eventually(lambda: sorted(zones(world, 1)) == hidden, f"{zones(world, 1)}")
        world.switches[1].ctl("inof", "zone", "add", "b", "10.0.0.8")
        hidden[2:] = [("b", "reflector", True, [INITIATOR]), ("b", "weirctl", False, ["10.0.0.8"])]
        want(sorted(zones(world, 1)) == hidden, f"{zones(world, 1)}")
        world.end()


ZONE = {"cmd": "inof_zones", "step": "add", "zone": "a", "members": [TARGET]}
BAD_ZONES = [
    ({}, "has the steps"), ({"step": "later"}, "has the steps"), ({"zone": "default"}, "a name"),
    ({"zone": "x" * 32}, "a name"), ({"zone": "a b"}, "a name"), ({"zone": 1}, "a name"),
    ({"members": []}, "a list"), ({"members": "x"}, "a list"), ({"members": [1]}, "a text"),
    ({"members": ["p1"]}, "is no address"), ({"members": ["nqn.\u001b[2J"]}, "is no NQN"),
    ({"members": [TARGET, TARGET]}, "already"),
    ({"members": [f"10.1.{i}.0" for i in range(200)]}, ""), # and 57 more
    ({"members": [f"10.2.{i}.0" for i in range(57)]}, "at most 256"),
]


def zones_that_cannot_be_are_refused_as_a_whole():
    with Peers(PROGRAMS) as world:
        world.start_reflector()
        world.start_switch(1)
        begin, apply = {"cmd": "inof_zones", "step": "begin"}, {"cmd": "inof_zones",
                                                                "step": "apply"}
        want(all(a["ok"] for a in world.ask(1, begin, ZONE, apply)), "good zones")
        want(zones(world, 1) == APART[:1], f"{zones(world, 1)}")
        for bad, sentence in BAD_ZONES:
            if sentence:
                word = ZONE | {"step": None, "zone": "b"} | bad if "step" in bad or not bad else \
                    ZONE | {"zone": "b"} | bad
                filler = [ZONE | {"zone": "b"} | BAD_ZONES[-2][0]] if sentence == "at most 256" \
                    else []
                *_, answer, after = world.ask(1, begin, *filler, word, apply)
                want(not answer["ok"] and sentence in answer["error"], f"{bad}: {answer}")
                want(not after["ok"], "nothing is left to apply")
        many = [ZONE | {"zone": f"z{i}"} for i in range(1001)]
        answers = world.ask(1, begin, *many, apply)
        want([a["ok"] for a in answers] == [True] * 1001 + [False, False], "the last one")
        want(zones(world, 1) == APART[:1], f"{zones(world, 1)}")
        world.end()


if __name__ == "__main__":
    sys.exit(live.run_tests([
        a_target_comes_and_its_cable_is_cut_at_another_switch,
        the_commands_of_the_page_connect_two_switches,
        sessions_with_reflectors_are_shown_and_are_events,
        words_of_weir_inof_that_cannot_be_change_nothing,
        exabgp_that_is_killed_comes_back_and_no_host_is_told,
        exabgp_owns_no_file_and_writes_into_no_folder,
        weir_inof_that_is_killed_comes_back_and_no_host_is_told,
        a_reflector_that_is_killed_comes_back_and_no_host_is_told,
        one_of_two_reflectors_is_enough,
        a_switch_that_ends_takes_its_hosts_with_it_by_bfd_down,
        a_switch_that_is_cut_off_keeps_the_last_word_and_others_hear_of_bfd_down,
        with_bfd_a_switch_that_is_silent_is_noticed_before_the_hold_time,
        hosts_with_ipv6_addresses_find_each_other_and_part,
        of_two_switches_with_a_host_the_first_keeps_it_until_it_goes,
        a_stranger_without_the_password_is_refused,
        a_stranger_behind_a_router_is_refused,
        the_words_of_bgp_are_well_formed_to_tshark,
        zones_beside_the_reflector_reach_every_switch_and_change_live,
        thousand_zones_outlive_their_speaker_and_the_reflector,
        a_zone_of_the_policy_counts_where_the_reflector_has_its_name,
        zones_that_cannot_be_are_refused_as_a_whole,
    ]))
