#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`weir` that starts with descriptors 0 to 2 closed gives their numbers to no file of its own.

usage: test_descriptors.py [-h] WEIR WEIRCTL

Needs root; exits 77 without. The ports are DPDK devices of one process, without namespaces.
"""
import os
import subprocess
import sys
import tempfile
import time

from harness import main, want

NAME = "closed"
POLICY = f"""\
switch: {{name: {NAME}, buffer: {{size: 2MB}}}}
ports:
  - {{name: "p[1-2]", device: "vdev:net_ring[1-2]", speed: 1G, mtu: 1500}}
"""
READY_S = 60


def answers(weirctl):
    r = subprocess.run([weirctl, "-s", NAME, "show", "ports"], capture_output=True)
    return r.returncode == 0


def expect_place(pid, fd):
    """Descriptor 0 stays /dev/null; the daemon lays a pipe over 1 and 2."""
    place = os.readlink(f"/proc/{pid}/fd/{fd}")
    if fd == 0:
        want(place == "/dev/null", f"descriptor 0 is {place}")
    else:
        want(place.startswith("pipe:"), f"descriptor {fd} is {place}")


def with_closed(args, *closed):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        policy.write(POLICY)
        policy.flush()
        command = f'exec "$0" "$@" {" ".join(f"{fd}>&-" for fd in closed)}'
        p = subprocess.Popen(["/bin/sh", "-c", command, args.weir, "--allow-vdev", "-c",
                              policy.name, "--", "--no-huge"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + READY_S
            while not answers(args.weirctl):
                want(p.poll() is None, f"closed {closed}: exit {p.returncode}")
                want(time.monotonic() < end, f"closed {closed}: no answer")
                time.sleep(0.05)
            for fd in closed:
                expect_place(p.pid, fd)
            p.terminate()
            status = p.wait(20)
            want(status == 0, f"closed {closed}: exit {status}")
        finally:
            p.kill()
            p.wait()


def closed_descriptors_stay_out_of_use(args):
    for closed in ((0,), (1,), (2,), (0, 1, 2)):
        with_closed(args, *closed)


sys.exit(main(__doc__, [closed_descriptors_stay_out_of_use], "weir", "weirctl"))
