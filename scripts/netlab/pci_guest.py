# SPDX-License-Identifier: Apache-2.0
"""A guest of QEMU with network cards for DPDK, and the wires that its cards are on.

  guest: weir, pci:0000:01:00.0 -- card -- QEMU -- socket -- Wire

Each card has two datagram sockets, so every frame arrives as it was sent: no kernel reads it. The
guest's kernel gives the cards to vfio-pci, behind QEMU's own IOMMU, or to uio_pci_generic.
"""
import glob
import json
import os
import queue
import shlex
import socket
import threading

import guest
from world import Failed, eventually

PLUGINS = "/usr/lib/x86_64-linux-gnu/dpdk/pmds-*/librte_%s.so"
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_vmxnet3")
MODULES = ("vfio_iommu_type1", "vfio_pci", "uio_pci_generic")
HUGEPAGES = 224
MEMORY_MB = 1024
FIRST_SLOT = 4 # of the root ports
LONGEST = 65536


def contents(programs):
    plugins = [path for d in DRIVERS for path in glob.glob(PLUGINS % d)]
    return guest.Contents(MODULES, (programs.weir, programs.weirctl, *plugins))


class Wire:
    """The far end of a card. Frames that the card sends wait in `got`, or go on into another
    wire's card."""

    def __init__(self, folder, name):
        self.name = name
        self.card, self.far = (os.path.join(folder, f"{name}.{end}") for end in ("card", "far"))
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.far)
        self.got = queue.Queue()
        self.cable = None
        self.thread = threading.Thread(target=self.receive, daemon=True)
        self.thread.start()

    def receive(self):
        while data := self.socket.recv(LONGEST):
            cable = self.cable
            if cable is None:
                self.got.put(data)
            else:
                cable.send(data)

    def send(self, frame):
        self.socket.sendto(frame, self.card)

    def take(self):
        """All frames that arrived until now."""
        out = []
        while not self.got.empty():
            out.append(self.got.get())
        return out

    def options(self):
        return ["-netdev", f"dgram,id={self.name},local.type=unix,local.path={self.card},"
                f"remote.type=unix,remote.path={self.far}"]


class Monitor:
    """QEMU's monitor."""

    def __init__(self, path):
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(path)
        self.lines = self.line.makefile("r")
        self.events = []
        self.lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.line.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while "return" not in (said := json.loads(self.lines.readline())):
            if "error" in said:
                raise Failed(f"QEMU refuses {command}: {said['error']['desc']}")
            self.events.append(said)
        return said["return"]

    def gone(self, device):
        """Whether the guest has let the device go."""
        self.ask("query-status")
        return any(e["event"] == "DEVICE_DELETED" and e["data"].get("device") == device
                   for e in self.events)


class Card:
    """A card of the guest: `model` as QEMU names it."""

    def __init__(self, number, model, wire):
        self.id, self.model, self.wire = f"card{number}", model, wire
        self.root = f"root{number}"
        self.slot = FIRST_SLOT + number
        self.mac = bytes([2, 0, 0, 0, 1, number])
        self.address = None

    def arguments(self, iommu):
        more = {"iommu_platform": "on", "disable-legacy": "on"} if iommu else {}
        return {"driver": self.model, "id": self.id, "bus": self.root, "netdev": self.wire.name,
                "mac": self.mac.hex(":"), **(more if self.model.startswith("virtio") else {})}

    def options(self, iommu):
        words = self.arguments(iommu)
        return ["-device", f"pcie-root-port,id={self.root},chassis={self.slot},slot={self.slot},"
                f"addr={self.slot:#x}", *self.wire.options(),
                "-device", ",".join([words.pop("driver"), *(f"{k}={v}" for k, v in words.items())])]


class PciGuest:
    """folder: for the sockets of the guest and its wires."""

    def __init__(self, world, folder, images, programs, cards, module):
        self.programs, self.cards, self.module = programs, cards, module
        self.iommu = module == "vfio-pci"
        qmp = os.path.join(folder, "monitor")
        self.guest = guest.Guest(world, f"guest.{module}", images, [
            "-M", "q35", "-smp", "2", "-m", str(MEMORY_MB),
            *(["-device", "intel-iommu,aw-bits=48"] if self.iommu else []),
            *(word for c in cards for word in c.options(self.iommu)),
            "-qmp", f"unix:{qmp},server=on,wait=off"],
            append=f"{guest.APPEND} hugepages={HUGEPAGES}" + " intel_iommu=on" * self.iommu)
        self.guest.start()
        self.monitor = Monitor(qmp)

    def run(self, command, **kw):
        return self.guest.run(command, **kw)

    def ready(self):
        self.guest.ready()
        self.run("dmesg -n 1") # the kernel's lines would mix with answers
        self.run("chmod 755 / && mkdir -p /run/weir /var/run") # EAL refuses plugins below others
        for c in self.cards:
            self.bind(c)

    def bind(self, card):
        """Finds the card behind its root port and gives it to the module."""
        behind = f"/sys/bus/pci/devices/0000:00:{card.slot:02x}.0/0000:*"
        eventually(lambda: self.run(f"ls -d {behind}/vendor", check=False).strip(),
                   f"{card.id} is in the guest", seconds=120)
        card.address = os.path.basename(self.run(f"ls -d {behind}").strip())
        at = f"/sys/bus/pci/devices/{card.address}"
        self.run(f"echo {self.module} >{at}/driver_override && "
                 f"echo {card.address} >/sys/bus/pci/drivers_probe")
        bound = self.run(f"readlink {at}/driver").strip()
        if os.path.basename(bound) != self.module:
            raise Failed(f"{card.id}: its driver is {bound or 'none'}, not {self.module}")

    def write(self, path, text):
        self.run(f": >{path}")
        for line in text.splitlines():
            self.run(f"echo {shlex.quote(line)} >>{path}")

    def log(self):
        return self.run("cat /tmp/weir.log")

    # ---- the switch in the guest

    def start(self, policy):
        # On uio_pci_generic, a driver reads all configuration space of a card that comes back.
        more = "" if self.iommu else "--keep-privileges"
        self.write("/tmp/policy.yaml", policy)
        self.run(f"{self.programs.weir} -c /tmp/policy.yaml {more} >/tmp/weir.log 2>&1 & "
                 "echo $! >/tmp/pid")
        eventually(lambda: "\nready\n" in "\n" + self.log() or not self.alive(), "weir is ready",
                   seconds=120)
        if not self.alive():
            raise Failed(f"weir ended before it was ready\n{self.log()}")

    def alive(self):
        return self.run("kill -0 $(cat /tmp/pid) 2>/dev/null && echo yes", check=False).strip()

    def ctl(self, *words):
        return self.run(f"{self.programs.weirctl} -s guest {' '.join(words)}")

    def show(self, what, *words):
        said = self.ctl("show", what, *words, "--json")
        try:
            return json.loads(said)
        except ValueError:
            raise Failed(f"weirctl show {what}: {said}") from None

    def stop(self):
        """The status of weir, 0 when each frame was accounted for, and all that it printed."""
        self.run("kill $(cat /tmp/pid)", check=False)
        return int(self.run("wait $(cat /tmp/pid); echo $?")), self.log()

    def end(self):
        self.monitor.ask("quit")
        self.guest.process.wait(30)
