# SPDX-License-Identifier: Apache-2.0
"""A real redis-server on a Unix socket, read and changed by redis-cli, and a weir-sonic beside a
live switch. Counters are read the way SONiC's scripts read them: name, map, object id, hash."""
import json
import os
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "python"))

import config_db  # noqa: E402
from weir.live import LiveSwitch, Process  # noqa: E402

APPL, COUNTERS, CONFIG, STATE = 0, 2, 4, 6
START_S = 20


# So that a case whose time is over is named as the one that failed.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("FAILED: ended by a signal"))


def want(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def wait_for(condition, what, seconds=START_S):
    """The value of condition() once it is true."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        want(time.monotonic() < end, f"{what}: not within {seconds} s")
        time.sleep(0.05)


def case(name, run):
    """Runs a part of a test and prints its end, which scripts/mutants reads."""
    began = time.monotonic()
    ok = False
    try:
        run()
        ok = True
    finally:
        print(f"{name} ({time.monotonic() - began:.1f} s): {'ok' if ok else 'FAILED'}", flush=True)


class Redis:
    def __init__(self, folder, *options):
        self.folder, self.options = folder, options
        self.path = os.path.join(folder, "redis.sock")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir",
             self.folder, "--logfile", os.path.join(self.folder, "redis.log"), *self.options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for(lambda: self.cli(0, "PING", check=False) == "PONG", "redis-server answers")

    def cli(self, db, *words, text=None, check=True):
        done = subprocess.run(["redis-cli", "-s", self.path, "-n", str(db), *words], input=text,
                              stdin=None if text is not None else subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        out = done.stdout.strip()
        want(not check or (done.returncode == 0 and not out.startswith("ERR")),
             f"redis-cli {words}: {out} {done.stderr}")
        return out

    def load(self, db):
        self.cli(CONFIG, text="\n".join(config_db.commands(db)) + "\n")

    def hash(self, db, key):
        return json.loads(self.cli(db, "--json", "HGETALL", key))

    def hashes(self, db, keys):
        """Several at once, by key."""
        keys = list(keys)
        lines = self.cli(db, "--json", text="".join(f'HGETALL "{key}"\n' for key in keys))
        return dict(zip(keys, (json.loads(line) for line in lines.split("\n"))))

    def get(self, db, key, field):
        return self.cli(db, "HGET", key, field)

    def status(self):
        return self.hash(STATE, "WEIR|status")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(20)


class Bridge:
    """weir-sonic in the namespace of the switch."""

    def __init__(self, switch, build, redis, policy, ports, *words, program=None):
        self.process = switch.start(
            Process, switch._namespaces[0],
            [program or os.path.join(build, "control/sonic/bridge/weir-sonic"), "-s", switch.name,
             "--redis", redis, "--policy", policy, "--ports", ports, *words], "weir-sonic")

    def log(self):
        return self.process.err()

    def cpu_s(self):
        """Processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as f:
            words = f.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def devices():
    return ",".join(f"{port}=xdp:sw{i + 1}" for i, port in enumerate(config_db.PORTS))


def first_policy(build, redis, path, ports=None, *words):
    done = subprocess.run([os.path.join(build, "control/sonic/bridge/weir-sonic"), "--once",
                           "--redis", redis.path, "--policy", path, "--ports", ports or devices(),
                           *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=False)
    want(done.returncode == 0, f"weir-sonic --once: status {done.returncode}\n{done.stderr}")


# ---- what SONiC's scripts show; each follows the names and keys of the script

def port_oids(redis):
    return redis.hash(COUNTERS, "COUNTERS_PORT_NAME_MAP")


def pfc_counters(redis, way):
    """pfcstat: port -> eight numbers. way: RX or TX."""
    ports = port_oids(redis)
    hashes = redis.hashes(COUNTERS, [f"COUNTERS:{oid}" for oid in ports.values()])
    return {port: [int(hashes[f"COUNTERS:{oid}"][f"SAI_PORT_STAT_PFC_{i}_{way}_PKTS"])
                   for i in range(8)] for port, oid in ports.items()}


def objects(redis, kind):
    """queuestat, pg-drop, watermarkstat: (port, index) -> object id, by four maps. kind: QUEUE or
    PG."""
    ports = {oid: port for port, oid in port_oids(redis).items()}
    to_port = redis.hash(COUNTERS, f"COUNTERS_{kind}_PORT_MAP")
    to_index = redis.hash(COUNTERS, f"COUNTERS_{kind}_INDEX_MAP")
    out = {}
    for name, oid in redis.hash(COUNTERS, f"COUNTERS_{kind}_NAME_MAP").items():
        port, index = ports[to_port[oid]], int(to_index[oid])
        want(name == f"{port}:{index}", f"{kind} {name} leads to {port}:{index}")
        out[port, index] = oid
    return out
