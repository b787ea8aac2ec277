#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an open page costs: processor time of each thread of a switch with 3 and with 32 ports, in
turns without and with one reader of the stream that also asks for a table once a second.

usage: test_web_cost.py WEIR WEIRCTL [SECONDS]

Prints the shares. Exit 1 if control pays more than 2 % of a processor. Needs root; exits 77
without.
"""
import glob
import os
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(sys.argv.pop(3)) if len(sys.argv) > 3 else 5
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon"), HERE]
from test_web import PORT, Stream, ask, enter  # noqa: E402
from world import ID, POLICY, Switch, World, host, ns, sh, write_policy  # noqa: E402

TURNS, LIMIT_PERCENT, PORTS = 5, 2.0, 32


def times(pid):
    """{thread: ns of processor time}; the control thread is the process's first."""
    out = {}
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        tid = int(path.split("/")[4])
        with open(path, encoding="ascii") as f:
            out["control" if tid == pid else "others"] = \
                out.get("control" if tid == pid else "others", 0) + int(f.read().split()[0])
    return out


class Reader(threading.Thread):
    """A page that is open."""

    def __init__(self):
        super().__init__()
        self.stop, self.n = False, 0

    def run(self):
        stream, asked = Stream(), 0
        while not self.stop:
            stream.frames(1)
            self.n += 1
            if time.monotonic() - asked > 1:
                asked = time.monotonic()
                ask("/show/queues")
        stream.close()


def share(pid, reading):
    reader = Reader()
    if reading:
        reader.start()
        time.sleep(0.5)
    before, began = times(pid), time.monotonic()
    time.sleep(SECONDS)
    spent = time.monotonic() - began
    after = times(pid)
    reader.stop = True
    if reading:
        reader.join()
        assert reader.n >= 4 * SECONDS, f"{reader.n} frames in {SECONDS} s"
    return {k: (after[k] - before[k]) / spent / 1e7 for k in after}


def measure(name, policy):
    """Traffic runs meanwhile; the median of the paired differences."""
    sw = Switch(policy, "--web", str(PORT)).ready()
    flood = None
    try:
        flood = threading.Thread(target=host, args=(1, "ping", "-q", "-i", "0.002", "-w",
                                                    str(int(2 * TURNS * (SECONDS + 1) + 5)),
                                                    "10.77.0.2"),
                                 kwargs={"check": False, "timeout": 600})
        flood.start()
        time.sleep(1)
        pairs = [(share(sw.p.pid, False), share(sw.p.pid, True)) for _ in range(TURNS)]
    finally:
        sw.stop()
        if flood is not None:
            sh("pkill", "-f", f"-w {int(2 * TURNS * (SECONDS + 1) + 5)} 10.77.0.2", check=False)
            flood.join()
    more = {k: statistics.median(b[k] - a[k] for a, b in pairs) for k in ("control", "others")}
    print(f"{name}: control {statistics.median(a['control'] for a, _ in pairs):.2f} %, with a page "
          f"{more['control']:+.2f}; other threads "
          f"{statistics.median(a['others'] for a, _ in pairs):.2f} %, {more['others']:+.2f}",
          flush=True)
    return more["control"]


def main():
    if os.geteuid() != 0:
        print("needs root")
        return 77
    with World():
        for i in range(4, PORTS + 1):
            sh("ip", "link", "add", f"{ID}s{i}", "netns", f"{ID}s", "type", "veth", "peer", "name",
               f"{ID}e{i}", "netns", f"{ID}h3")
            sh(*ns("s"), "ip", "link", "set", f"{ID}s{i}", "up")
            host(3, "ip", "link", "set", f"{ID}e{i}", "up")
        sh(*ns("s"), "ip", "link", "set", "lo", "up")
        enter(f"{ID}s")
        costs = []
        for n in (3, PORTS):
            policy = write_policy(POLICY.replace("[1-3]", f"[1-{n}]").replace("4MB", "32MB"))
            costs.append(measure(f"{n} ports", policy))
            os.unlink(policy)
    return int(max(costs) > LIMIT_PERCENT)


if __name__ == "__main__":
    sys.exit(main())
