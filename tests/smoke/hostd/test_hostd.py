#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""weir-hostd on a host whose peer is this test: what it holds, for how long, and what it leaves.

usage: test_hostd.py BUILD_DIR [CASE...]
"""
import ctypes
import glob
import json
import os
import random
import signal
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "live"))
import live # noqa: E402
from live import eventually, want # noqa: E402

HOSTD = os.path.join(os.path.abspath(sys.argv[1]), "control/hostd/weir-hostd")
SPEED_BPS = 10_000_000
QUANTA = 65535
PAUSE_US = QUANTA * 512 * 1_000_000 // SPEED_BPS # 3.4 s: a stalled machine is no end of a pause
PAYLOAD = 1000
STILL_S = 0.3 # without a frame: at 10 Mb/s a frame leaves each millisecond
PFC_ADDRESS = "0180c2000001"
LEAST_FULL = 10 # frames that a send buffer holds; it holds some 90
CLONE_NEWNET = 0x40000000
RUN = "/run/weir"


def socket_in(world, where, *kind):
    """A socket of another network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as home, open(f"/run/netns/{world.ns(where)}") as there:
        want(libc.setns(there.fileno(), CLONE_NEWNET) == 0, f"setns: {ctypes.get_errno()}")
        try:
            return socket.socket(*kind)
        finally:
            libc.setns(home.fileno(), CLONE_NEWNET)


def mac_control(opcode, body, to=PFC_ADDRESS):
    return bytes.fromhex(f"{to}0200000000ff8808") + struct.pack(">H", opcode) + body


def pfc(to=PFC_ADDRESS, **quanta):
    """c3=100: class 3 for 100 quanta."""
    times = [quanta.get(f"c{c}", 0) for c in range(8)]
    enable = sum(1 << int(name[1]) for name in quanta)
    return mac_control(0x0101, struct.pack(">H8H", enable, *times), to).ljust(60, b"\0")


class Peer:
    """The other end of the host's cable: sends PFC, and counts the frames of each DSCP."""

    def __init__(self, world):
        self.s = socket_in(world, "sw", socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.s.bind(("sw1", 3))
        self.s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20) # SO_RCVBUFFORCE
        self.s.setblocking(False)
        self.n = [0] * 64

    def send(self, frame):
        self.s.send(frame)

    def got(self, cls):
        """Frames of a class so far."""
        while True:
            try:
                frame = self.s.recv(10000)
            except BlockingIOError:
                return sum(self.n[8 * cls:8 * cls + 8])
            kind = frame[12:14]
            if len(frame) >= PAYLOAD and kind == b"\x08\x00":
                self.n[frame[15] >> 2] += 1
            elif len(frame) >= PAYLOAD and kind == b"\x86\xdd":
                self.n[(struct.unpack(">H", frame[14:16])[0] >> 6) & 63] += 1


class Sender:
    """A UDP socket of the host in a class."""

    def __init__(self, world, cls, v6=False):
        self.s = socket_in(world, "h1", socket.AF_INET6 if v6 else socket.AF_INET,
                           socket.SOCK_DGRAM)
        tos = 8 * cls + 2 << 2
        if v6:
            self.s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
        else:
            self.s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        self.to = ("fd00::9" if v6 else "10.0.0.9", 9)
        self.sent, self.payload = 0, PAYLOAD

    def send(self, n):
        """As a program does that waits."""
        self.s.settimeout(30)
        for _ in range(n):
            self.s.sendto(bytes(self.payload), self.to)
            self.sent += 1

    def fill(self):
        """Until the kernel has taken nothing for a while. How many frames it took."""
        self.s.setblocking(False)
        before, last, end = self.sent, time.monotonic(), time.monotonic() + 20
        while time.monotonic() - last < STILL_S:
            want(time.monotonic() < end, "the sender is never made to wait")
            try:
                self.s.sendto(bytes(PAYLOAD), self.to)
                self.sent += 1
                last = time.monotonic()
            except BlockingIOError:
                time.sleep(0.001)
        return self.sent - before


