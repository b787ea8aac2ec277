# SPDX-License-Identifier: Apache-2.0
"""What a daemon with many ports takes: memory, and time from its start to the first frame.

Run as a program, inside the namespace of the hosts, it sends frames into one device until one of
them comes out of another, and prints the monotonic time of that.
"""
import os
import socket
import sys
import time

POLICY = """\
switch: {{name: {name}, buffer: {{size: 32MB}}}}
ports: [{{name: "p[1-{n}]", device: "xdp:sw[1-{n}]", speed: 10G, mtu: 1500, profile: roce}}]
profiles:
  roce:
    dscp_to_class: {{default: 0, 24-31: 3, 48-55: 6}}
    classes:
      3:
        lossless: true
        ingress: {{min: 18KB, headroom: 60KB}}
        wred: {{ecn: on, kmin: 150KB, kmax: 1500KB, pmax: 100%}}
"""
FIRST = b"\x02\x00\x00\x00\x00\x21\x02\x00\x00\x00\x00\x11\x88\xb5" + bytes(50)


def first_frame(into, out):
    """The destination is unknown, so the switch floods it to every port."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5)) as rx, \
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as tx:
        rx.bind((out, 0x88b5))
        tx.bind((into, 0))
        rx.settimeout(0.005)
        while True:
            tx.send(FIRST)
            try:
                rx.recv(2048)
                return time.monotonic()
            except TimeoutError:
                continue


def more_links(world, n):
    """All hosts but the first sit in its namespace: only their ends of the links are needed."""
    for i in range(2, n + 1):
        world.veth("sw", f"sw{i}", "h1", f"e{i}")


def memory_mib(pid):
    """Resident pages and hugepages of a process."""
    found = {}
    with open(f"/proc/{pid}/status") as f:
        for line in f:
            key, _, value = line.partition(":")
            if key in ("VmRSS", "HugetlbPages"):
                found[key] = int(value.split()[0]) / 1024
    return found["VmRSS"], found["HugetlbPages"]


def measure(weir, n_ports):
    from world import World, switch_name
    with World(1) as world:
        more_links(world, n_ports)
        policy = os.path.join(world.logs, "policy.yaml")
        with open(policy, "w") as f:
            f.write(POLICY.format(name=switch_name(), n=n_ports))
        watch = world.spawn("h1", "first", sys.executable, "-B", os.path.abspath(__file__), "e1",
                            f"e{n_ports}")
        time.sleep(0.3)
        began = time.monotonic()
        daemon = world.spawn("sw", "weir", weir, "-c", policy)
        daemon.wait_line("ready", 60)
        ready = time.monotonic() - began
        watch.wait(30)
        first = float(watch.out()) - began
        rss, huge = memory_mib(daemon.p.pid)
        notes = [line for line in daemon.out().splitlines() if "normal pages" in line]
        daemon.stop()
    return {"ports": n_ports, "ready_s": ready, "first_frame_s": first, "rss_mib": rss,
            "huge_mib": huge, "memory_mib": rss + huge, "normal_pages": bool(notes)}


if __name__ == "__main__":
    print(first_frame(*sys.argv[1:]))
