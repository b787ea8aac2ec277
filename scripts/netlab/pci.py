# SPDX-License-Identifier: Apache-2.0
"""The live switch on the network cards that QEMU emulates. See `scripts/pci --help`.

           guest:  p1 [ weir ] p2     two cards of one model, with DPDK's drivers
                    |           |
   this program:  wire1       wire2

A guest has two cards of each model. weir runs in the guest on one pair after the other. The frames
of both wires are made and compared here.
"""
import argparse
import collections
import functools
import json
import os
import random
import struct
import sys
import threading

import guest
import judged
import pci_guest
from switch import Programs, pick, quiet
from world import Failed, eventually

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGES = os.path.join(ROOT, "build", "pci")
MODELS = ("virtio-net-pci", "e1000e", "vmxnet3")
MODULES = ("vfio-pci", "uio_pci_generic")
# What a driver cannot do: the selftest says so.
KNOWN = {"virtio-net-pci": {"rx_depth"}}
# No PAUSE outlasts a transmit ring of 512 longer frames, which this driver cannot report.
LONGEST_MTU = {"vmxnet3": 5800}
LATE_S = 120 # without KVM a guest is slow
LENGTHS = (60, 61, 63, 64, 65, 127, 128, 129, 255, 256, 511, 512, 513, 1023, 1024, 1025)
ETHER, TAG = 14, 4
PAUSED, FREE = 3, 0 # class 3 is lossless
MANY = 60 # frames of 1514 bytes: more than the 20 KB of class 3, less than the buffer
REFRESH_S = 0.5

# At 10 Mb/s the longest PAUSE lasts 3.4 s, so that a slow guest sees it.
POLICY = """\
switch: {name: guest, buffer: {size: 2MB}}
ports:
  - {name: p1, device: "pci:%(p1)s", speed: %(speed)s, mtu: %(mtu)d, profile: lossless}
  - {name: p2, device: "pci:%(p2)s", speed: %(speed)s, mtu: %(mtu)d, profile: lossless}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
profiles:
  lossless:
    trust: dscp
    dscp_to_class: {default: 0, 24-31: 3}
    classes: {3: {lossless: true, ingress: {static: 20KB}}}
"""


# ---- frames

def station(i):
    return bytes([2, 0, 0, 0, 0, i])


