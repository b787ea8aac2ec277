# SPDX-License-Identifier: Apache-2.0
"""Peers of the switch that do as the test says, frame by frame: each is a packet socket at a host's
end of a link. They send UDP frames of a class at a pace, pause their port of the switch for as long
as is wanted, and count what the switch sends them. One thread sends, one receives. Both go before
whatever else the machine does, and so does the thread that made them, since Python runs one of the
three at a time.

Host i has the address 02:00:00:00:00:0i; class 3 is DSCP 26, class 0 DSCP 0.
"""
import collections
import ctypes
import errno
import os
import selectors
import socket
import struct
import threading
import time

from live import go_first

NETNS = "/run/netns"
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 23, 33
RECEIVE_BUFFER = 64 << 20
DSCP = {3: 26, 0: 0}
CLASS_OF_TOS = {dscp << 2: cls for cls, dscp in DSCP.items()}
TICK_S = 0.004
PAUSE_EVERY_S = 0.04
PFC_QUANTA = 65535
PFC_HEAD = bytes.fromhex("0180c2000001")
FRAME_BYTES = 1000
LIBC = ctypes.CDLL(None, use_errno=True)


def mac(i):
    return bytes((2, 0, 0, 0, 0, i))


def socket_in(namespace, device):
    """A packet socket of another namespace; this thread is back in its own afterwards."""
    with open("/proc/thread-self/ns/net") as own, open(os.path.join(NETNS, namespace)) as there:
        if LIBC.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        try:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
            s.bind((device, ETH_P_ALL))
        finally:
            LIBC.setns(own.fileno(), CLONE_NEWNET)
    s.setblocking(False)
    return s


def ip_sum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def data_frame(src, dst, cls):
    payload = FRAME_BYTES - 14 - 20 - 8
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, DSCP[cls] << 2, 28 + payload, 0, 0x4000, 64, 17, 0,
                     bytes((10, 0, 0, src)), bytes((10, 0, 0, dst)))
    ip = ip[:10] + struct.pack("!H", ip_sum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", 9, 9, 8 + payload, 0)
    return mac(dst) + mac(src) + b"\x08\x00" + ip + udp + bytes(payload)


def pfc_frame(src, classes, quanta):
    times = struct.pack("!8H", *(quanta if classes >> c & 1 else 0 for c in range(8)))
    return PFC_HEAD + mac(src) + struct.pack("!HHH", 0x8808, 0x0101, classes) + times + bytes(26)


class Flow:
    """Frames from one host to another, until n are sent or the flow is stopped. The sender makes no
    burst when it is late, because a burst overruns the receive ring of the switch."""

    def __init__(self, src, dst, cls, per_s, n):
        self.src, self.dst, self.cls, self.per_s, self.n = src, dst, cls, per_s, n
        self.frame = data_frame(src, dst, cls)
        self.began = time.monotonic()
        self.sent = 0
        self.stopped = False

    def due(self, now):
        n = min(int((now - self.began) * self.per_s) + 1, self.n) - self.sent
        most = int(2 * TICK_S * self.per_s) + 1
        if n > most:
            self.began += (n - most) / self.per_s
        return min(n, most)

    def done(self):
        return self.stopped or self.sent >= self.n


class Peers:
    """Use it in a `with` block inside that of the world. hosts: all of them, unless given."""

    def __init__(self, world, hosts=None):
        self.sockets = {i: socket_in(world.ns(f"h{i}"), f"e{i}")
                        for i in hosts or range(1, world.n_hosts + 1)}
        self.lock = threading.Lock()
        self.flows, self.storms = [], {} # {host: when it pauses next}
        self.paused_at = {} # {host: when it paused last}
        self.got = collections.Counter() # {(host, source, class): data frames}
        self.pfc = collections.defaultdict(list) # {host: [(classes, times)]}
        self.running = True
        self.threads = [threading.Thread(target=f) for f in (self.send_loop, self.receive_loop)]

    def __enter__(self):
        go_first()
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *exc):
        self.running = False
        for t in self.threads:
            t.join()
        for s in self.sockets.values():
            s.close()

    # ---- what the test says

    def flow(self, src, dst, cls=3, per_s=1000, n=1 << 40):
        f = Flow(src, dst, cls, per_s, n)
        with self.lock:
            self.flows.append(f)
        return f

    def stop(self, *flows):
        """No frame of them is sent any more once this has returned."""
        with self.lock:
            for f in flows:
                f.stopped = True
                if f in self.flows:
                    self.flows.remove(f)

    def send_now(self, src, dst, n, cls=3):
        """As fast as it goes."""
        frame = data_frame(src, dst, cls)
        for _ in range(n):
            self.put(src, frame)

    def storm(self, *hosts):
        with self.lock:
            for i in hosts:
                self.storms[i] = 0

    def calm(self, *hosts, xon=True):
        with self.lock:
            for i in hosts:
                self.storms.pop(i, None)
                if xon:
                    self.put(i, pfc_frame(i, 1 << 3, 0))

    def pause_once(self, host, quanta):
        self.put(host, pfc_frame(host, 1 << 3, quanta))

    def received(self, host, src=None, cls=3):
        return sum(n for (h, s, c), n in list(self.got.items())
                   if h == host and c == cls and src in (None, s))

    def pfc_of(self, host, cls):
        """Times (quanta, 0 is XON) of the class in PFC frames of the switch."""
        return [times[cls] for classes, times in list(self.pfc[host]) if classes >> cls & 1]

    # ---- the threads

    def put(self, host, frame):
        while self.running:
            try:
                self.sockets[host].send(frame)
                return
            except OSError as e:
                if e.errno in (errno.ENETDOWN, errno.ENXIO):
                    return # it is lost, as on a link without a light
                time.sleep(0.001) # its queue is full

    def send_loop(self):
        go_first()
        while self.running:
            with self.lock:
                self.send_due(time.monotonic())
            time.sleep(TICK_S)

    def send_due(self, now):
        for i, at in self.storms.items():
            if now >= at:
                self.paused_at[i] = time.monotonic()
                self.put(i, pfc_frame(i, 1 << 3, PFC_QUANTA))
                self.storms[i] = now + PAUSE_EVERY_S
        for f in self.flows:
            for _ in range(max(f.due(now), 0)):
                self.put(f.src, f.frame)
                f.sent += 1
        self.flows = [f for f in self.flows if not f.done()]

    def receive_loop(self):
        go_first()
        with selectors.DefaultSelector() as sel:
            for i, s in self.sockets.items():
                sel.register(s, selectors.EVENT_READ, i)
            while self.running:
                for key, _ in sel.select(0.05):
                    self.drain(key.data, key.fileobj)

    def drain(self, host, s):
        try:
            while True:
                frame = s.recv(2048)
                if frame[12:14] == b"\x08\x00":
                    self.got[host, frame[11], CLASS_OF_TOS.get(frame[15] & 0xFC)] += 1
                elif frame[12:16] == b"\x88\x08\x01\x01":
                    self.pfc[host].append((struct.unpack_from("!H", frame, 16)[0],
                                           struct.unpack_from("!8H", frame, 18)))
        except (BlockingIOError, OSError): # empty, or its device is down for a moment
            pass
