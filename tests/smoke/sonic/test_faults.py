#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A bad CONFIG_DB is refused as a whole, and weir-sonic survives what Redis and the switch do.

usage: test_faults.py BUILD

A real redis-server and a live switch on veth links. Needs root; exits 77 without.
"""
import functools
import os
import re
import shutil
import signal
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import config_db  # noqa: E402
from redis_rig import (CONFIG, COUNTERS, STATE, Bridge, LiveSwitch, Process, Redis,  # noqa: E402
                       case, devices, first_policy, objects, port_oids, want, wait_for)
from weir.programs import find  # noqa: E402

SKIPPED, LONG_S, MAPS_S = 77, 60, 60
WRED = "WRED_PROFILE|AZURE_LOSSLESS"


class Rig:
    def __init__(self, switch, redis, bridge, policy):
        self.switch, self.redis, self.bridge, self.policy = switch, redis, bridge, policy

    def runs(self):
        return self.switch.show("config")["config"]["text"]

    def wait_state(self, state, why, seconds=LONG_S):
        wait_for(lambda: self.redis.status().get("state") == state, f"{why}: the state {state}",
                 seconds)

    def set_kmax(self, kmax):
        """Changes a threshold."""
        self.redis.cli(CONFIG, "HSET", WRED, "green_max_threshold", str(kmax))

    def wait_kmax(self, kmax, why):
        shown = (f"kmax: {kmax}", f"kmax: {kmax // 1000}KB")
        wait_for(lambda: any(text in self.runs() for text in shown),
                 f"{why}: the switch runs kmax {kmax}: {self.redis.status()}\n"
                 f"{self.bridge.log()[-1500:]}", LONG_S)

    def takes(self, kmax, why):
        self.set_kmax(kmax)
        self.wait_kmax(kmax, why)

    def refused(self, why, *names):
        """CONFIG_DB is refused with these names in the reason; the switch runs what it ran."""
        before = self.runs()
        self.wait_state("refused", why)
        error = self.redis.status()["error"]
        for name in names:
            want(name in error and name in self.bridge.log(), f"{why}: no {name} in: {error}")
        want(self.runs() == before, f"{why}: the policy has changed")
        with open(self.policy) as f:
            want(f.read() == before, f"{why}: the policy file has changed")


def unknown_reference(rig):
    rig.redis.cli(CONFIG, "HSET", "BUFFER_PROFILE|pg_lossless_profile", "pool", "nowhere")
    rig.refused("an unknown pool", "BUFFER_PROFILE", "pg_lossless_profile", "pool", "nowhere")
    rig.redis.cli(CONFIG, "HSET", "BUFFER_PROFILE|pg_lossless_profile", "pool",
                  "ingress_lossless_pool")
    rig.wait_state("applied", "the pool is right again")


def missing_field(rig):
    rig.redis.cli(CONFIG, "HDEL", "PFC_WD|Ethernet4", "detection_time")
    rig.refused("a missing field", "PFC_WD", "Ethernet4", "detection_time", "missing")
    rig.redis.cli(CONFIG, "HSET", "PFC_WD|Ethernet4", "detection_time", "400")
    rig.wait_state("applied", "the field is there again")


def wrong_type(rig):
    rig.redis.cli(CONFIG, "SET", "WRED_PROFILE|TEXT", "x")
    rig.refused("a key of another type", "WRED_PROFILE|TEXT", "no hash")
    rig.redis.cli(CONFIG, "DEL", "WRED_PROFILE|TEXT")
    rig.wait_state("applied", "the key is gone")


def wait_read(rig):
    """CONFIG_DB was read once more, as a whole."""
    def scans():
        stats = rig.redis.cli(0, "INFO", "commandstats")
        return int(re.search(r"cmdstat_scan:calls=(\d+)", stats).group(1))
    before = scans()
    wait_for(lambda: scans() >= before + 4, "CONFIG_DB is read again", MAPS_S)


def many_keys_of_another_type(rig):
    """All are counted, and the reason is one line."""
    rig.redis.cli(CONFIG, text="".join(f"SET WRED_PROFILE|TEXT{i} x\n" for i in range(200)))
    rig.refused("200 keys of another type", "WRED_PROFILE|TEXT0, TEXT1, TEXT2 and 47 more",
                "and 150 more messages")
    rig.redis.cli(CONFIG, text="".join(f"DEL WRED_PROFILE|TEXT{i}\n" for i in range(200)))
    rig.wait_state("applied", "the keys are gone")


def many_mistakes(rig):
    """Each line is whole and said once; the last one counts those that have no room."""
    n = 300
    rig.redis.cli(CONFIG, text="".join(
        f'HSET "WRED_PROFILE|BAD{i}" green_min_threshold {"x" * 200}{i}\n' for i in range(n)))
    rig.refused("300 mistakes", "WRED_PROFILE|BAD0", " more")
    lines = rig.redis.status()["error"].split(";")
    shown = [line for line in lines if "is no whole number" in line]
    more = int(re.fullmatch(r"and (\d+) more", lines[-1]).group(1))
    want(len(shown) + more == n and more > 0, f"{len(shown)} mistakes and {more} more are not {n}")
    wait_read(rig)
    for line in [*shown, lines[-1]]:
        want(rig.bridge.log().count(f": {line}\n") == 1, f"not said once, whole: {line}")
    rig.redis.cli(CONFIG, text="".join(f'DEL "WRED_PROFILE|BAD{i}"\n' for i in range(n)))
    rig.wait_state("applied", "the mistakes are gone")


def many_warnings(rig):
    """A report that is longer than 4 KB is said once, however often CONFIG_DB is applied."""
    fields = [f"a_field_that_is_not_known_{i}" for i in range(60)]
    key = "SCHEDULER|scheduler.1"
    rig.redis.cli(CONFIG, "HSET", key, *(word for f in fields for word in (f, "1")))
    for kmax in (81000, 82000, 83000):
        rig.takes(kmax, "with 60 unknown fields")
    for field in fields:
        line = f"warning: {key} {field}: is not known, and has no effect\n"
        want(rig.bridge.log().count(line) == 1, f"not said once: {line}")
    rig.redis.cli(CONFIG, "HDEL", key, *fields)


def half_written_table(rig):
    """A profile that is deleted and written field by field is applied once, whole."""
    refused = rig.redis.status()["refused"]
    rig.redis.cli(CONFIG, text=f'DEL "{WRED}"\n'
                  f'HSET "{WRED}" wred_green_enable true green_drop_probability 5\n'
                  f'HSET "{WRED}" ecn ecn_all green_min_threshold 30000\n'
                  f'HSET "{WRED}" green_max_threshold 110000\n')
    rig.wait_kmax(110000, "a profile written in parts")
    want(rig.redis.status()["refused"] == refused, "a half-written profile was read")


def junk(rig):
    lines = [f"SET junk:{i} x\n" for i in range(10000)]
    lines += [f'HSET "OTHER_TABLE|{i}" a b\n' for i in range(1000)]
    rig.redis.cli(CONFIG, text="".join(lines))
    rig.redis.cli(CONFIG, "-x", "HSET", "OTHER_TABLE|huge", "a", text="y" * 10_000_000)
    rig.redis.cli(CONFIG, text="".join(f'HSET "DSCP_TO_TC_MAP|UNUSED{i}" 1 1\n'
                                       for i in range(700)))
    rig.takes(100000, "among 11,000 keys of others and 700 that matter")
    rig.redis.cli(CONFIG, "-x", "HSET", "WRED_PROFILE|huge", "a", text="y" * 200_000)
    rig.refused("a huge value", "WRED_PROFILE|huge", "bytes")
    rig.redis.cli(CONFIG, "DEL", "WRED_PROFILE|huge")
    rig.wait_state("applied", "the huge value is gone")


def needs_a_restart(rig):
    rig.redis.cli(CONFIG, "HSET", "BUFFER_POOL|ingress_lossless_pool", "size", "1600000")
    rig.refused("another size of the buffer", "restart")
    want(os.path.exists(rig.policy + ".next"), "the refused policy is not in FILE.next")
    rig.redis.cli(CONFIG, "HSET", "BUFFER_POOL|ingress_lossless_pool", "size", "1500000")
    rig.wait_state("applied", "the size is as before")


def sonic_loads(rig):
    """`config reload` flushes CONFIG_DB, writes it, and sets the indicator at the end."""
    rig.redis.cli(CONFIG, "SET", "CONFIG_DB_INITIALIZED", "1")
    rig.takes(95000, "with the indicator")
    before = rig.runs()
    rig.redis.cli(CONFIG, "FLUSHDB")
    db = config_db.tables()
    del db["QUEUE"], db["PFC_WD"]
    rig.redis.load(db)
    rig.wait_state("loading", "half of a load")
    want(rig.runs() == before, "half of a load was applied")
    rig.redis.load(config_db.tables())
    rig.redis.cli(CONFIG, "SET", "CONFIG_DB_INITIALIZED", "1")
    rig.wait_state("applied", "the load is complete")
    rig.wait_kmax(120000, "the loaded CONFIG_DB")


def wrong_type_in_counters(rig):
    rig.redis.cli(COUNTERS, text="DEL COUNTERS_PG_NAME_MAP\nSET COUNTERS_PG_NAME_MAP x\n")
    wait_for(lambda: "COUNTERS_PG_NAME_MAP" in rig.redis.status()["redis_error"],
             "the status names the key", MAPS_S)
    want("COUNTERS_PG_NAME_MAP: WRONGTYPE" in rig.bridge.log(), "the log does not name the key")
    queue = next(iter(objects(rig.redis, "QUEUE").values()))
    rig.redis.cli(COUNTERS, "DEL", f"COUNTERS:{queue}")
    wait_for(lambda: rig.redis.hash(COUNTERS, f"COUNTERS:{queue}").get("SAI_QUEUE_STAT_PACKETS"),
             "other counters are written")
    rig.redis.cli(COUNTERS, "DEL", "COUNTERS_PG_NAME_MAP")
    wait_for(lambda: len(rig.redis.hash(COUNTERS, "COUNTERS_PG_NAME_MAP")) == 24,
             "the map is written again", MAPS_S)
    wait_for(lambda: rig.redis.status()["redis_error"] == "", "the trouble is over", MAPS_S)


def stale_maps(rig):
    """What the bridge wrote for ports that are gone is removed. What others wrote stays, unless it
    is a queue that a port of the switch does not have."""
    own, other = "oid:0x5701000000000c00", "oid:0x1000000000005"
    rig.redis.cli(COUNTERS,
                  text=f"HSET COUNTERS_PORT_NAME_MAP Ethernet12 {own} Ethernet99 {other}\n"
                  f"HSET COUNTERS:{own} SAI_PORT_STAT_IF_IN_OCTETS 1\n"
                  f"HSET COUNTERS:{other} SAI_PORT_STAT_IF_IN_OCTETS 1\n"
                  "HSET COUNTERS_QUEUE_NAME_MAP Ethernet12:3 oid:0x5715000000000c03\n"
                  "HSET COUNTERS_QUEUE_PORT_MAP oid:0x5715000000000c03 oid:0x5701000000000c00\n"
                  "HSET COUNTERS:oid:0x5715000000000c03 SAI_QUEUE_STAT_PACKETS 1\n"
                  "HSET COUNTERS_QUEUE_NAME_MAP Ethernet0:12 oid:0x15000000000009\n")
    rig.redis.cli(STATE, "HSET", "PORT_TABLE|Ethernet12", "state", "ok")
    wait_for(lambda: "Ethernet12" not in port_oids(rig.redis), "the old port is removed", MAPS_S)
    wait_for(lambda: "Ethernet0:12" not in rig.redis.hash(COUNTERS, "COUNTERS_QUEUE_NAME_MAP"),
             "the queue of another switch is removed", MAPS_S)
    for key in (f"COUNTERS:{own}", "COUNTERS:oid:0x5715000000000c03"):
        want(rig.redis.cli(COUNTERS, "EXISTS", key) == "0", f"{key} stays")
    want(rig.redis.cli(STATE, "EXISTS", "PORT_TABLE|Ethernet12") == "0", "the port's state stays")
    want(port_oids(rig.redis)["Ethernet99"] == other and
         rig.redis.cli(COUNTERS, "EXISTS", f"COUNTERS:{other}") == "1", "another's port is gone")
    rig.redis.cli(COUNTERS, "HDEL", "COUNTERS_PORT_NAME_MAP", "Ethernet99")


def slow_redis(rig):
    cpu, began = rig.bridge.cpu_s(), time.monotonic()
    rig.redis.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: "no answer in time" in rig.bridge.log(), "the log tells of it", MAPS_S)
    time.sleep(2)
    rig.redis.process.send_signal(signal.SIGCONT)
    rig.takes(90000, "after a stall of Redis")
    used, took = rig.bridge.cpu_s() - cpu, time.monotonic() - began
    want(used < 0.2 * took, f"the bridge used {used:.2f} s of {took:.1f} s while Redis stood still")


def redis_dies(rig):
    """An empty Redis comes back: the policy stays. With a CONFIG_DB all is applied and written."""
    cpu, began = rig.bridge.cpu_s(), time.monotonic()
    rig.redis.stop(signal.SIGKILL)
    time.sleep(2)
    rig.redis.start()
    rig.refused("an empty CONFIG_DB")
    used, took = rig.bridge.cpu_s() - cpu, time.monotonic() - began
    want(used < 0.2 * took, f"the bridge used {used:.2f} s of {took:.1f} s without a Redis")
    rig.redis.load(config_db.tables())
    rig.wait_state("applied", "a loaded CONFIG_DB")
    rig.takes(85000, "a change after Redis came back")
    wait_for(lambda: len(objects(rig.redis, "QUEUE")) == 24 and len(objects(rig.redis, "PG")) == 24,
             "maps are written again", MAPS_S)
    want("Redis answers again" in rig.bridge.log(), "the log does not tell that Redis is back")


def redis_closes_connections(rig):
    """The bridge writes to connections that are gone, at any moment of its work."""
    for _ in range(40):
        rig.redis.cli(0, "CLIENT", "KILL", "TYPE", "normal", check=False)
        time.sleep(0.1)
    want(os.path.exists(f"/proc/{rig.bridge.process.pid}/exe"), "the bridge has ended")
    rig.takes(84000, "a change after closed connections")


def switch_restarts(rig):
    rig.switch.stop()
    wait_for(lambda: "does not answer" in rig.redis.status()["switch_error"],
             "the status tells that the switch is gone", LONG_S)
    rig.set_kmax(80000)
    wait_for(lambda: "80" in open(rig.policy).read() and rig.redis.status()["state"] == "no-switch",
             "the file has the change", LONG_S)
    rig.switch.process = rig.switch.start(Process, rig.switch._namespaces[0],
                                          [find("weir"), "-c", rig.policy], "weir-again")
    rig.switch.process.wait_line("ready")
    rig.wait_kmax(80000, "the change while the switch was away")
    wait_for(lambda: rig.redis.status()["switch_error"] == "", "the switch is back", LONG_S)
    rig.takes(75000, "a change after the switch came back")


def no_right_to_configure(rig):
    rig.redis.cli(0, "ACL", "SETUSER", "default", "-config")
    for kind in ("normal", "pubsub"):
        rig.redis.cli(0, "CLIENT", "KILL", "TYPE", kind, check=False)
    wait_for(lambda: "read each second" in rig.bridge.log(), "the log tells that it polls", LONG_S)
    rig.takes(70000, "without notifications")


CASES = (unknown_reference, missing_field, wrong_type, many_keys_of_another_type, many_mistakes,
         many_warnings, half_written_table, junk, needs_a_restart, wrong_type_in_counters,
         stale_maps, slow_redis, redis_dies, redis_closes_connections, switch_restarts, sonic_loads,
         no_right_to_configure)


def run(build, folder, cases):
    redis = Redis(folder)
    redis.load(config_db.tables())
    policy = os.path.join(folder, "policy.yaml")
    first_policy(build, redis, policy)
    with LiveSwitch(hosts=len(config_db.PORTS), policy=policy,
                    folder=os.path.join(folder, "live")) as switch:
        # The bridge needs the path of its file at a restart of the switch.
        bridge = Bridge(switch, build, redis.path, policy, devices(), "--poll", "5s")
        rig = Rig(switch, redis, bridge, policy)
        rig.wait_state("applied", "the start")
        try:
            for part in cases:
                case(part.__name__, functools.partial(part, rig))
        except BaseException:
            print(f"the log of the bridge:\n{bridge.log()[-3000:]}")
            raise
        want(switch.show("drops")["total"]["lossless_packets"] == 0,
             "lossless frames were dropped")
        want(bridge.process.stop() == 0, f"the bridge ends in order: {bridge.log()[-500:]}")
        lines = bridge.log().splitlines()
        want(len(lines) < 300, f"{len(lines)} lines of log:\n" + "\n".join(lines))
    redis.stop()


def main():
    build = os.path.abspath(sys.argv[1])
    os.environ["WEIR_BUILD"] = build
    if os.geteuid() != 0 or shutil.which("redis-server") is None:
        print("skipped: needs root and redis-server")
        return SKIPPED
    cases = [c for c in CASES if not sys.argv[2:] or c.__name__ in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder:
        run(build, folder, cases)
    return 0


sys.exit(main())
