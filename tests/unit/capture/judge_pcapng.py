#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tshark reads a capture file of every kind of block and understands all that is said in it.

usage: judge_pcapng.py WRITE_GOLDEN
"""
import os
import shutil
import subprocess
import sys
import tempfile

FIELDS = ["frame.time_epoch", "frame.interface_name", "frame.interface_description",
          "frame.interface_queue", "frame.packet_flags_direction", "frame.cap_len", "frame.len",
          "frame.protocols", "frame.comment"]
WANT = [
    "1700000000.123456789|p1|xdp:sw1||0x00000001|33|33|eth:ethertype:lldp|dir=in",
    "1700000000.123456790|p2||3|0x00000002|24|33|eth:ethertype:lldp|dir=out class=3",
]


def tshark(path, *words):
    return subprocess.run(["tshark", "-n", "-r", path, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def main():
    if not shutil.which("tshark"):
        print("skipped: tshark is not installed")
        return 77
    golden = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "golden.pcapng")
        with open(path, "wb") as f:
            f.write(golden)
        r = tshark(path, "-T", "fields", "-E", "separator=|",
                   *(w for f in FIELDS for w in ("-e", f)))
        got = r.stdout.splitlines()
        if r.returncode != 0 or got != WANT:
            print(f"tshark exited {r.returncode}\n{r.stderr}\nread {got}\nnot  {WANT}")
            return 1
        with open(path, "wb") as f:
            f.write(golden[:-50])
        if tshark(path).returncode == 0:
            print("tshark takes a file that is cut short: it cannot judge")
            return 1
    return 0


sys.exit(main())
