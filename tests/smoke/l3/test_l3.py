#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Linux hosts in different subnets talk through the switch as their router: ARP and neighbour
discovery, TTL and checksums, TCP and UDP, flows over two next hops, a reload of routes. IPv4 and
IPv6 throughout.

usage: test_l3.py BUILD_DIR
"""
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402
from hosts import captured, dropped, link, ping, tcp, tshark # noqa: E402

FLOWS = os.path.join(HERE, "flows.py")
N_FLOWS, EACH, FIRST = 400, 3, 20000
ANYCAST = {4: "10.9.0.1", 6: "fd00:9::1"} # on both next hops
TO = {4: "10.0.2.2", 6: "fd00:2::2"}

POLICY = """\
switch: {name: %(name)s, workers: %(workers)s, buffer: {size: 12MB}}
ports:
  - {name: "p[1-4]", device: "xdp:sw[1-4]", speed: 100G,
     ip: ["10.0.[1-4].254/24", "fd00:[1-4]::254/64"]}
routes:
  - {to: 10.9.0.0/16, via: %(via4)s}
  - {to: "fd00:9::/48", via: %(via6)s}
"""
BOTH = {"via4": "[10.0.3.3, 10.0.4.4]", "via6": '["fd00:3::3", "fd00:4::4"]'}
FIRST_ONLY = {"via4": "10.0.3.3", "via6": '"fd00:3::3"'}


def policy(workers=1, via=None):
    return POLICY % {"name": switch_name(), "workers": workers, **(via or BOTH)}


def addresses(world):
    """Host i is 10.0.i.i and fd00:i::i, and its router is the switch."""
    for i in range(1, world.n_hosts + 1):
        h, dev = f"h{i}", f"e{i}"
        world.run(h, "ip", "link", "set", "lo", "up")
        world.run(h, "ip", "addr", "add", f"10.0.{i}.{i}/24", "dev", dev)
        world.run(h, "ip", "addr", "add", f"fd00:{i}::{i}/64", "dev", dev, "nodad")
        world.run(h, "ip", "route", "add", "default", "via", f"10.0.{i}.254")
        world.run(h, "ip", "-6", "route", "add", "default", "via", f"fd00:{i}::254", "dev", dev)
    for h in ("h3", "h4"):
        world.run(h, "ip", "addr", "add", ANYCAST[4] + "/32", "dev", "lo")
        world.run(h, "ip", "addr", "add", ANYCAST[6] + "/128", "dev", "lo", "nodad")


def neighbour(switch, ip):
    rows = [n for n in switch.show("neighbours")["neighbours"] if n["ip"] == ip]
    return rows[0] if rows else {}


def meet(world, switch):
    """The first frame to a station that nobody knows waits while the switch asks for it."""
    for to in TO.values():
        want(ping(world, "h1", to, count=1) == 1, f"the first ping reaches {to}")
    for ip in ("10.0.3.3", "10.0.4.4", "fd00:3::3", "fd00:4::4"):
        eventually(lambda ip=ip: neighbour(switch, ip).get("state") == "reachable",
                   f"next hop {ip} is resolved without a frame to it")


def hosts_in_two_subnets_ping_each_other(world, switch):
    for to, back in ((TO[4], "10.0.1.254"), (TO[6], "fd00:1::254")):
        want(ping(world, "h1", to, "-s", "1400") == 5, f"five pings to {to}")
        want(ping(world, "h1", back, count=3) == 3, f"the gateway {back} answers")
    want(ping(world, "h1", "10.0.1.254", "-s", "1472") == 5, "also frames of full length")
    want(ping(world, "h2", "10.0.1.254", count=1) == 1, "and by its other ports")
    got = neighbour(switch, TO[4])
    want(got["mac"] == "02:00:00:00:00:02" and got["port"] == "p2", f"the neighbour: {got}")
    want(neighbour(switch, TO[6])["mac"] == "02:00:00:00:00:02", "and over IPv6")


def a_stale_neighbour_is_asked_and_stays(world, switch):
    """Those that asked the switch first are checked at once, and Linux answers each in its way."""
    for ip in ("10.0.1.1", "fd00:1::1"):
        eventually(lambda ip=ip: neighbour(switch, ip).get("state") == "reachable",
                   f"{ip} is confirmed: {neighbour(switch, ip)}")


def pings_and_datagrams(world, host, dev, send):
    """What tshark says of the ICMP and UDP frames that arrive while send() runs."""
    path = captured(world, host, dev, ["icmp or icmp6 or udp"], send, dev)
    rows = tshark(path, "ip.ttl", "ipv6.hlim", "ip.checksum.status", "udp.checksum.status",
                  "icmp.checksum.status", "icmpv6.checksum.status", "eth.src", "eth.dst",
                  "icmp.type", "icmpv6.type", "udp.dstport")
    return [r for r in rows if r["icmp.type"] == "8" or r["icmpv6.type"] == "128" or
            r["udp.dstport"] == "9999"]


def ttl_and_checksums_are_right(world, switch):
    router = link(world, "sw", "sw2")["address"]

    def send():
        for to in TO.values():
            ping(world, "h1", to, "-t", "33", count=3)
            world.run("h1", "/usr/bin/python3", "-B", FLOWS, "send", to, "9999", "30000", "3", "1")

    rows = pings_and_datagrams(world, "h2", "e2", send)
    v4, v6 = [r for r in rows if r["ip.ttl"]], [r for r in rows if r["ipv6.hlim"]]
    want(len(v4) == 6 and len(v6) == 6, f"what arrived: {rows}")
    want(sorted(r["ip.ttl"] for r in v4) == ["32"] * 3 + ["63"] * 3, f"TTL: {v4}")
    want(sorted(r["ipv6.hlim"] for r in v6) == ["32"] * 3 + ["63"] * 3, f"hop limit: {v6}")
    for r in rows:
        status = [r[k] for k in r if k.endswith("status") and r[k]]
        want(status and set(status) == {"1"}, f"a checksum is wrong: {r}")
        want(r["eth.src"] == router and r["eth.dst"] == "02:00:00:00:00:02", f"addresses: {r}")
    for to, gateway in ((TO[4], "10.0.1.254"), (TO[6], "fd00:1::254")):
        said = world.run("h1", "ping", "-n", "-c", "1", "-W", "1", "-t", "1", to,
                         check=False).stdout
        want(f"From {gateway}" in said and "exceeded" in said, f"TTL 1 ends at {gateway}: {said}")


def tcp_and_udp_pass_between_the_subnets(world, switch):
    for to in TO.values():
        tcp(world, "h1", to, "h2")


def spread(world, to, first):
    """{source port: datagrams} at h3 and at h4."""
    sinks = []
    for h in ("h3", "h4"):
        p = world.spawn(h, f"sink-{h}-{first}", "/usr/bin/python3", "-B", FLOWS, "receive", to,
                        "9000")
        sinks.append(p.wait_line("ready"))
    world.run("h1", "/usr/bin/python3", "-B", FLOWS, "send", to, "9000", str(first), str(N_FLOWS),
              str(EACH))
    time.sleep(0.5)
    for p in sinks:
        p.stop()
    return [json.loads(p.out().splitlines()[-1]) for p in sinks]


def flows_spread_over_two_next_hops_and_each_keeps_its_own(world, switch):
    for family, to in ANYCAST.items():
        a, b = spread(world, to, FIRST + 1000 * family)
        print(f"        {to}: {len(a)} + {len(b)} of {N_FLOWS} flows")
        want(not set(a) & set(b), f"flows at both next hops: {set(a) & set(b)}")
        want(len(a) + len(b) == N_FLOWS, "every flow arrives")
        want(all(n == EACH for n in [*a.values(), *b.values()]), "with all its datagrams")
        # Four and a half standard deviations of a fair coin.
        want(abs(len(a) - N_FLOWS / 2) < 4.5 * (N_FLOWS / 4) ** 0.5, f"{len(a)} of {N_FLOWS}")


def a_reload_moves_all_flows_to_one_next_hop(world, switch):
    with open(switch.path, "w") as f:
        f.write(policy(switch.workers, FIRST_ONLY))
    switch.ctl("reload")
    for family, to in ANYCAST.items():
        a, b = spread(world, to, FIRST + 1000 * family + 500)
        want(len(a) == N_FLOWS and len(b) == 0, f"{to}: {len(a)} and {len(b)} flows")
    rows = switch.show("routes")["routes"]
    got = [(r["to"], r.get("via"), r["state"]) for r in rows if r["to"].startswith("10.9.")]
    want(got == [("10.9.0.0/16", "10.0.3.3", "reachable")], f"show routes: {got}")


def a_station_that_has_gone_is_noticed_and_found_again_with_another_address(world, switch):
    mac = "02:00:00:00:00:77"
    world.run("h2", "ip", "link", "set", "e2", "address", mac)
    world.run("h2", "ip", "-6", "route", "replace", "default", "via", "fd00:2::254", "dev", "e2")
    world.run("h2", "ip", "route", "replace", "default", "via", "10.0.2.254")
    # It asks for its router when it has something to say, and so tells where it is now.
    for to in ("10.0.1.254", "fd00:1::254"):
        ping(world, "h2", to, count=1)
    for to in TO.values():
        eventually(lambda to=to: ping(world, "h1", to, count=1) == 1, f"{to} answers again")
        want(neighbour(switch, to)["mac"] == mac, f"{neighbour(switch, to)}")


TESTS = [a_stale_neighbour_is_asked_and_stays, hosts_in_two_subnets_ping_each_other,
         ttl_and_checksums_are_right, tcp_and_udp_pass_between_the_subnets,
         flows_spread_over_two_next_hops_and_each_keeps_its_own,
         a_reload_moves_all_flows_to_one_next_hop,
         a_station_that_has_gone_is_noticed_and_found_again_with_another_address]


def with_workers(workers):
    with World(4, ipv6=True) as world:
        addresses(world)
        switch = Switch(world, PROGRAMS, switch_name(), policy(workers))
        switch.workers = workers
        meet(world, switch)
        for test in TESTS:
            began = time.monotonic()
            test(world, switch)
            print(f"        {test.__name__.replace('_', ' ')} ({time.monotonic() - began:.1f} s)",
                  flush=True)
        missed = [p["rx_missed"] for p in switch.show("ports")["ports"]]
        want(dropped(switch, "egress-tail") + dropped(switch, "ingress-pool") == 0, "no loss")
        print(f"        receive rings missed {missed}")
        lost = [c["lost"] for c in switch.show("control")["punts"]]
        want(lost and not any(lost), f"ARP that control missed: {lost}")
        want(switch.stop() == 0, f"the balance holds at the end\n{switch.process.said()}")


def one_worker_routes():
    with_workers(1)


def two_workers_route():
    with_workers(2)


live.need_root("iperf3", "ping", "tcpdump", "tshark")
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, switch_name # noqa: E402

PROGRAMS = Programs(sys.argv[1])
sys.exit(live.run_tests([one_worker_routes, two_workers_route]))
