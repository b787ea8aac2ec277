# SPDX-License-Identifier: Apache-2.0
"""Network namespaces, the veth links between them, and processes inside: made, watched, removed.

    weirlab-sw: sw1 sw2 sw3 ...    the switch's side of every link
                 |   |   |
    weirlab-h1: e1   |   |         one namespace per host
    weirlab-h2:     e2   |
    weirlab-h3:         e3

A tapped world has a namespace in the middle of each link, since a frame between two AF_XDP sockets
is seen by no capture: sw1 - s1 (weirlab-tap) t1 - e1, and all of it passes t1.

It wants scripts/contain around it: whatever way a program ends, the namespaces go with it, and no
other program sees them.
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NETNS = "/run/netns"
SOCKETS = "/run/weir"
PREFIX = "weirlab"
STORY = "story"


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


def names_in(folder):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def run_tag():
    """The name of this run among all runs."""
    tag = os.environ.get("WEIR_CONTAINED")
    if not tag:
        raise Failed("network namespaces are made inside scripts/contain only: "
                     f"scripts/contain {' '.join(sys.orig_argv)}")
    return tag


def switch_name():
    """A name for a switch of this run; scripts/contain removes its socket."""
    return f"{PREFIX}{run_tag()}"


class StoryName:
    """The name of a story's switch: `story`, unless another switch has that name.

    The names of further switches begin with it and a dot. The file /run/weir/story.run holds the
    tag of the run that has the name. scripts/contain removes the files of a run that was killed.
    """

    def __enter__(self):
        self.claim = os.path.join(SOCKETS, f"{STORY}.run")
        os.makedirs(SOCKETS, mode=0o755, exist_ok=True)
        try:
            with open(self.claim, "x") as f:
                f.write(run_tag())
        except FileExistsError:
            self.claim = None
        if self.claim and os.path.exists(os.path.join(SOCKETS, f"{STORY}.lock")):
            os.unlink(self.claim)
            self.claim = None
        return STORY if self.claim else switch_name()

    def __exit__(self, *exc):
        """Removes the files of switches that were killed, and the claim last."""
        if not self.claim:
            return
        for path in glob.glob(os.path.join(SOCKETS, f"{STORY}.*")):
            if os.path.isdir(path): # of weir-inof
                shutil.rmtree(path)
            elif path != self.claim:
                os.unlink(path)
        os.unlink(self.claim)


def sockets_are_private():
    """Whether a second window sees other sockets than this run."""
    return os.path.ismount(SOCKETS)


def eventually(condition, text, seconds=60):
    """For what a busy machine may do late, not for what must not happen at all."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {text}")
        time.sleep(0.02)


class Process:
    """A program in a namespace, with its output in files."""

    def __init__(self, world, where, name, *cmd):
        self.name = name
        self.out_path = os.path.join(world.logs, f"{name}.out")
        self.err_path = os.path.join(world.logs, f"{name}.err")
        with open(self.out_path, "w") as out, open(self.err_path, "w") as err:
            self.p = subprocess.Popen(world.inside(where, *cmd), stdin=subprocess.DEVNULL,
                                      stdout=out, stderr=err, start_new_session=True)

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

    def __init__(self, n_hosts, mtu=1500, ipv6=False, tapped=False, offloads=False):
        self.n_hosts, self.mtu, self.ipv6, self.tapped = n_hosts, mtu, ipv6, tapped
        self.offloads = offloads # as the kernel makes a veth
        self.id = PREFIX
        self.processes = []
        self.logs = None

    def __enter__(self):
        run_tag()
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

    def home(self, _):
        """The namespace of the switch that host i has a link to."""
        return "sw"

    def link(self, i):
        if self.tapped:
            self.veth("sw", f"sw{i}", "tap", f"s{i}")
            self.veth("tap", f"t{i}", f"h{i}", f"e{i}")
            self.join("tap", f"s{i}", f"t{i}")
            self.join("tap", f"t{i}", f"s{i}")
        else:
            self.veth(self.home(i), f"sw{i}", f"h{i}", f"e{i}")
        self.run(f"h{i}", "ip", "link", "set", f"e{i}", "address", f"02:00:00:00:00:{i:02x}")

    def veth(self, *ends):
        """Two (namespace, device) pairs and the link between them."""
        run("ip", "link", "add", ends[1], "netns", self.ns(ends[0]), "type", "veth",
            "peer", "name", ends[3], "netns", self.ns(ends[2]))
        for where, dev in (ends[:2], ends[2:]):
            # AF_XDP sees a frame as it is in memory: tags in place, not merged.
            if not self.offloads:
                self.run(where, "ethtool", "-K", dev, "tx", "off", "txvlan", "off", "rxvlan",
                         "off", "tso", "off", "gso", "off", "gro", "off", check=False)
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
                run("ip", "netns", "del", name, check=False)
        if self.logs:
            shutil.rmtree(self.logs, ignore_errors=True)


class QuickWorld(World):
    """A world whose programs go before whatever else the machine does: its stalls are no physics.

    They sleep most of the time. Where real-time scheduling is not allowed they run as others do.
    """

    FIRST = ["chrt", "--rr", "1"]

    def __init__(self, *args, **kw):
        super().__init__(*args, **kw)
        self.first = self.FIRST if run(*self.FIRST, "true", check=False).returncode == 0 else []

    def __enter__(self):
        super().__enter__()
        if "--rr" in self.first: # the one that looks at them; what it starts runs as others do
            os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        return self

    def __exit__(self, *exc):
        if "--rr" in self.first:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        super().__exit__(*exc)

    def inside(self, where, *cmd):
        programs = cmd[0].startswith("/")
        return super().inside(where, *(self.first if programs else []), *cmd)
