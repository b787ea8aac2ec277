# SPDX-License-Identifier: Apache-2.0
"""Namespaces, veth pairs and raw sockets for the driver tests.

    ns sw:  swa          swb        the side under test
             |            |
    ns a:   ea   ns b:   eb         the side that sends and looks
"""
import ctypes
import os
import select
import socket
import struct
import subprocess
import time

TAG = "wd"
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SOL_PACKET, PACKET_AUXDATA = 263, 8
PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 1, 1
VLAN_VALID = 1 << 4
ETH_P_ALL = 0x0003
LATE_S = 30  # what must happen may be this late on a busy machine


def sh(*cmd, check=True):
    done = subprocess.run(cmd, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(cmd)}: {done.stderr.strip()}")
    return done.stdout


def ns(name):
    return f"{TAG}-{name}"


def ip(name, *args, **kw):
    return sh("ip", "-n", ns(name), *args, **kw)


def inside(name, *cmd, **kw):
    return sh("ip", "netns", "exec", ns(name), *cmd, **kw)


def make_topology():
    for name in ("sw", "a", "b"):
        sh("ip", "netns", "add", ns(name))
        inside(name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1",
               "net.ipv6.conf.all.disable_ipv6=1")
    for name in ("a", "b"):
        make_pair(name)


def make_pair(name, queues=1, mtu=1500, peer_queues=1):
    ip("sw", "link", "add", f"sw{name}", "numrxqueues", str(queues), "numtxqueues", str(queues),
       "type", "veth", "peer", "name", f"e{name}", "numrxqueues", "1",
       "numtxqueues", str(peer_queues), "netns", ns(name))
    inside(name, "ethtool", "-K", f"e{name}", "tx", "off", "txvlan", "off")
    ip("sw", "link", "set", f"sw{name}", "mtu", str(mtu))
    ip(name, "link", "set", f"e{name}", "mtu", str(mtu), "up")


def remake(mtu=1500, queues=1, peer_queues=1):
    """Fresh pairs. A veth whose peer has two transmit queues refuses native XDP."""
    for name in ("a", "b"):
        ip("sw", "link", "del", f"sw{name}")
        make_pair(name, queues if name == "a" else 1, mtu, peer_queues)


def remove_topology():
    for name in ("sw", "a", "b"):
        sh("ip", "netns", "del", ns(name), check=False)


def in_ns(name, fn):
    """Runs fn with this thread in the namespace: a socket keeps the one it was made in."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/var/run/netns/{ns(name)}", os.O_RDONLY)
    try:
        if LIBC.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        return fn()
    finally:
        LIBC.setns(home, CLONE_NEWNET)
        os.close(home)
        os.close(there)


class Wire:
    """A raw socket on one interface that shows frames as they were, VLAN tag included."""

    def __init__(self, name, ifname, proto=ETH_P_ALL):
        def make():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(proto))
            s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            s.bind((ifname, proto))
            index = socket.if_nametoindex(ifname)
            s.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                         struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b""))
            s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            return s

        self.sock = in_ns(name, make)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()

    def send(self, frame):
        self.sock.send(frame)

    def recv(self, wait=LATE_S):
        """The next frame that the interface received, None when nothing came."""
        end = time.monotonic() + wait
        while select.select([self.sock], [], [], max(0, end - time.monotonic()))[0]:
            data, anc, _, addr = self.sock.recvmsg(65536, 256)
            if addr[2] == socket.PACKET_OUTGOING:
                continue
            for level, kind, aux in anc:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, tci, tpid = struct.unpack("I12xHH", aux[:20])
                    if status & VLAN_VALID:
                        data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
            return data
        return None

    def recv_n(self, n, wait=LATE_S):
        got = []
        while len(got) < n and (frame := self.recv(wait)) is not None:
            got.append(frame)
        return got


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def until(fn, what, wait=LATE_S):
    end = time.monotonic() + wait
    while not fn():
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.01)
