#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SONiC's own sample configurations in a real Redis run a live switch, and are changed under
traffic without losing a frame.

usage: test_samples.py BUILD [FOLDER]

FOLDER, or WEIR_SONIC_SAMPLES: has qos-NAME.json, and buffers-NAME.json or buffer-NAME.json, as
SONiC renders them. Three ports of each sample are veth links here, at 40 Mb/s. Needs root and a
folder; exits 77 without.
"""
import functools
import glob
import json
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from redis_rig import Bridge, LiveSwitch, Redis, case, first_policy, want, wait_for  # noqa: E402
from test_live import SPEED_MBPS, all_arrived, change_each_second, traffic  # noqa: E402

SKIPPED, SECONDS, HOSTS, MOST_POOL = 77, 6, 3, 12_000_000
LOOKUP = ("# speed cable size xon xoff threshold xon_offset\n"
          f"{SPEED_MBPS} 5m 1248 2288 35776 0 2288\n")
CHANGES = [
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 20000 green_max_threshold 90000',
     ("20000", "20KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 40', ("40",)),
    ('HSET "WRED_PROFILE|AZURE_LOSSLESS" green_min_threshold 30000 green_max_threshold 120000',
     ("30000", "30KB")),
    ('HSET "SCHEDULER|scheduler.1" weight 15', ("15",)),
]


def loaded(path):
    with open(path) as f:
        return json.load(f)


def config_of(folder, qos):
    """The tables of a sample, with its buffers or those of no-config, and its ports."""
    name = os.path.basename(qos)[len("qos-"):-len(".json")]
    buffers = [p for kind in ("buffers", "buffer")
               for p in sorted(glob.glob(os.path.join(folder, f"{kind}-{name}*.json")))]
    db = loaded(buffers[0] if buffers else os.path.join(folder, "buffer-no-config.json"))
    db.update(loaded(qos))
    ports = [p for p in db["PORT_QOS_MAP"] if p.startswith("Ethernet") and "," not in p][:HOSTS]
    ports = ports if len(ports) == HOSTS else [f"Ethernet{4 * i}" for i in range(HOSTS)]
    for table in db: # queues of chassis cards are refused by their names
        db[table] = {key: row for key, row in db[table].items() if "|asic" not in key}
    for pool in db["BUFFER_POOL"].values(): # this machine has no gigabytes for a buffer
        for field, most in (("size", MOST_POOL), ("xoff", MOST_POOL // 4)):
            if field in pool:
                pool[field] = str(min(int(pool[field]), most))
    db["PORT"] = {p: {"speed": str(SPEED_MBPS), "mtu": "1500"} for p in ports}
    db["CABLE_LENGTH"] = {"AZURE": {p: "5m" for p in ports}}
    return db, ports


def runs_a_switch(build, qos, folder):
    db, ports = config_of(os.path.dirname(qos), qos)
    devices = ",".join(f"{p}=xdp:sw{i + 1}" for i, p in enumerate(ports))
    redis, policy = Redis(folder), os.path.join(folder, "policy.yaml")
    lookup = os.path.join(folder, "pg_profile_lookup.ini")
    with open(lookup, "w") as f:
        f.write(LOOKUP)
    redis.load(db)
    first_policy(build, redis, policy, devices, "--pg-lookup", lookup)
    with LiveSwitch(hosts=HOSTS, policy=policy, folder=os.path.join(folder, "live")) as switch:
        bridge = Bridge(switch, build, redis.path, policy, devices, "--pg-lookup", lookup)
        wait_for(lambda: redis.status().get("state") == "applied", "the bridge applies CONFIG_DB")
        receiver, senders = traffic(switch, SECONDS)
        n, _ = change_each_second(switch, redis, bridge, SECONDS, CHANGES)
        sent = all_arrived(switch, senders)
        print(f"{n} changes, {sent} frames sent, none lost")
        receiver.stop()
        want(bridge.process.stop() == 0, "the bridge ends in order")
    redis.stop()


def main():
    build = os.path.abspath(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("WEIR_SONIC_SAMPLES", "")
    samples = sorted(glob.glob(os.path.join(folder, "qos-*.json"))) if folder else []
    os.environ["WEIR_BUILD"] = build
    if os.geteuid() != 0 or not samples or shutil.which("redis-server") is None:
        print("skipped: needs root, redis-server and a folder with samples")
        return SKIPPED
    for qos in samples:
        with tempfile.TemporaryDirectory() as own:
            case(os.path.basename(qos)[:-len(".json")].replace("-", "_"),
                 functools.partial(runs_a_switch, build, qos, own))
    return 0


if __name__ == "__main__":
    sys.exit(main())