class Tagged:
    """A packet socket of the host: frames of a class with a VLAN tag."""

    def __init__(self, world, cls):
        self.s = socket_in(world, "h1", socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.s.bind(("e1", 0))
        self.frame = (bytes.fromhex("020000000009" "020000000001" "8100") +
                      struct.pack(">H", cls << 13 | 5) + b"\x08\0E" +
                      bytes([8 * cls + 2 << 2]) + bytes(PAYLOAD))

    def send(self, n):
        for _ in range(n):
            self.s.send(self.frame)


class Hostd:
    def __init__(self, world, *words):
        self.p = world.spawn("h1", f"hostd{len(world.processes)}", HOSTD, "--device", "e1",
                             "--speed", "10M", "--class", "3", "--class", "5", "--json", *words)

    def ready(self):
        self.p.wait_line("ready")
        return self

    def end(self):
        """The rows of its report by class, and the report."""
        status = self.p.stop()
        want(status == 0, f"status {status}: {self.p.said()}")
        report = json.loads(self.p.out())
        return {row["class"]: row for row in report["classes"]}, report

    def refused(self, says):
        want(self.p.wait(30) == 1 and says in self.p.err(), f"no {says!r}: {self.p.said()}")


def host():
    world = World(1, ipv6=True)
    world.__enter__()
    for address, to in (("10.0.0.1/24", "10.0.0.9"), ("fd00::1/64", "fd00::9")):
        words = ["nodad"] if ":" in address else []
        world.run("h1", "ip", "addr", "add", address, "dev", "e1", *words)
        world.run("h1", "ip", "neigh", "add", to, "lladdr", "02:00:00:00:00:09", "dev", "e1")
    return world


def on_a_host(test):
    def run():
        world = host()
        try:
            test(world)
        finally:
            world.__exit__()
    run.__name__ = test.__name__
    return run


def queues(world):
    return world.run("h1", "tc", "qdisc", "show", "dev", "e1").stdout


@on_a_host
def a_paused_class_waits_in_its_sockets_and_the_others_go_on(world):
    before, hostd, peer = queues(world), Hostd(world).ready(), Peer(world)
    for v6 in (False, True):
        three, five, zero = (Sender(world, c, v6) for c in (3, 5, 0))
        base = [peer.got(c) for c in (3, 5, 0)]
        three.send(50)
        eventually(lambda: peer.got(3) - base[0] == 50, "class 3 arrives")
        peer.send(pfc(c3=QUANTA, c0=QUANTA)) # class 0 is no class of PFC here
        want(three.fill() >= LEAST_FULL, "the kernel keeps frames of class 3")
        peer.send(pfc(c3=QUANTA))
        held_at = peer.got(3)
        want(three.fill() == 0, "and takes no more of them")
        five.send(300)
        zero.send(300)
        eventually(lambda: peer.got(5) - base[1] == 300 == peer.got(0) - base[2],
                   "classes 5 and 0 go on")
        want(peer.got(3) == held_at < base[0] + three.sent, "class 3 is held")
        peer.send(pfc(c3=0))
        eventually(lambda: peer.got(3) - base[0] == three.sent, "after XON no frame is missing", 20)
    rows, report = hostd.end()
    print(f"        {report['held_by']}: {rows[3]}")
    want([rows[3][k] for k in ("rx_pause", "rx_pause_transition")] == [6, 2] and
         rows[5]["rx_pause"] == 0, rows)
    want(queues(world) == before, f"its queues are gone: {queues(world)}")


@on_a_host
def a_class_that_is_paused_again_and_again_stops_alone(world):
    """A storm: the peer repeats its PAUSE, and never lets the class go."""
    hostd, peer = Hostd(world).ready(), Peer(world)
    three, five, zero, tagged = (Sender(world, 3), Sender(world, 5), Sender(world, 0),
                                 Tagged(world, 3))
    peer.send(pfc(c3=QUANTA))
    want(three.fill() >= LEAST_FULL, "the kernel keeps frames of class 3")
    held_at = peer.got(3)
    for i in range(1, 4):
        peer.send(pfc(c3=QUANTA))
        five.send(100)
        zero.send(100)
        eventually(lambda: peer.got(5) == five.sent == peer.got(0), "the other classes go on")
        want(peer.got(3) == held_at, "class 3 is held")
    tagged.send(50)
    eventually(lambda: peer.got(3) == held_at + 50, "frames with a tag are in no class")
    rows, _ = hostd.end()
    eventually(lambda: peer.got(3) == three.sent + 50, "the end lets class 3 go", 20)
    want(rows[3]["rx_pause_transition"] == 1 and rows[5]["rx_pause"] == 0, rows)


@on_a_host
def a_pause_that_is_not_repeated_runs_out(world):
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    peer.send(pfc(c3=QUANTA))
    three.fill()
    eventually(lambda: peer.got(3) == three.sent, "the pause is over", 20)
    rows, _ = hostd.end()
    want(rows[3]["rx_pause_duration_us"] == PAUSE_US and rows[3]["rx_pause_transition"] == 1,
         f"{rows[3]}, {PAUSE_US} us")


@on_a_host
def a_released_class_sends_at_once_though_all_senders_wait(world):
    """The queue htb looks by itself a second after it found all classes held. So by itself few of
    seven releases take less than a tenth of that second."""
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    took = []
    for _ in range(7):
        peer.send(pfc(c3=QUANTA))
        three.fill()
        before, began = peer.got(3), time.monotonic()
        peer.send(pfc(c3=0))
        eventually(lambda: peer.got(3) > before, "class 3 goes on")
        took.append(time.monotonic() - began)
        eventually(lambda: peer.got(3) == three.sent, "and all of it", 20)
    want(sorted(took)[3] < 0.1, f"seconds until a frame: {took}")
    hostd.end()


@on_a_host
def frames_that_are_no_pfc_of_the_neighbour_hold_nothing(world):
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    rng = random.Random(1)
    elsewhere = [pfc("0180c2000002", c3=QUANTA), pfc("020000000001", c3=QUANTA)]
    tagged = pfc(c3=QUANTA)
    tagged = tagged[:12] + bytes.fromhex("81000007") + tagged[12:]
    frames = [tagged, mac_control(0x0001, b"\xff\xff"), # 802.3x
              mac_control(0x0101, b"\0\x08\xff"), # cut
              mac_control(0x0101, b""), *(mac_control(2 + rng.randrange(200), rng.randbytes(
                  rng.randrange(1400))) for _ in range(300))]
    for frame in [*elsewhere, *frames, pfc(c0=QUANTA, c7=QUANTA), pfc()]:
        peer.send(frame)
    three.send(200)
    eventually(lambda: peer.got(3) == three.sent, "class 3 goes on")
    rows, report = hostd.end()
    want(rows[3]["rx_pause_transition"] == 0 and report["other_frames"] == len(frames), report)


@on_a_host
def a_killed_program_leaves_a_class_held_until_the_next_one(world):
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    peer.send(pfc(c3=QUANTA))
    three.fill()
    hostd.p.kill()
    want(peer.got(3) < three.sent, "class 3 is held")
    hostd = Hostd(world).ready() # its queues are new: the held frames are lost
    before = peer.got(3)
    three.send(100)
    eventually(lambda: peer.got(3) - before == 100, "class 3 goes on")
    hostd.end()


def it_ends(world, order):
    """With an order to the program or its interface while class 3 is held: what it leaves."""
    before, hostd, peer, three = queues(world), Hostd(world).ready(), Peer(world), Sender(world, 3)
    peer.send(pfc(c3=QUANTA))
    three.fill()
    order(hostd)
    status = hostd.p.wait(20)
    eventually(lambda: peer.got(3) == three.sent, "all frames that were held arrive", 20)
    want(status == 0 and queues(world) == before, f"{status}: {queues(world)}")


@on_a_host
def frames_that_are_held_at_the_end_leave_before_the_queues(world):
    for order in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        it_ends(world, lambda hostd, order=order: hostd.p.p.send_signal(order))


@on_a_host
def a_larger_mtu_is_followed(world):
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    for where, dev in (("sw", "sw1"), ("h1", "e1")):
        world.run(where, "ip", "link", "set", dev, "mtu", "9000")
    three.payload = 4000

    def arrives():
        before = peer.got(3)
        three.send(1)
        time.sleep(0.05)
        return peer.got(3) > before

    eventually(arrives, "a frame of the new length")
    before = peer.got(3)
    three.send(20)
    eventually(lambda: peer.got(3) - before == 20, "all frames of the new length")
    hostd.end()


@on_a_host
def queues_that_somebody_removes_are_missed(world):
    hostd, peer = Hostd(world).ready(), Peer(world)
    world.run("h1", "tc", "qdisc", "del", "dev", "e1", "root")
    peer.send(pfc(c3=QUANTA))
    hostd.refused("somebody removed its queues; start weir-hostd again")


@on_a_host
def one_program_at_an_interface_and_no_queues_of_others(world):
    hostd = Hostd(world).ready()
    Hostd(world).refused("another weir-hostd runs here")
    hostd.end()
    for handle in ("9:", "fc:"): # the second one is the handle of weir-hostd, too
        world.run("h1", "tc", "qdisc", "replace", "dev", "e1", "root", "handle", handle, "pfifo")
        before = queues(world)
        Hostd(world).refused("`tc qdisc del dev e1 root` removes them")
        want(queues(world) == before, f"{before} is {queues(world)}")
    Hostd(world, "--device", "e2").refused("e2: there is no such interface")


@on_a_host
def the_lock_is_a_file_that_only_root_may_hold(world):
    index = json.loads(world.run("h1", "ip", "-j", "link", "show", "e1").stdout)[0]["ifindex"]
    # Every user may take the name of an abstract socket.
    name = socket_in(world, "h1", socket.AF_UNIX, socket.SOCK_DGRAM)
    name.bind(f"\0weir-hostd.{index}".ljust(108, "\0"))
    before = glob.glob(f"{RUN}/*")
    hostd = Hostd(world).ready()
    made = [f for f in glob.glob(f"{RUN}/*") if f not in before]
    want(len(made) == 1 and os.stat(made[0]).st_mode & 0o777 == 0o600, f"{made}")
    hostd.end()
    want(glob.glob(f"{RUN}/*") == before, "the file is removed at the end")
    hostd = Hostd(world).ready()
    hostd.p.kill()
    Hostd(world).ready().end() # the file of a killed program is no lock


@on_a_host
def a_bridge_and_its_ports_are_refused(world):
    world.run("h1", "ip", "link", "add", "br0", "type", "bridge")
    world.run("h1", "ip", "link", "set", "br0", "up")
    before = queues(world)
    Hostd(world, "--device", "br0").refused("br0 is a bridge, and gets no PFC frames")
    world.run("h1", "ip", "link", "set", "e1", "master", "br0")
    Hostd(world).refused("e1 is a port of a bridge, which takes its PFC frames; "
                         "`ip link set e1 nomaster` takes it out")
    want(queues(world) == before, f"it changes nothing: {queues(world)}")
    world.run("h1", "ip", "link", "set", "e1", "nomaster")
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    peer.send(pfc(c3=QUANTA))
    three.fill()
    world.run("h1", "ip", "link", "set", "e1", "master", "br0")
    hostd.refused("e1 is a port of a bridge")
    eventually(lambda: peer.got(3) == three.sent, "all frames that were held arrive", 20)
    want(queues(world) == before, f"its queues are gone: {queues(world)}")


@on_a_host
def an_interface_may_go_down_and_its_end_is_reported(world):
    hostd, peer, three = Hostd(world).ready(), Peer(world), Sender(world, 3)
    for state in ("down", "up"):
        world.run("h1", "ip", "link", "set", "e1", state)
    world.run("h1", "ip", "neigh", "replace", "10.0.0.9", "lladdr", "02:00:00:00:00:09", "dev",
              "e1")
    peer.send(pfc(c3=QUANTA))
    want(three.fill() >= LEAST_FULL, "it obeys afterwards")
    peer.send(pfc(c3=0))
    eventually(lambda: peer.got(3) == three.sent, "and goes on")
    hostd.p.p.send_signal(signal.SIGSTOP) # it may be anywhere in its loop
    world.run("h1", "ip", "link", "del", "e1")
    hostd.p.p.send_signal(signal.SIGCONT)
    hostd.refused("the interface is gone")


live.need_root("tc")
from world import World # noqa: E402: the path is set by live

sys.exit(live.run_tests([
    a_paused_class_waits_in_its_sockets_and_the_others_go_on,
    a_class_that_is_paused_again_and_again_stops_alone,
    a_pause_that_is_not_repeated_runs_out,
    a_released_class_sends_at_once_though_all_senders_wait,
    frames_that_are_no_pfc_of_the_neighbour_hold_nothing,
    a_killed_program_leaves_a_class_held_until_the_next_one,
    frames_that_are_held_at_the_end_leave_before_the_queues,
    a_larger_mtu_is_followed,
    queues_that_somebody_removes_are_missed,
    one_program_at_an_interface_and_no_queues_of_others,
    the_lock_is_a_file_that_only_root_may_hold,
    a_bridge_and_its_ports_are_refused,
    an_interface_may_go_down_and_its_end_is_reported,
]))
