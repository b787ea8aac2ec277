#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two stock FRRs talk through a switch whose routes come from its own FRR (conf/frr).

usage: test_bgp.py BUILD_DIR [TEST...]
"""
import json
import os
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
import page # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("ping", "tshark", "vtysh")
from routers import ANSWER, DAEMONS, PLANE, RUN, UNTIL_STOPPED, Routers # noqa: E402: see live
from switch import Programs, pick # noqa: E402
from world import run, switch_name # noqa: E402

RECEIVER_ROUTER = "10.2.0.1" # of r2
UNNUMBERED = "169.254.0.1" # zebra's name for an IPv6 next hop of an IPv4 route
PAUSED_S = 10 * 0.9
PROGRAMS = Programs(sys.argv[1])


def lab():
    return Routers()


def started(world):
    """The switch and all routers, with both paths to r2."""
    switch = world.start_switch(PROGRAMS, switch_name())
    world.start_frr()
    converged(world)
    return switch


def converged(world):
    eventually(lambda: world.paths() == ["p2", "p3"], "two paths to r2")
    eventually(lambda: world.paths("h1") == ["e1"], "r1 knows r2's network")
    eventually(lambda: world.paths("h2", "10.1.0.0/24") == ["e2", "e3"], "r2 knows r1's network")
    eventually(lambda: len(bfd_up(world)) == 3, "three BFD sessions")


def bfd_up(world):
    return [p["peer"] for p in world.ask_json(PLANE, "show bfd peers") or []
            if p["status"] == "up"]


def routes(world, switch):
    """The IPv4 routes by BGP of the switch, and those of the kernel."""
    ours = {(r["to"], r.get("via"), r["port"]) for r in switch.show("routes")["routes"]
            if r["source"] == "bgp"}
    theirs = set()
    for r in json.loads(world.run(PLANE, "ip", "-j", "route", "show", "proto", "bgp").stdout):
        for hop in r.get("nexthops") or [r]:
            via = hop.get("gateway") or hop["via"]["host"]
            theirs.add((r["dst"] if "/" in r["dst"] else r["dst"] + "/32", via, hop["dev"]))
    return ours, theirs


def same_routes(world, switch):
    eventually(lambda: len(set(map(frozenset, routes(world, switch)))) == 1,
               f"show routes is ip route: {routes(world, switch)}")


def pings(world):
    """From a network of r1 to one of r2, through the switch."""
    return world.run("h1", "ping", "-q", "-c", "3", "-i", "0.1", "-W", "1", "-I", ANSWER,
                     RECEIVER_ROUTER, check=False).stdout.count(" 0% packet loss") == 1


def fields(path, *names, only=""):
    done = run("tshark", "-n", "-r", path, *(["-Y", only] if only else []), "-T", "fields",
               *[a for n in names for a in ("-e", n)])
    return [line.split("\t") for line in done.stdout.splitlines()]


def bgp_numbered_and_unnumbered_with_md5_bfd_and_ecmp():
    with lab() as world:
        path = os.path.join(world.logs, "bgp.pcap")
        dump = world.spawn("h2", "tcpdump", "tcpdump", "-i", "any", "-w", path, "-U", "-Z", "root")
        eventually(lambda: "listening on" in dump.err(), "tcpdump listens")
        switch = started(world)
        same_routes(world, switch)
        want(pings(world), "r1 reaches r2")
        via = {v for to, v, _ in routes(world, switch)[0] if to == "10.2.0.0/24"}
        want(via == {"10.0.2.2", UNNUMBERED}, f"{via}")
        drops = [d for d in switch.show("drops")["drops"] if d["class"] in (3, 6)]
        want(drops == [], f"lost: {drops}")
        want(switch.stop() == 0, switch.process.said())
        dump.stop()
        want(fields(path, "tcp.options.md5.digest", only="bgp && ip.addr == 10.0.2.2") != [],
             "BGP of the numbered link")
        want(all(d[0] for d in fields(path, "tcp.options.md5.digest",
                                      only="tcp.port == 179 && ip.addr == 10.0.2.2")),
             "each segment is signed by MD5")
        want(fields(path, "frame.number", only="bfd && ipv6") != [], "BFD of the unnumbered link")
        wrong = fields(path, "frame.number", "_ws.expert.message",
                       only="_ws.expert.severity == error || _ws.malformed")
        want(wrong == [], f"tshark has something against frames: {wrong[:5]}")


def a_cut_link_moves_lossless_traffic_with_pfc_and_ecn():
    with lab() as world:
        switch = started(world)
        receiver = world.receiver(PROGRAMS)
        sender = world.sender(PROGRAMS, "--qps", "8", "--rto", "20ms", *UNTIL_STOPPED)
        eventually(lambda: both_carry(switch), "both links carry class 3")
        before = state(switch)
        world.carrier("e2", False)
        eventually(lambda: world.paths() == ["p3"], "the other path remains")
        eventually(lambda: state(switch)["marks"] > before["marks"] + 100 and
                   state(switch)["pauses"] > before["pauses"], "marks and PAUSE on the new path")
        same_routes(world, switch)
        want(sender.stop(seconds=60) == 0, sender.said())
        receiver.stop()
        lost = [d for d in switch.show("drops")["drops"]
                if d["class"] == 3 and d["reason"] not in ("port-down", "no-route")]
        want(lost == [], f"class 3 lost frames: {lost}")
        world.carrier("e2", True)
        converged(world)
        want(switch.stop() == 0, switch.process.said())


def bfd_holds_under_full_load_and_while_a_class_is_paused():
    """Data fill both links to r2, and r2 pauses class 3 of one of them, ten times as long as BFD
    waits for a frame."""
    with lab() as world:
        switch = started(world)
        before = downs(world)
        receiver = world.receiver(PROGRAMS)
        sender = world.sender(PROGRAMS, "--qps", "8", "--rto", "1s", *UNTIL_STOPPED)
        eventually(lambda: both_carry(switch) and state(switch)["marks"] > 100, "full links")
        pauser = world.pauser("e2", PAUSED_S)
        eventually(lambda: paused(switch) > 10, "p2 obeys PAUSE of class 3")
        want(pauser.wait(60) == 0, pauser.said())
        want(downs(world) == before, f"{before} sessions had gone down, now {downs(world)}")
        want(len(bfd_up(world)) == 3, "three BFD sessions")
        want(sender.stop(seconds=60) == 0, sender.said())
        receiver.stop()
        want([d for d in switch.show("drops")["drops"] if d["class"] == 3] == [], "no loss")
        want(switch.stop() == 0, switch.process.said())


def downs(world):
    """How often a BFD session of the switch's FRR went down."""
    return sum(p["session-down"] for p in world.ask_json(PLANE, "show bfd peers counters"))


