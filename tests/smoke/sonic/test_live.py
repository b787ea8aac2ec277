#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""CONFIG_DB is changed each second under traffic: each change is applied, no lossless frame is
lost, and COUNTERS_DB says what weirctl says.

usage: test_live.py BUILD [--seconds N]

A real redis-server, changed by redis-cli, a live switch on veth links, two weir-host senders and a
receiver on ports of 40 Mb/s. Needs root; exits 77 without.
"""
import argparse
import functools
import os
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import config_db  # noqa: E402
from redis_rig import (APPL, CONFIG, COUNTERS, STATE, Bridge, LiveSwitch, Redis,  # noqa: E402
                       case, devices, first_policy, objects, pfc_counters, port_oids,
                       want, wait_for)
from weir.programs import find  # noqa: E402

SKIPPED, SPEED_MBPS, TRIES, SLOW_S = 77, 40, 4, 5
HOST = ["--speed", f"{SPEED_MBPS}M", "--rx-ring", "4096"]
# Each is a line for redis-cli, and what the policy that runs then has.
CHANGES = [
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 20000 green_max_threshold 90000',
     ("20000", "20KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 40', ("40",)),
    ('HSET "BUFFER_PROFILE|pg_lossless_profile" dynamic_th -1', ("1/2", "0.5")),
    ('HSET "PFC_WD|Ethernet0" detection_time 600', ("600ms",)),
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 30000 green_max_threshold 120000',
     ("30000", "30KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 15', ("15",)),
    ('HSET "BUFFER_PROFILE|pg_lossless_profile" dynamic_th -3', ("1/8", "0.125")),
    ('HSET "PFC_WD|Ethernet0" detection_time 400', ("400ms",)),
]


def change_each_second(switch, redis, bridge, seconds, changes):
    """The number of changes; each is seen in the running policy before the next."""
    end, n, slowest = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        line, shows = changes[n % len(changes)]
        applied = int(redis.status()["applied"])
        redis.cli(CONFIG, text=line + "\n")
        wait_for(lambda: int(redis.status()["applied"]) > applied,
                 f"change {n + 1} ({line}) is applied: {redis.status()} {bridge.log()[-800:]}")
        took = time.monotonic() - began
        slowest = max(slowest, took)
        if took > SLOW_S:
            print(f"change {n + 1} took {took:.1f} s; the log of the bridge:\n"
                  f"{bridge.log()[-400:]}", flush=True)
        runs = switch.show("config")["config"]["text"]
        want(any(text in runs for text in shows), f"after {line} the policy has none of {shows}")
        n += 1
        time.sleep(max(began + 1 - time.monotonic(), 0))
    want(redis.status()["state"] == "applied", redis.status())
    return n, slowest


def wait_written(redis):
    """Two writes of the counters have begun since."""
    for _ in range(2):
        before = redis.status()["alive_at"]
        wait_for(lambda: redis.status()["alive_at"] != before, "the counters are written")


def same(what, got, expected):
    want(int(got) == int(expected), f"{what}: COUNTERS_DB has {got}, the switch {expected}")


def in_time(agree, switch, redis):
    """LLDP goes on, so a frame may leave between the two readings."""
    for _ in range(TRIES - 1):
        try:
            return agree(switch, redis)
        except SystemExit:
            pass
    return agree(switch, redis)


def ports_agree(switch, redis):
    for row in switch.rows("ports"):
        h = redis.hash(COUNTERS, f"COUNTERS:{port_oids(redis)[row['name']]}")
        for field, key in (("IF_IN_OCTETS", "rx_bytes"), ("IF_OUT_OCTETS", "tx_bytes"),
                           ("IF_IN_UCAST_PKTS", "rx_packets"), ("IF_OUT_UCAST_PKTS", "tx_packets"),
                           ("IF_IN_ERRORS", "rx_missed"), ("IF_OUT_ERRORS", "tx_errors")):
            same(f"{row['name']} {field}", h[f"SAI_PORT_STAT_{field}"], row[key])
        same(f"{row['name']} drops", int(h["SAI_PORT_STAT_IF_IN_DISCARDS"]) +
             int(h["SAI_PORT_STAT_IF_OUT_DISCARDS"]),
             sum(d["packets"] for d in switch.rows("drops") if d["port"] == row["name"]))
        for db, key in ((STATE, f"PORT_TABLE|{row['name']}"), (APPL, f"PORT_TABLE:{row['name']}")):
            state = redis.hash(db, key)
            want(state["oper_status"] == "up" and state["speed"] == str(SPEED_MBPS), state)
    for way, key in (("RX", "rx_pause"), ("TX", "tx_pause")):
        shown = pfc_counters(redis, way)
        for row in switch.rows("pfc"):
            same(f"{row['port']} PFC {row['class']} {way}", shown[row["port"]][row["class"]],
                 row[key])
    sent = sum(row["tx_pause"] for row in switch.rows("pfc"))
    want(sent > 0, "the switch sent no PAUSE: the traffic is too little for this test")


def queues_agree(switch, redis):
    oids = objects(redis, "QUEUE")
    want(len(oids) == 8 * len(config_db.PORTS), f"{len(oids)} queues")
    types = redis.hash(COUNTERS, "COUNTERS_QUEUE_TYPE_MAP")
    tables = ("USER_WATERMARKS", "PERSISTENT_WATERMARKS")
    hashes = redis.hashes(COUNTERS, [f"{table}:{oid}" for oid in oids.values()
                                     for table in ("COUNTERS", *tables)])
    for row in switch.rows("queues"):
        oid = oids[row["port"], row["queue"]]
        want(types[oid] == "SAI_QUEUE_TYPE_UNICAST", f"the type of a queue: {types[oid]}")
        h = hashes[f"COUNTERS:{oid}"]
        for field, key in (("PACKETS", "tx_packets"), ("BYTES", "tx_bytes"),
                           ("DROPPED_PACKETS", "dropped_packets"),
                           ("WRED_ECN_MARKED_PACKETS", "ecn_marked")):
            same(f"{row['port']}:{row['queue']} {field}", h[f"SAI_QUEUE_STAT_{field}"], row[key])
        for table in tables:
            same(f"{row['port']}:{row['queue']} {table}",
                 hashes[f"{table}:{oid}"]["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"],
                 row["max_bytes"])
        lossless = row["queue"] in config_db.LOSSLESS
        want(h.get("PFC_WD_STATUS") == ("operational" if lossless else None),
             f"PFC_WD_STATUS of {row['port']}:{row['queue']}: {h.get('PFC_WD_STATUS')}")
    want(sum(row["ecn_marked"] for row in switch.rows("queues")) > 0, "no frame was marked")


def groups_agree(switch, redis):
    oids = objects(redis, "PG")
    hashes = redis.hashes(COUNTERS, [f"{table}:{oid}" for oid in oids.values()
                                     for table in ("COUNTERS", "USER_WATERMARKS")])
    for row in switch.rows("buffers"):
        oid, prefix = oids[row["port"], row["pg"]], "SAI_INGRESS_PRIORITY_GROUP_STAT"
        what = f"PG {row['port']}:{row['pg']}"
        same(f"{what} drops", hashes[f"COUNTERS:{oid}"][f"{prefix}_DROPPED_PACKETS"],
             row["dropped_packets"])
        for mark, key in (("SHARED", "max_shared_bytes"), ("XOFF_ROOM", "max_headroom_bytes")):
            same(f"{what} {mark}",
                 hashes[f"USER_WATERMARKS:{oid}"][f"{prefix}_{mark}_WATERMARK_BYTES"], row[key])
    pools = {row["name"]: row for row in switch.show("buffers")["pools"]}
    names = redis.hash(COUNTERS, "COUNTERS_BUFFER_POOL_NAME_MAP")
    want(set(names) == set(config_db.tables()["BUFFER_POOL"]), names)
    for name, pool in (("ingress_lossless_pool", "ingress"),
                       ("egress_lossy_pool", "egress_lossy")):
        same(name, redis.get(COUNTERS, f"USER_WATERMARKS:{names[name]}",
                             "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"), pools[pool]["max_bytes"])


def clears_are_of_one_type(switch, redis):
    """`sonic-clear priority-group watermark shared`: only this mark begins again, and not the
    persistent one."""
    group = objects(redis, "PG")[config_db.PORTS[0], 3]
    queue = objects(redis, "QUEUE")[config_db.PORTS[2], 3]

    def marks():
        name = "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES"
        return [int(redis.get(COUNTERS, f"USER_WATERMARKS:{group}", name)),
                int(redis.get(COUNTERS, f"PERSISTENT_WATERMARKS:{group}", name)),
                int(redis.get(COUNTERS, f"USER_WATERMARKS:{queue}",
                              "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"))]
    before = marks()
    want(min(before) > 0, f"a watermark is 0: {before}")
    redis.cli(APPL, "PUBLISH", "WATERMARK_CLEAR_REQUEST", '["USER","PG_SHARED"]')
    wait_written(redis)
    want(marks() == [0, *before[1:]], f"after the clear of PG_SHARED: {before} became {marks()}")


def storms_are_shown(switch, redis):
    """pfcwd: a storm of the peer of Ethernet8 in class 3, while a frame waits there."""
    sender, victim = switch.hosts[0], switch.hosts[2]
    key = f"COUNTERS:{objects(redis, 'QUEUE')[config_db.PORTS[2], 3]}"
    sender.run("ip", "neigh", "replace", victim.ip, "lladdr", victim.mac, "dev", sender.device)
    storm = victim.spawn(find("weir-host"), "--device", f"xdp:{victim.device}", "--storm",
                         "--class", "3", "--for", "5s")
    storm.wait_line("ready")
    sender.ping(victim.ip, 3, dscp=3)
    wait_for(lambda: redis.hash(COUNTERS, key)["PFC_WD_STATUS"] == "stormed", "stormed is shown")
    want(storm.wait(30) == 0, storm.err())
    wait_for(lambda: redis.hash(COUNTERS, key)["PFC_WD_STATUS"] == "operational",
             "the end of the storm is shown")
    wait_written(redis)
    h, row = redis.hash(COUNTERS, key), switch.row("watchdog", port=config_db.PORTS[2],
                                                   **{"class": 3})
    want(row["detected"] > 0, "the switch has found no storm")
    for field, fact in (("DEADLOCK_DETECTED", "detected"), ("DEADLOCK_RESTORED", "restored"),
                        ("TX_DROPPED_PACKETS", "tx_dropped"), ("RX_PACKETS", "rx_ok"),
                        ("TX_DROPPED_PACKETS_LAST", "tx_dropped_last")):
        same(field, h[f"PFC_WD_QUEUE_STATS_{field}"], row[fact])


def traffic(switch, seconds, classes="3,4"):
    """Two senders and a receiver, in the lossless classes unless others are given, whose numbers
    are their DSCPs, too."""
    words = [*HOST, "--class", classes, "--dscp", classes]
    receiver = switch.hosts[2].endpoint("--listen", *words)
    receiver.wait_line("ready")
    senders = [h.endpoint("--to", "10.0.0.3", "--time", f"{seconds + 1}s",
                          "--rto", "10s", "--drain", "30s", "--qps", "4", "--depth", "4",
                          "--size", "65536", *words)
               for h in switch.hosts[:2]]
    return receiver, senders


def all_arrived(switch, senders):
    """The number of frames sent; none of a lossless class was lost."""
    reports = [s.report(90) for s in senders]
    balance = switch.quiesce()["balance"]
    switch.resume()
    lost = sum(r["packets"] for r in switch.rows("drops") if r["lossless"])
    want(lost == 0, f"{lost} frames of lossless classes were dropped")
    want(balance["balanced"], f"the balance is not exact: {balance}")
    for r in reports:
        want(not r["error"], r["error"])
        posted, done = r["messages_posted"], r["messages_completed"]
        want(posted == done > 0, f"{done} of {posted} messages completed")
    return sum(c["tx_packets"] for r in reports for c in r["classes"])


def run(args, folder):
    redis = Redis(folder)
    redis.load(config_db.tables(SPEED_MBPS))
    policy = os.path.join(folder, "policy.yaml")
    first_policy(args.build, redis, policy)
    with LiveSwitch(hosts=len(config_db.PORTS), policy=policy,
                    folder=os.path.join(folder, "live")) as switch:
        bridge = Bridge(switch, args.build, redis.path, policy, devices())
        wait_for(lambda: redis.status().get("state") == "applied", "the bridge applies CONFIG_DB")
        receiver, senders = traffic(switch, args.seconds)
        n, slowest = change_each_second(switch, redis, bridge, args.seconds, CHANGES)
        want(n >= max(3, args.seconds / 10), f"only {n} changes in {args.seconds} s")
        sent = all_arrived(switch, senders)
        print(f"{n} changes, the slowest applied after {slowest * 1000:.0f} ms; {sent} frames "
              f"sent, none lost; the bridge used {bridge.cpu_s():.2f} s of processor time")
        wait_written(redis)
        for agree in (ports_agree, queues_agree, groups_agree):
            case(agree.__name__, functools.partial(in_time, agree, switch, redis))
        case("clears_are_of_one_type", lambda: clears_are_of_one_type(switch, redis))
        receiver.stop()
        case("storms_are_shown", lambda: storms_are_shown(switch, redis))
        want(bridge.process.stop() == 0, "the bridge ends in order")
        want(redis.status()["state"] == "stopped", redis.status())
        want("Redis refused" not in bridge.log(), bridge.log())
    redis.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", metavar="BUILD", help="where the programs are built")
    p.add_argument("--seconds", type=int, default=20, metavar="N", help="default 20")
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    os.environ["WEIR_BUILD"] = args.build
    if os.geteuid() != 0 or shutil.which("redis-server") is None:
        print("skipped: needs root and redis-server")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        run(args, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