def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def ip_frame(to, length, cls, tag=b""):
    """A frame of UDP from the station at the other wire; its payload differs in each."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, cls << 5, length - ETHER - len(tag),
                       random.getrandbits(16), 0, 64, 17, 0, bytes([10, 0, 0, 3 - to]),
                       bytes([10, 0, 0, to]))
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    rest = length - ETHER - len(tag) - len(head) - 8
    udp = struct.pack("!HHHH", 5000, 5001, rest + 8, 0)
    return (station(to) + station(3 - to) + tag + b"\x08\x00" + head + udp
            + random.randbytes(rest))


def frames_to(to, mtu):
    """Of many lengths, IP and not, with and without a tag."""
    lengths = [n for n in (*LENGTHS, *range(1500, mtu, 500), mtu + ETHER - 1, mtu + ETHER)
               if n <= mtu + ETHER]
    out = [ip_frame(to, n, FREE) for n in lengths]
    tag = b"\x81\x00" + (FREE << 13 | 5).to_bytes(2, "big")
    out += [ip_frame(to, n + TAG, FREE, tag) for n in (60, 64, mtu + ETHER)]
    out += [station(to) + station(3 - to) + b"\x88\xb5" + random.randbytes(n - ETHER)
            for n in (60, 64, mtu + ETHER)]
    return out


def pfc_frame(cls, quanta):
    times = [quanta if c == cls else 0 for c in range(8)]
    return bytes.fromhex("0180c2000001") + station(9) + struct.pack(
        "!HHH8H", 0x8808, 0x0101, 1 << cls, *times) + bytes(26)


def pfc_times(frame):
    """{class: quanta} of a PFC frame; None where it is none."""
    if frame[12:16] != b"\x88\x08\x01\x01":
        return None
    enabled, *times = struct.unpack("!H8H", frame[16:34])
    return {c: times[c] for c in range(8) if enabled >> c & 1}


class Pauser:
    """The neighbour at a wire that keeps a class paused."""

    def __init__(self, wire, cls):
        self.wire, self.cls = wire, cls
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.go_on, daemon=True)
        self.thread.start()

    def go_on(self):
        while True:
            self.wire.send(pfc_frame(self.cls, 0xffff))
            if self.over.wait(REFRESH_S):
                return

    def end(self):
        self.over.set()
        self.thread.join()
        self.wire.send(pfc_frame(self.cls, 0))


# ---- one model

class Pair:
    """Two cards of one model, and the switch on them."""

    def __init__(self, guest_, checks, cards, keep):
        self.guest, self.checks, self.cards, self.keep = guest_, checks, cards, keep
        self.wires = {1: cards[0].wire, 2: cards[1].wire}
        self.frames = {1: [], 2: []} # got at a wire, PFC not
        self.pfc = {1: [], 2: []}

    def check(self, text, judge):
        try:
            holds, figures = judge()
        except Failed as e:
            holds, figures = False, str(e)
        self.checks.check(holds, f"{self.cards[0].model}, {self.guest.module}: {text}", figures)

    def policy(self, mtu):
        short = self.cards[0].address.removeprefix("0000:") # as policies may have it
        return quiet(POLICY % {"p1": short, "p2": self.cards[1].address,
                               "mtu": mtu, "speed": "10M" if mtu == 1500 else "100M"})

    def run(self):
        self.check("the selftest finds only what is known", self.selftest)
        mtu = LONGEST_MTU.get(self.cards[0].model, 9000)
        self.check(f"frames of 60 to {mtu + ETHER + TAG} bytes cross unchanged",
                   functools.partial(self.session, mtu, self.forwarding))
        self.start(1500)
        self.check("frames of 60 to 1518 bytes cross unchanged", self.forwarding)
        self.check("a PAUSE is received and obeyed", self.pause_obeyed)
        self.check("a PAUSE is sent, and no lossless frame is lost", self.pause_sent)
        self.check("the link goes down and up", self.link)
        self.check("a card is taken away and put back", self.unplug)
        self.check("the balance of frames is exact at the end", self.end)
        self.start(1500)
        self.check("the switch stops while a card is taken away", self.stop_without_card)
        self.put_back()
        self.start(1500)
        self.check("the switch stops right after a card is taken away", self.stop_at_once)

    def start(self, mtu):
        self.guest.start(self.policy(mtu))
        eventually(lambda: all(p["up"] for p in self.guest.show("ports")["ports"]),
                   "both ports are up", LATE_S)

    def session(self, mtu, judge):
        self.start(mtu)
        holds, figures = judge(mtu)
        ended, how = self.end()
        return holds and ended, f"{figures}; {how}"

    def collect(self):
        for i, wire in self.wires.items():
            for f in wire.take():
                times = pfc_times(f)
                if times is None:
                    self.frames[i].append(f)
                else:
                    self.pfc[i].append(times)

    def until(self, condition, text):
        def holds():
            self.collect()
            return condition()
        eventually(holds, text, LATE_S)

    def clear(self):
        self.collect()
        for i in self.wires:
            self.frames[i].clear()
            self.pfc[i].clear()

    def port(self, name):
        return pick(self.guest.show("ports")["ports"], name=name)

    # ---- the checks

    def selftest(self):
        self.wires[1].cable, self.wires[2].cable = self.wires[2], self.wires[1]
        devices = " ".join(f"pci:{c.address}" for c in self.cards)
        self.guest.run(f"{self.guest.programs.weir} --selftest {devices} --json >/tmp/selftest "
                       "2>/tmp/selftest.err", seconds=LATE_S, check=False)
        said = self.guest.run("cat /tmp/selftest")
        self.wires[1].cable = self.wires[2].cable = None
        try:
            rows = json.loads(said)["checks"]
        except ValueError:
            return False, said + self.guest.run("cat /tmp/selftest.err")
        known = KNOWN.get(self.cards[0].model, set())
        bad = sorted({f"{r['check']}: {r['text']}" for r in rows if r["verdict"] != "ok"})
        return ({r["check"] for r in rows if r["verdict"] != "ok"} == known,
                "; ".join([f"{sum(r['verdict'] == 'ok' for r in rows)} ok", *bad]))

    def forwarding(self, mtu=1500):
        self.clear()
        wanted = {to: frames_to(to, mtu) for to in self.wires}
        for a, b in zip(wanted[1], wanted[2]):
            self.wires[2].send(a)
            self.wires[1].send(b)
        n = sum(map(len, wanted.values()))
        try:
            self.until(lambda: sum(map(len, self.frames.values())) >= n, "all frames arrive")
        except Failed:
            pass
        lost = [f"{len(f)} bytes to {to}" for to in wanted for f in wanted[to]
                if f not in self.frames[to]]
        return (wanted == self.frames,
                f"{n} frames, {len(lost)} missing {', '.join(lost[:5])}")

    def send_until_paused(self):
        """Frames of class 3 to wire 2, until the switch pauses wire 1."""
        sent = []
        while len(sent) < MANY and not any(t.get(PAUSED) for t in self.pfc[1]):
            sent.append(ip_frame(2, 1514, PAUSED))
            self.wires[1].send(sent[-1])
            self.guest.show("pfc") # the guest has time to answer
            self.collect()
        return sent

    def pause_obeyed(self):
        self.clear()
        pauser = Pauser(self.wires[2], PAUSED)
        try:
            self.until(lambda: self.pfc_of("p2")["rx_pause"], "the switch counts a PAUSE")
            held = [ip_frame(2, 200, PAUSED) for _ in range(10)]
            free = [ip_frame(2, 200, FREE) for _ in range(10)]
            for f in held + free:
                self.wires[1].send(f)
            self.until(lambda: len(self.frames[2]) >= len(free), "the other class goes on")
            early = [f for f in self.frames[2] if f in held]
        finally:
            pauser.end()
        self.until(lambda: len(self.frames[2]) >= len(held + free), "the class goes on")
        return (not early and self.frames[2] == free + held,
                f"{len(free)} frames of class {FREE} passed, and {len(held)} of class {PAUSED} "
                f"after the pause ({len(early)} before)")

    def pfc_of(self, port):
        return pick(self.guest.show("pfc")["pfc"], port=port, **{"class": PAUSED})

    def pause_sent(self):
        self.clear()
        pauser = Pauser(self.wires[2], PAUSED)
        try:
            self.until(lambda: self.pfc_of("p2")["rx_pause"], "the switch counts a PAUSE")
            sent = self.send_until_paused()
            paused = any(t.get(PAUSED) for t in self.pfc[1])
        finally:
            pauser.end()
        self.until(lambda: len(self.frames[2]) >= len(sent), "the class goes on")
        self.until(lambda: any(t.get(PAUSED) == 0 for t in self.pfc[1]), "the switch says XON")
        return (paused and self.frames[2] == sent,
                f"PAUSE after {len(sent)} frames; {len(self.pfc[1])} PFC frames sent")

    def link(self):
        card = self.cards[1]
        self.guest.monitor.ask("set_link", name=card.id, up=False)
        eventually(lambda: not self.port("p2")["up"], "the port is down", LATE_S)
        self.wires[1].send(ip_frame(2, 100, FREE)) # dropped
        self.guest.monitor.ask("set_link", name=card.id, up=True)
        eventually(lambda: self.port("p2")["up"], "the port is up", LATE_S)
        events = collections.Counter(e["event"] for e in self.guest.show("events")["events"])
        crossed, figures = self.forwarding()
        return (crossed and events["link-down"],
                f"{events['link-down']} link-down, {events['link-up']} link-up; {figures}")

    def unplug(self):
        """The driver of e1000e waits a minute for registers that are not there any more, if
        uio_pci_generic has let them go. Meanwhile control answers each question."""
        self.guest.monitor.ask("device_del", id=self.cards[1].id)
        eventually(lambda: self.port("p2")["no_device"], "the device is gone", LATE_S)
        self.put_back()
        eventually(lambda: self.port("p2")["up"], "the port is back", LATE_S)
        events = [e["event"] for e in self.guest.show("events")["events"]
                  if e["event"].startswith("interface-")]
        crossed, figures = self.forwarding()
        return (crossed and events == ["interface-gone", "interface-back"],
                f"{', '.join(events)}; {figures}")

    def put_back(self):
        card, monitor = self.cards[1], self.guest.monitor
        eventually(lambda: monitor.gone(card.id), "the guest lets the card go", LATE_S)
        monitor.events.clear()
        monitor.ask("device_add", **card.arguments(self.guest.iommu))
        self.guest.bind(card)

    def stop_without_card(self):
        self.guest.monitor.ask("device_del", id=self.cards[1].id)
        eventually(lambda: self.port("p2")["no_device"], "the device is gone", LATE_S)
        return self.end()

    def stop_at_once(self):
        """The switch may not know yet that the card is gone."""
        self.guest.monitor.ask("device_del", id=self.cards[1].id)
        return self.end()

    def end(self):
        status, said = self.guest.stop()
        if self.keep:
            with open(os.path.join(self.keep, f"{self.cards[0].model}.log"), "a") as f:
                f.write(said)
        return status == 0, said.strip().splitlines()[-1]


def options():
    p = argparse.ArgumentParser(
        prog="scripts/pci",
        description="Runs the live switch on the network cards that QEMU emulates, in a guest, "
        "with each of the kernel's modules that give a card to DPDK. As root; takes about "
        "6 minutes once the machine is set up.")
    p.add_argument("--card", choices=MODELS, action="append", help="this card only")
    p.add_argument("--module", choices=MODULES, action="append", help="this module only")
    p.add_argument("--keep", metavar="DIR", help="keep the logs in DIR")
    p.add_argument("--json", metavar="FILE", help="also write the checks to FILE")
    p.add_argument("--no-setup", action="store_true", help="the machine and build/ are ready")
    p.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"),
                   help="where the programs are built (default build/)")
    return p.parse_args()


def play(args, screen, world, _):
    programs = Programs(args.build)
    checks = judged.Checks(screen)
    images = guest.prepare(IMAGES, pci_guest.contents(programs))
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
    for module in args.module or MODULES:
        screen.say(f"Starting a guest whose cards are bound to {module}.")
        folder = os.path.join(world.logs, module)
        os.mkdir(folder)
        models = args.card or MODELS
        cards = [pci_guest.Card(n, model, pci_guest.Wire(folder, f"wire{n}"))
                 for n, model in enumerate(m for m in models for _ in (1, 2))]
        g = pci_guest.PciGuest(world, folder, images, programs, cards, module)
        g.ready()
        for i in range(0, len(cards), 2):
            Pair(g, checks, cards[i:i + 2], args.keep).run()
        g.end()
    return checks.verdict(args.json)


if __name__ == "__main__":
    sys.exit(judged.run("pci", functools.partial(play, options())))