def paused(switch):
    return sum(r["rx_pause"] for r in switch.show("pfc")["pfc"]
               if r["port"] == "p2" and r["class"] == 3)


def queue(switch, port):
    return pick(switch.show("queues")["queues"], port=port, queue=3)


def both_carry(switch):
    return all(queue(switch, p).get("tx_packets", 0) > 100 for p in ("p2", "p3"))


def state(switch):
    """Marks of the path that remains, and PAUSE frames to the sender."""
    pauses = sum(r["tx_pause"] for r in switch.show("pfc")["pfc"] if r["port"] == "p4")
    return {"marks": queue(switch, "p3")["ecn_marked"], "pauses": pauses}


def a_silent_link_is_found_by_bfd():
    """Both ends stay up, and the frames between them are lost."""
    with lab() as world:
        switch = started(world)
        peer = {"10.0.2.2"}
        world.silence("e2", True)
        eventually(lambda: not peer & set(bfd_up(world)), "BFD reports it")
        eventually(lambda: world.paths() == ["p3"], "the other path remains")
        eventually(lambda: world.paths("h2", "10.1.0.0/24") == ["e3"], "and r2's way back")
        same_routes(world, switch)
        want(pick(switch.show("ports")["ports"], name="p2")["up"], "the link itself stays up")
        want(pings(world), "r1 reaches r2 by the other path")
        world.silence("e2", False)
        converged(world)
        same_routes(world, switch)
        want(switch.stop() == 0, switch.process.said())


def each_daemon_may_be_killed_and_comes_back():
    with lab() as world:
        switch = started(world)
        world.kill_daemon(PLANE, "bgpd")
        eventually(lambda: world.paths() == [], "zebra takes the routes of bgpd back")
        same_routes(world, switch)
        world.start_frr([PLANE], ["bgpd"])
        converged(world)
        same_routes(world, switch)
        world.kill_daemon(PLANE, "zebra")
        same_routes(world, switch)
        want(pings(world), "the routes stay while zebra is away")
        for daemon in ("bgpd", "bfdd"): # as watchfrr does after zebra has died
            world.kill_daemon(PLANE, daemon)
        world.start_frr([PLANE])
        converged(world)
        same_routes(world, switch)
        want(pings(world), "the routes are those of before")
        switch.process.kill()
        eventually(lambda: world.paths("h1") == [], "the neighbours notice that the switch is gone")
        switch = world.start_switch(PROGRAMS, switch_name())
        converged(world)
        same_routes(world, switch)
        eventually(lambda: pings(world), "r1 reaches r2 again")
        want(switch.stop() == 0, switch.process.said())


def the_commands_of_the_page_start_frr():
    """docs/bgp.md, command by command. The daemons go into the background."""
    with lab() as world:
        switch = world.start_switch(PROGRAMS, switch_name())
        world.start_frr(["h1", "h2"])
        for words in page.commands("bgp.md", "The files"):
            done = run(*words, check=False, cwd=live.ROOT)
            want(done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}")
        converged(world)
        same_routes(world, switch)
        want(pings(world), "r1 reaches r2")
        for daemon in DAEMONS:
            with open(f"{RUN}/{world.ns(PLANE)}/{daemon}.pid") as f:
                pid = int(f.read())
            os.kill(pid, signal.SIGTERM)
            eventually(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), f"{daemon} ends")
        want(switch.stop() == 0, switch.process.said())


def the_story_of_the_page_holds_its_checks():
    with open(os.path.join(live.ROOT, "docs", "bgp.md")) as f:
        story = re.search(r"(?m)^    (scripts/run .*)$", f.read())[1].split()
    done = run(*story, "--no-setup", "--build", sys.argv[1], check=False, timeout=200,
               cwd=live.ROOT)
    want(done.returncode == 0, done.stdout + done.stderr)
    want("7 of 7 checks hold" in done.stdout, done.stdout)


sys.exit(live.run_tests([
    the_story_of_the_page_holds_its_checks,
    the_commands_of_the_page_start_frr,
    bgp_numbered_and_unnumbered_with_md5_bfd_and_ecmp,
    a_cut_link_moves_lossless_traffic_with_pfc_and_ecn,
    a_silent_link_is_found_by_bfd,
    bfd_holds_under_full_load_and_while_a_class_is_paused,
    each_daemon_may_be_killed_and_comes_back,
]))
