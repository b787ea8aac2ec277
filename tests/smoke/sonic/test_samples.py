#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SONiC's own sample configurations in a real Redis run a live switch, and are changed under
traffic without losing a frame.

usage: test_samples.py BUILD [FOLDER [SAMPLE...]]

FOLDER, or WEIR_SONIC_SAMPLES: has l2switch.json, qos-NAME.json, and buffers-NAME.json or
buffer-NAME.json, as SONiC renders them. Each qos and each buffer file runs once at least: with the
file of the other kind that has its name, or else with that of "no-config". Three ports of each
sample are veth links here. Needs root and a folder; exits 77 without.
"""
import functools
import glob
import json
import os
import re
import shutil
import sys
import tempfile
from collections import namedtuple

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from redis_rig import Bridge, LiveSwitch, Redis, case, first_policy, want, wait_for  # noqa: E402
from test_live import SPEED_MBPS, all_arrived, change_each_second, traffic  # noqa: E402

SKIPPED, SECONDS, HOSTS, MOST_POOL, MTU = 77, 5, 3, 12_000_000, 9100
# Frames that the switch wanted and could not keep.
LOSSES = {"ingress-pool", "headroom-overrun", "egress-tail", "wred", "no-mbuf"}
LOOKUP = ("# speed cable size xon xoff threshold xon_offset\n"
          f"{SPEED_MBPS} 5m 1248 2288 35776 0 2288\n")
QOS_CHANGES = [
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 20000 green_max_threshold 90000',
     ("20000", "20KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 40', ("40",)),
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 30000 green_max_threshold 120000',
     ("30000", "30KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 15', ("15",)),
]
# The third port leaves the VLAN of the sample for a while: the frames are between the other two.
L2_CHANGES = [
    ('HSET "VLAN|Vlan2000" vlanid 2000', ("id: 2000",)),
    ('HSET "VLAN_MEMBER|Vlan2000|{2}" tagging_mode tagged', ("tagged: [2000]", "tagged: 2000")),
    ('HSET "VLAN_MEMBER|Vlan2000|{0}" tagging_mode tagged', ("tagged: [2000]", "tagged: 2000")),
    ('DEL "VLAN_MEMBER|Vlan2000|{0}"', ("id: 2000",)),
    ('DEL "VLAN_MEMBER|Vlan2000|{2}"', ("id: 1000",)),
]

# classes: of the traffic. mtu: of the links.
Sample = namedtuple("Sample", "name db ports changes classes mtu")


def loaded(path):
    with open(path) as f:
        return json.load(f)


def name_of(path):
    return re.sub(r"^(qos|buffers?)-|\.json$", "", os.path.basename(path))


def pairs(folder):
    """(name, qos file, buffer file), so that each file is there."""
    def files(*kinds):
        return sorted(p for kind in kinds
                      for p in glob.glob(os.path.join(folder, f"{kind}-*.json")))

    def plain(kind):
        return os.path.join(folder, f"{kind}-no-config.json")
    qos, buffers, used = files("qos"), files("buffer", "buffers"), set()
    for q in qos:
        same = [b for b in buffers if name_of(b).startswith(name_of(q))]
        used |= set(same[:1])
        yield "qos-" + name_of(q), q, same[0] if same else plain("buffer")
    for b in buffers:
        if b not in used and b != plain("buffer"):
            yield "buffers-" + name_of(b), plain("qos"), b


def named_ports(db):
    """Ports that the tables name, those of the QoS tables first. A port that SONiC does not use has
    profiles without memory, and is last."""
    names = []
    for table in ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE",
                  "BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"):
        names += sorted({n for key in db.get(table, {}) for n in key.split("|")[0].split(",")
                         if n.startswith("Ethernet")}, key=lambda p: int(p[len("Ethernet"):]))
    unused = {key.split("|")[0] for key, row in db.get("BUFFER_PG", {}).items()
              if "zero" in row.get("profile", "")}
    every = sorted(dict.fromkeys(names), key=unused.__contains__)
    return every or [f"Ethernet{4 * i}" for i in range(HOSTS)]


def qos_sample(name, qos, buffers):
    db = loaded(buffers)
    db.update(loaded(qos))
    for table in db: # queues of chassis cards are refused by their names
        db[table] = {key: row for key, row in db[table].items() if "|asic" not in key}
    every = named_ports(db)
    ports = every[:HOSTS]
    for pool in db["BUFFER_POOL"].values(): # this machine has no gigabytes for a buffer
        for field, most in (("size", MOST_POOL), ("xoff", MOST_POOL // 4)):
            if field in pool:
                pool[field] = str(min(int(pool[field]), most))
    db["PORT"] = {p: {"speed": str(SPEED_MBPS), "mtu": "1500"} for p in every}
    db["CABLE_LENGTH"] = {"AZURE": {p: "5m" for p in every}}
    if not any(p in db["PORT_QOS_MAP"] for p in ports): # "global" alone names no map of a port
        db["PORT_QOS_MAP"].update({p: {
            "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE",
            "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4"} for p in ports})
        db["QUEUE"].update({f"{p}|{i}": {"scheduler": "scheduler.1",
                                         "wred_profile": "AZURE_LOSSLESS"}
                            for p in ports for i in (3, 4)})
    return Sample(name, db, ports, QOS_CHANGES, "3,4", 1500)


def l2_sample(folder):
    """A bridge of 32 ports in one VLAN, as it is; three of the ports have a link here. A
    veth link has no speed of its own, so these ports get one. None has an mtu: the import gives
    them that of an xdp: device."""
    db = loaded(os.path.join(folder, "l2switch.json"))
    ports = sorted(db["PORT"], key=lambda p: int(p[len("Ethernet"):]))[:HOSTS]
    for port in ports:
        db["PORT"][port]["speed"] = str(SPEED_MBPS)
    return Sample("l2switch", db, ports, [(line.format(*ports), shows)
                                          for line, shows in L2_CHANGES], "0", MTU)


def runs_a_switch(build, sample, folder):
    devices = ",".join(f"{p}=xdp:sw{i + 1}" for i, p in enumerate(sample.ports))
    redis, policy = Redis(folder), os.path.join(folder, "policy.yaml")
    lookup = os.path.join(folder, "pg_profile_lookup.ini")
    with open(lookup, "w") as f:
        f.write(LOOKUP)
    redis.load(sample.db)
    first_policy(build, redis, policy, devices, "--pg-lookup", lookup)
    with LiveSwitch(hosts=HOSTS, policy=policy, mtu=sample.mtu,
                    folder=os.path.join(folder, "live")) as switch:
        bridge = Bridge(switch, build, redis.path, policy, devices, "--pg-lookup", lookup)
        wait_for(lambda: redis.status().get("state") == "applied",
                 "the bridge applies CONFIG_DB")
        receiver, senders = traffic(switch, SECONDS, sample.classes)
        n, _ = change_each_second(switch, redis, bridge, SECONDS, sample.changes)
        sent = all_arrived(switch, senders)
        lost = {r["reason"]: r["packets"] for r in switch.rows("drops")
                if r["reason"] in LOSSES and r["packets"] > 0}
        want(not lost, f"frames were lost: {lost}")
        out = switch.row("ports", name=sample.ports[HOSTS - 1])["tx_packets"]
        want(out >= sent > 0, f"{sent} frames were sent, and {out} left by the receiver's port")
        print(f"{n} changes, {sent} frames sent, none lost")
        receiver.stop()
        want(bridge.process.stop() == 0, "the bridge ends in order")
    redis.stop()


def samples_of(folder):
    for name, qos, buffers in pairs(folder):
        yield name, functools.partial(qos_sample, name, qos, buffers)
    if os.path.exists(os.path.join(folder, "l2switch.json")):
        yield "l2switch", functools.partial(l2_sample, folder)


def main():
    build = os.path.abspath(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("WEIR_SONIC_SAMPLES", "")
    samples = list(samples_of(folder)) if folder else []
    os.environ["WEIR_BUILD"] = build
    if os.geteuid() != 0 or not samples or shutil.which("redis-server") is None:
        print("skipped: needs root, redis-server and a folder with samples")
        return SKIPPED
    for name, make in samples:
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        with tempfile.TemporaryDirectory() as own:
            case(name.replace("-", "_"), lambda: runs_a_switch(build, make(), own))
    return 0


if __name__ == "__main__":
    sys.exit(main())
