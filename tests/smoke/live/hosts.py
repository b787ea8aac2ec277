# SPDX-License-Identifier: Apache-2.0
"""Linux hosts around a switch that routes or tunnels: ping, TCP, captures, and what the switch has
dropped."""
import json
import os
import re
import subprocess
import time

from live import eventually, want

LEAST_BPS = 20e6 # a path that works moves far more; a broken one moves nothing
TSHARK = ["tshark", "-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]


def ping(world, host, to, *args, count=5):
    """Replies to count requests."""
    done = world.run(host, "ping", "-n", "-c", str(count), "-i", "0.1", "-W", "1", *args, to,
                     check=False)
    return done.stdout.count("bytes from")


def all_answered(world, host, to, count=5):
    """Whether each of so many requests in a row has its reply, which may be late."""
    out = world.run(host, "ping", "-n", "-c", str(count), "-i", "0.1", "-w", "30", to,
                    check=False).stdout
    return set(range(1, count + 1)) <= set(map(int, re.findall(r"icmp_seq=(\d+) ttl", out)))


def tcp(world, host, to, at):
    """iperf3 from a host to an address of host `at`."""
    listener = world.spawn(at, f"iperf3-{to}", "iperf3", "-s", "-1", "--forceflush")
    eventually(lambda: "listening" in listener.out(), "iperf3 listens")
    done = world.run(host, "iperf3", "-J", "-c", to, "-t", "1", check=False, timeout=30)
    listener.kill()
    end = json.loads(done.stdout)
    want("error" not in end, f"iperf3 {to}: {end.get('error')}")
    bps = end["end"]["sum_received"]["bits_per_second"]
    print(f"        TCP {host} -> {to}: {bps / 1e6:.0f} Mb/s")
    want(bps > LEAST_BPS, f"TCP to {to}: {bps / 1e6:.1f} Mb/s")


def link(world, host, dev):
    return json.loads(world.run(host, "ip", "-j", "link", "show", dev).stdout)[0]


def dropped(switch, reason):
    return sum(d["packets"] for d in switch.show("drops")["drops"] if d["reason"] == reason)


def captured(world, host, dev, filters, send, name):
    """The path of a capture of the frames that arrive while send() runs."""
    path = os.path.join(world.logs, f"{name}.pcap")
    dump = world.spawn(host, f"tcpdump-{name}", "tcpdump", "-i", dev, "-w", path, "-U", "-Q", "in",
                       "--immediate-mode", "-Z", "root", *filters)
    eventually(lambda: "listening on" in dump.err(), "tcpdump listens")
    send()
    time.sleep(0.5)
    dump.stop()
    return path


def tshark(path, *fields):
    """The fields of every frame; a field that an inner header has, too, is "outer,inner"."""
    out = subprocess.run([*TSHARK, "-r", path, "-T", "fields", "-E", "separator=|",
                          *[a for f in fields for a in ("-e", f)]], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [dict(zip(fields, line.split("|"))) for line in out.stdout.splitlines()]
