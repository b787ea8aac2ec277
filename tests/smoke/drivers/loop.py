# SPDX-License-Identifier: Apache-2.0
"""A running portloop, test frames, and the way a script of driver tests is run."""
import os
import signal
import struct
import subprocess
import sys
import time
import traceback

from harness import LATE_S, equal, ip, make_topology, ns, remake, remove_topology, until

PORTLOOP = sys.argv[1]
APART = ["-a"] if os.environ.get("WEIR_PORTS") == "apart" else []
LLDP, TEST_TYPE = 0x88CC, 0x88B5
PFC_DST = bytes.fromhex("0180c2000001")
LLDP_DST = bytes.fromhex("0180c200000e")


def frame(size, seq=0, dst=b"\x02\0\0\0\0\x01", tag=b"", ethertype=TEST_TYPE):
    head = dst + b"\x02\0\0\0\0\x02" + tag + struct.pack("!HH", ethertype, seq & 0xFFFF)
    return (head + bytes((seq + i) & 0xFF for i in range(size)))[:size]


def pfc(times, enable=None, size=34, src=b"\x02\0\0\0\0\x02", dst=PFC_DST):
    """A PFC frame: {class: quanta}, and where given another class-enable vector than these."""
    vector = sum(1 << c for c in times) if enable is None else enable
    body = dst + src + struct.pack("!HHH8H", 0x8808, 0x0101, vector,
                                   *(times.get(c, 0) for c in range(8)))
    return body.ljust(size, b"\0")


def hosts_up(devices):
    """The driver has just brought its ends up; the kernel wakes the peers up to a second later,
    and what a host sends before that is gone."""
    for h in ("a", "b"):
        if any(f"sw{h}" in d for d in devices):
            until(lambda h=h: "state UP" in ip(h, "-o", "link", "show", "dev", f"e{h}"),
                  f"e{h} is up")


class Loop:
    """A running portloop."""

    def __init__(self, *args, expect_ready=True, prefix=()):
        self.proc = subprocess.Popen(
            ["ip", "netns", "exec", ns("sw"), *prefix, PORTLOOP, *APART, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.facts = []
        if not expect_ready:
            out, self.err = self.proc.communicate(timeout=LATE_S)
            self.code = self.proc.returncode
            return
        for line in self.proc.stdout:
            if line.strip() == "ready":
                hosts_up(args)
                return
            self.facts.append(dict(kv.split("=", 1) for kv in line.split()))
        raise AssertionError(f"portloop did not start: {self.proc.stderr.read().strip()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if self.proc.poll() is None:
            out, self.err = self.proc.communicate("quit\n", timeout=LATE_S)
            if kind is None:
                equal(out.strip(), "missing=0", "frames that did not come back to the pool")
                equal(self.proc.returncode, 0, "exit status")

    def ask(self, line):
        self.proc.stdin.write(line + "\n")
        self.proc.stdin.flush()
        answer = self.proc.stdout.readline().split()
        return {k: int(v) for k, v in (kv.split("=") for kv in answer if "=" in kv)}

    def kill(self):
        self.proc.send_signal(signal.SIGKILL)
        self.proc.communicate()


def refused(text, *args, **kw):
    loop = Loop(*args, expect_ready=False, **kw)
    equal(loop.code, 1, "exit status")
    errors = [e[len("error: "):] for e in loop.err.splitlines() if e.startswith("error: ")]
    equal(errors, [text], "error")


def run_tests(tests, wanted):
    """Exit status: 0 all passed, 1 some failed, 77 not root."""
    if os.geteuid() != 0:
        print("skipped: namespaces and AF_XDP need root")
        return 77
    failed = 0
    make_topology()
    try:
        for run in tests:
            if wanted and run.__name__ not in wanted:
                continue
            start = time.monotonic()
            try:
                run()
                verdict = "ok"
            except Exception:
                verdict = "FAILED\n" + traceback.format_exc()
                failed += 1
                remake()
            print(f"{run.__name__} ({time.monotonic() - start:.1f} s): {verdict}", flush=True)
    finally:
        remove_topology()
    print(f"{failed} failed")
    return 1 if failed else 0
