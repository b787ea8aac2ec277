# SPDX-License-Identifier: Apache-2.0
"""Network namespaces, the veth links between them, and processes inside: made, watched, removed.

    weirlab-<pid>-sw: sw1 sw2 sw3 ...    the switch's side of every link
                       |   |   |
    weirlab-<pid>-h1: e1   |   |         one namespace per host
    weirlab-<pid>-h2:     e2   |
    weirlab-<pid>-h3:         e3

A tapped world has a namespace in the middle of each link, since a frame between two AF_XDP sockets
is seen by no capture: sw1 - s1 (weirlab-<pid>-tap) t1 - e1, and all of it passes t1.

The namespaces carry the pid of the program that made them. Whatever way that program ends they go:
at its end, or, when it was killed, at the start of the next one. Nothing else is touched.
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

NETNS = "/run/netns"
SOCKETS = "/run/weir"
RUNTIMES = "/var/run/dpdk"  # of DPDK; a switch that was killed leaves its own there
PREFIX = "weirlab"
OURS = re.compile(rf"^{PREFIX}-(\d+)-\w+$")
OUR_SOCKET = re.compile(rf"^{PREFIX}(\d+)\.\w+$")
OUR_RUNTIME = re.compile(rf"^weir-{PREFIX}(\d+)$")
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """Something that the user should read as one sentence."""


def run(*cmd, check=True, timeout=60, **kw):
    try:
        done = subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout, **kw)
    except FileNotFoundError:
        raise Failed(f"{cmd[0]} is not installed; run scripts/setup as root") from None
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(cmd)} did not end within {timeout} s") from None
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(cmd)} failed: {(done.stderr or done.stdout).strip()}")
    return done


def owner_lives(pid):
    """True while the program that made the namespaces runs; a reused pid does not count."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return b"python" in f.read()
    except OSError:
        return False


def delete(name):
    for pid in run("ip", "netns", "pids", name, check=False).stdout.split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
    run("ip", "netns", "del", name, check=False)


def orphans(names, pattern):
    """Those of the names that carry the pid of a program that is gone."""
    found = [(name, pattern.match(name)) for name in names]
    return [name for name, m in found if m and not owner_lives(int(m.group(1)))]


def names_in(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def sweep():
    """Removes what killed programs left behind. Returns the names of the namespaces."""
    gone = orphans(names_in(NETNS), OURS)
    for name in gone:
        delete(name)
    for name in orphans(names_in(SOCKETS), OUR_SOCKET):
        os.unlink(os.path.join(SOCKETS, name))
    for name in orphans(names_in(RUNTIMES), OUR_RUNTIME):
        shutil.rmtree(os.path.join(RUNTIMES, name), ignore_errors=True)
    for name in orphans(names_in(tempfile.gettempdir()), OURS):
        shutil.rmtree(os.path.join(tempfile.gettempdir(), name), ignore_errors=True)
    return gone


def switch_name():
    """A name for a switch of this program; sweep() knows its socket."""
    return f"{PREFIX}{os.getpid()}"


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """A program in a namespace, with its output in files."""

    def __init__(self, world, where, name, *cmd):
        self.name = name
        self.out_path = os.path.join(world.logs, f"{name}.out")
        self.err_path = os.path.join(world.logs, f"{name}.err")
        with open(self.out_path, "w") as out, open(self.err_path, "w") as err:
            self.p = subprocess.Popen(world.inside(where, *cmd), stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=err, preexec_fn=die_with_parent,
                                      start_new_session=True)

    def out(self):
        with open(self.out_path, errors="replace") as f:
            return f.read()

    def err(self):
        with open(self.err_path, errors="replace") as f:
            return f.read()

    def running(self):
        return self.p.poll() is None

    def said(self):
        """The last lines of all that it printed, for messages."""
        lines = (self.out() + self.err()).strip().splitlines()
        return "\n".join(f"    {self.name}: {line}" for line in lines[-12:])

    def wait_line(self, line, seconds=60):
        """Waits until it has printed this line."""
        end = time.monotonic() + seconds
        while True:
            alive = self.running()
            if line in (self.out() + "\n" + self.err()).splitlines():
                return self
            if not alive:
                raise Failed(f"{self.name} ended with status {self.p.returncode} before it was "
                             f"ready\n{self.said()}")
            if time.monotonic() > end:
                raise Failed(f"{self.name} was not ready within {seconds} s\n{self.said()}")
            time.sleep(0.02)

    def wait(self, seconds):
        try:
            return self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} did not end within {seconds:.0f} s\n{self.said()}") from None

    def stop(self, sig=signal.SIGTERM, seconds=15):
        """Ends it politely; returns its status."""
        if self.running():
            self.p.send_signal(sig)
        return self.wait(seconds)

    def kill(self):
        if self.running():
            self.p.kill()
        self.p.wait()


