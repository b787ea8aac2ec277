#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SIGTERM ends `weir` within a second, whatever it does, and leaves no file behind. It goes before
whatever else the machine does; moments in which it still gets no processor do not count.

A worker that never returns keeps two SIGTERMs from ending `weir`; the third ends it.

usage: test_stop.py [-h] WEIR WEIRCTL

Needs root; exits 77 without. The ports are DPDK devices of one process, without namespaces.
"""
import contextlib
import ctypes
import fcntl
import glob
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import Failed, main, want

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from live import go_first, stop_time # noqa: E402: the path is set here

SECOND = 1.0
NAME = "stop"
APART = 0.3 # more than STOP_ECHO_NS
PTRACE_INTERRUPT, PTRACE_SEIZE = 0x4207, 0x4206
WALL = 0x40000000 # of waitpid: threads too
# One mbuf a cell: the large pool takes a second to fill, and the kernel a part of it to free.
LARGE, SMALL = "64MB", "2MB"
POLICY = """\
switch: {name: %s, buffer: {size: %s}}
ports:
  - {name: "p[1-2]", device: "vdev:net_ring[1-2]", speed: 1G, mtu: 1500}
"""


def left_behind():
    return glob.glob(f"/run/weir/{NAME}.[!f]*") + glob.glob(f"/run/dpdk/weir-{NAME}")


class Daemon:
    """One `weir` whose output goes to a pipe that nobody needs to read."""

    def __init__(self, weir, size):
        self.policy = tempfile.NamedTemporaryFile("w", suffix=".yaml")
        self.policy.write(POLICY % (NAME, size))
        self.policy.flush()
        self.out, end = os.pipe()
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 4096)
        self.began = time.monotonic()
        self.p = subprocess.Popen([weir, "--allow-vdev", "-c", self.policy.name, "--",
                                   "--no-huge"], stdout=end, stderr=subprocess.STDOUT)
        os.close(end)
        self.text = ""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()
        os.close(self.out)
        self.policy.close()

    def read(self, seconds):
        if select.select([self.out], [], [], seconds)[0]:
            self.text += os.read(self.out, 65536).decode()
        return self.text

    def ready(self):
        end = time.monotonic() + 60
        while "\nready\n" not in self.read(0.1):
            want(self.p.poll() is None and time.monotonic() < end, f"not ready: {self.text}")
        return time.monotonic() - self.began

    def stop(self, text):
        """Its exit status, and how long it took."""
        took = stop_time(self.p, 20)
        status = self.p.wait()
        print(f"    {text}: exit {status} after {took:.2f} s", flush=True)
        want(took < SECOND, f"{text}: took {took:.2f} s")
        want(not left_behind(), f"{text}: left {left_behind()}")
        return status


def while_it_climbs_up(args):
    with Daemon(args.weir, LARGE) as d:
        whole = d.ready()
        want(d.stop("in operation, with much memory") == 0, "exit")
        want("balance holds" in d.read(0.1), d.text)
    # The first step is the start of the process itself, before a handler is there. A start may be
    # quicker than the one that was measured, so the last signals may find a switch in operation.
    early = 0
    for part in range(1, 9):
        with Daemon(args.weir, LARGE) as d:
            time.sleep(whole * part / 10)
            status = d.stop(f"after {whole * part / 10:.2f} of {whole:.2f} s")
            want(status == 0, f"exit {status}: {d.read(0.1)}")
            d.read(0.1)
            early += "stopped before it was ready" in d.text
            want("stopped before it was ready" in d.text or "balance holds" in d.text, d.text)
    want(early >= 4, f"only {early} signals came before the switch was ready")


def with_unread_output(args):
    with Daemon(args.weir, SMALL) as d:
        d.ready()
        with open(d.policy.name, "w") as f:
            f.write("".join(f"mistake_{i}: 1\n" for i in range(60))) # a line each
        end = time.monotonic() + 30
        while time.monotonic() < end: # until the pipes of the process are full as well
            d.p.send_signal(signal.SIGHUP)
            time.sleep(0.005)
            r = subprocess.run([args.weirctl, "-s", NAME, "metrics"], stdout=subprocess.PIPE,
                               text=True, check=True)
            if "\nweir_log_lost_total 0\n" not in r.stdout:
                break
        want("\nweir_log_lost_total " in r.stdout, "no metric")
        want("\nweir_log_lost_total 0\n" not in r.stdout, "no line was lost")
        want(d.stop("with unread output") == 0, "exit")


def worker_of(pid):
    """The thread of the only worker."""
    for path in glob.glob(f"/proc/{pid}/task/*/comm"):
        with open(path) as f:
            if "worker" in f.read():
                return int(path.split("/")[4])
    raise Failed(f"no worker in {glob.glob(f'/proc/{pid}/task/*')}")


@contextlib.contextmanager
def held(thread):
    """The thread runs no instruction meanwhile; the other threads of its process go on."""
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        want(libc.ptrace(request, thread, None, None) == 0,
             f"ptrace: {os.strerror(ctypes.get_errno())}")
    os.waitpid(thread, WALL)
    # The process ends only when its tracer has taken the end of the thread.
    threading.Thread(target=os.waitpid, args=(thread, WALL), daemon=True).start()
    yield


def with_a_worker_that_never_returns(args):
    with Daemon(args.weir, SMALL) as d:
        d.ready()
        with held(worker_of(d.p.pid)):
            for i in range(2):
                d.p.send_signal(signal.SIGTERM)
                time.sleep(APART)
                want(d.p.poll() is None, f"ended with {d.p.returncode} after {i + 1} SIGTERM")
            status = d.stop("the third SIGTERM")
            want(status == 1, f"exit {status}: {d.read(0.1)}")


TESTS = [while_it_climbs_up, with_unread_output, with_a_worker_that_never_returns]


go_first(children=True)
sys.exit(main(__doc__, TESTS, "weir", "weirctl"))
