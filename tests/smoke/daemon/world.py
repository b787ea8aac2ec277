# SPDX-License-Identifier: Apache-2.0
"""What the tests of the live switch share: namespaces, the running switch, asking it, traffic."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WEIR, WEIRCTL = sys.argv[1:3]
ID = "wd"
NAME = ID
SOCK = f"/run/weir/{NAME}.sock"
HOSTS = 3
TOS_CLASS3 = "0x68"  # DSCP 26
LATE_S = 60  # what must happen may be this late on a busy machine

POLICY = """\
switch: {name: %s, stall: {pause_after: off}, lldp: off, workers: 1, buffer: {size: 4MB}}
ports:
  - {name: "p[1-3]", device: "xdp:%ss[1-3]", speed: 1G, mtu: 1500, profile: roce}
profiles:
  roce:
    classes:
      0: {schedule: {dwrr: 50}}
      3:
        lossless: true
        schedule: {dwrr: 50}
        ingress: {alpha: 1}
        wred: {ecn: on, kmin: 60KB, kmax: 200KB, pmax: 100%%}
      6: {schedule: strict}
""" % (NAME, ID)


def sh(*cmd, check=True, timeout=LATE_S, **kw):
    r = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                       timeout=timeout, **kw)
    if check and r.returncode != 0:
        raise AssertionError(f"{' '.join(cmd)} exited {r.returncode}\n{r.stdout}{r.stderr}")
    return r


def ns(n):
    return ["nsenter", f"--net=/run/netns/{ID}{n}"]


def host(n, *cmd, **kw):
    return sh(*ns(f"h{n}"), *cmd, **kw)


def ctl(*args, **kw):
    return sh(WEIRCTL, "-s", NAME, *args, **kw)


def show(what, *args):
    return json.loads(ctl("show", what, *args, "--json").stdout)


def want(condition, text):
    if not condition:
        raise AssertionError(text)


def want_eq(a, b, text):
    want(a == b, f"{text}: {a!r} is not {b!r}")


def eventually(condition, text, timeout=LATE_S):
    """For what a busy machine may do late, not for what must not happen at all."""
    end = time.monotonic() + timeout
    while not condition():
        want(time.monotonic() < end, f"not within {timeout} s: {text}")
        time.sleep(0.02)


class World:
    """Namespaces: one for the switch's ends of three links, one per host."""

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        sh("ip", "netns", "add", f"{ID}s")
        for i in range(1, HOSTS + 1):
            sw, end = f"{ID}s{i}", f"{ID}e{i}"
            sh("ip", "netns", "add", f"{ID}h{i}")
            sh("ip", "link", "add", sw, "netns", f"{ID}s", "type", "veth",
               "peer", "name", end, "netns", f"{ID}h{i}")
            sh(*ns("s"), "sysctl", "-qw", f"net.ipv6.conf.{sw}.disable_ipv6=1", check=False)
            host(i, "sysctl", "-qw", f"net.ipv6.conf.{end}.disable_ipv6=1", check=False)
            # No ARP five seconds after a ping, in the middle of what is counted.
            host(i, "sysctl", "-qw", f"net.ipv4.neigh.{end}.delay_first_probe_time=3600")
            for where, dev in (("s", sw), (f"h{i}", end)):
                sh(*ns(where), "ethtool", "-K", dev, "tx", "off", "tso", "off", "gso", "off",
                   "gro", "off", check=False)
                sh(*ns(where), "ip", "link", "set", dev, "up")
            host(i, "ip", "addr", "add", f"10.77.0.{i}/24", "dev", end)

    def __exit__(self, *exc):
        for n in ["s"] + [f"h{i}" for i in range(1, HOSTS + 1)]:
            subprocess.run(["ip", "netns", "del", f"{ID}{n}"], stderr=subprocess.DEVNULL)
        for left in glob.glob(f"/run/weir/{NAME}.*"):
            os.unlink(left)  # of a switch that was killed
        for left in glob.glob(f"/var/run/dpdk/weir-{NAME}*"):
            shutil.rmtree(left, ignore_errors=True)  # likewise


class Switch:
    """One `weir` process."""

    def __init__(self, policy, *args):
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.p = subprocess.Popen([*ns("s"), WEIR, "-c", policy, *args], stdout=self.out,
                                  stderr=self.err)

    def text(self, f):
        f.flush()
        return os.pread(f.fileno(), 1 << 22, 0).decode(errors="replace")

    def ready(self):
        end = time.monotonic() + LATE_S
        while time.monotonic() < end:
            if "\nready\n" in "\n" + self.text(self.out):
                return self
            if self.p.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"weir is not ready\n{self.text(self.out)}{self.text(self.err)}")

    def stop(self, sig=signal.SIGTERM, timeout=LATE_S):
        if self.p.poll() is None:
            self.p.send_signal(sig)
        try:
            return self.p.wait(timeout)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            raise AssertionError(f"weir did not stop\n{self.text(self.err)}") from None


def write_policy(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
    f.write(text)
    f.close()
    return f.name


def ping(a, b, *args, count=5, tos="0", wait=10):
    """Whether there is an answer; wait: seconds for the first one, short where none is to come."""
    return host(a, "ping", "-q", "-c", str(count), "-i", "0.05", "-W", str(wait), "-Q", tos, *args,
                f"10.77.0.{b}", check=False).returncode == 0


def link_rx(n):
    """Frames that the host's end of link n has received."""
    out = host(n, "ip", "-s", "-j", "link", "show", f"{ID}e{n}").stdout
    return json.loads(out)[0]["stats64"]["rx"]["packets"]


def blast(n, size, gap_s=0):
    """n frames of class 3 from h1 to h3, as fast as the host can, or with gaps."""
    send = """import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0x68)
for i in range(int(sys.argv[1])):
    s.sendto(bytes(int(sys.argv[2])), ("10.77.0.3", 9))
    time.sleep(float(sys.argv[3]))
"""
    host(1, "/usr/bin/python3", "-c", send, str(n), str(size), str(gap_s))


def row(rows, **match):
    for r in rows:
        if all(r[k] == v for k, v in match.items()):
            return r
    raise AssertionError(f"no row {match} in {rows}")


def held_balance(*args):
    b = json.loads(ctl("quiesce", *args, "--json").stdout)
    t = b["balance"]
    want_eq(t["received"] + t["generated"] + t["replicated"],
            t["transmitted"] + t["consumed"] + t["dropped"] + t["queued"], "the balance")
    return b


def run(failed, only, test, arg):
    """A test, unless others are named; its name goes to failed if it fails."""
    name = test.__name__[2:]
    if only and name not in only:
        return
    try:
        test(arg)
        print(f"ok   {name.replace('_', ' ')}", flush=True)
    except (AssertionError, KeyError, IndexError, OSError, subprocess.SubprocessError,
            ValueError) as e:
        print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}", flush=True)
        failed.append(name)