class World:
    """The namespaces and links of n hosts around one switch. Use it in a `with` block."""

    def __init__(self, n_hosts, mtu=1500, ipv6=False, tapped=False):
        self.n_hosts, self.mtu, self.ipv6, self.tapped = n_hosts, mtu, ipv6, tapped
        self.id = f"{PREFIX}-{os.getpid()}"
        self.processes = []
        self.logs = None

    def __enter__(self):
        sweep()
        self.logs = tempfile.mkdtemp(prefix=f"{self.id}-")
        try:
            self.build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *exc):
        self.remove()

    def ns(self, where):
        return f"{self.id}-{where}"

    def inside(self, where, *cmd):
        return ["nsenter", f"--net={NETNS}/{self.ns(where)}", *cmd]

    def run(self, where, *cmd, **kw):
        return run(*self.inside(where, *cmd), **kw)

    def spawn(self, where, name, *cmd):
        p = Process(self, where, name, *cmd)
        self.processes.append(p)
        return p

    def build(self):
        hosts = [f"h{i}" for i in range(1, self.n_hosts + 1)]
        for where in ["sw", *hosts] + ["tap"] * self.tapped:
            run("ip", "netns", "add", self.ns(where))
            if not (self.ipv6 and where in hosts):
                self.no_ipv6(where)
        for i in range(1, self.n_hosts + 1):
            self.link(i)

    def no_ipv6(self, where):
        """Neighbour discovery and router solicitations would mix with the frames under test."""
        for scope in ("default", "all"):
            self.run(where, "sh", "-c",
                     f"f=/proc/sys/net/ipv6/conf/{scope}/disable_ipv6; [ ! -e $f ] || echo 1 >$f")

    def link(self, i):
        if self.tapped:
            self.veth("sw", f"sw{i}", "tap", f"s{i}")
            self.veth("tap", f"t{i}", f"h{i}", f"e{i}")
            self.join("tap", f"s{i}", f"t{i}")
            self.join("tap", f"t{i}", f"s{i}")
        else:
            self.veth("sw", f"sw{i}", f"h{i}", f"e{i}")
        self.run(f"h{i}", "ip", "link", "set", f"e{i}", "address", f"02:00:00:00:00:{i:02x}")

    def veth(self, *ends):
        """Two (namespace, device) pairs and the link between them."""
        run("ip", "link", "add", ends[1], "netns", self.ns(ends[0]), "type", "veth",
            "peer", "name", ends[3], "netns", self.ns(ends[2]))
        for where, dev in (ends[:2], ends[2:]):
            # AF_XDP sees a frame as it is in memory: checksums finished, tags in place, not merged.
            self.run(where, "ethtool", "-K", dev, "tx", "off", "txvlan", "off", "rxvlan", "off",
                     "tso", "off", "gso", "off", "gro", "off", check=False)
            self.run(where, "ip", "link", "set", dev, "mtu", str(self.mtu), "up")

    def join(self, where, into, out):
        """Sends all that arrives at one device out of another. No bridge: it would keep PFC."""
        self.run(where, "tc", "qdisc", "add", "dev", into, "clsact")
        self.run(where, "tc", "filter", "add", "dev", into, "ingress", "protocol", "all", "u32",
                 "match", "u32", "0", "0", "action", "mirred", "egress", "redirect", "dev", out)

    def remove(self):
        for p in self.processes:
            p.kill()
        for name in names_in(NETNS):
            if name.startswith(f"{self.id}-"):
                delete(name)
        for name in names_in(SOCKETS):  # of a switch that had to be killed
            if name.startswith(f"{switch_name()}."):
                os.unlink(os.path.join(SOCKETS, name))
        shutil.rmtree(os.path.join(RUNTIMES, f"weir-{switch_name()}"), ignore_errors=True)
        if self.logs:
            shutil.rmtree(self.logs, ignore_errors=True)


class QuickWorld(World):
    """A world whose programs go before whatever else the machine does: its stalls are no physics.

    They sleep most of the time. Where real-time scheduling is not allowed they run as others do.
    """

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        first = ["chrt", "--rr", "1"]
        self.first = first if run(*first, "true", check=False).returncode == 0 else []

    def inside(self, where, *cmd):
        programs = cmd[0].startswith("/")
        return super().inside(where, *(self.first if programs else []), *cmd)
