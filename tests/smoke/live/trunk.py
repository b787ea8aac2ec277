#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""VLAN subinterfaces of an interface, for kernels without 8021q: a tap device per VLAN, whose
frames go out tagged, and which gets what comes in with its tag.

usage: trunk.py IFACE VID [VID ...]     makes IFACE.VID for each, prints `ready`, runs until killed
"""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

ETH_P_ALL, ETH_P_8021Q = 0x0003, 0x8100
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
SOL_PACKET, PACKET_AUXDATA, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 8, 1, 1
PACKET_IGNORE_OUTGOING = 23
SO_RCVBUFFORCE, BUFFER = 33, 16 << 20
VLAN_VALID = 1 << 4


def open_tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def open_wire(ifname):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.bind((ifname, ETH_P_ALL))
    s.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP,
                 struct.pack("iHH8s", socket.if_nametoindex(ifname), PACKET_MR_PROMISC, 0, b""))
    s.setblocking(False)
    return s


def vid_of(ancillary):
    """The VLAN of a received frame, whose tag the kernel has put aside; None: untagged."""
    for level, kind, aux in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, tci = struct.unpack("I12xH", aux[:18])
            return tci & 0xFFF if status & VLAN_VALID else None
    return None


def from_wire(wire, taps):
    try:
        data, ancillary, _, _ = wire.recvmsg(65536, 256)
        tap = taps.get(vid_of(ancillary))
        if tap is not None:
            os.write(tap, data)
    except OSError: # nothing there, or the tap is not up yet: a lost frame, as on any link
        pass


def from_tap(wire, tap, vid):
    try:
        data = os.read(tap, 65536)
        wire.send(data[:12] + struct.pack("!HH", ETH_P_8021Q, vid) + data[12:])
    except OSError:
        pass


def main():
    ifname, vids = sys.argv[1], [int(v) for v in sys.argv[2:]]
    wire = open_wire(ifname)
    taps = {vid: open_tap(f"{ifname}.{vid}") for vid in vids}
    by_fd = {fd: vid for vid, fd in taps.items()}
    poll = select.epoll()
    for fd in [wire.fileno(), *by_fd]:
        poll.register(fd, select.EPOLLIN)
    print("ready", flush=True)
    while True:
        for fd, _ in poll.poll():
            if fd == wire.fileno():
                from_wire(wire, taps)
            else:
                from_tap(wire, fd, by_fd[fd])


main()
