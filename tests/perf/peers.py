# SPDX-License-Identifier: Apache-2.0
"""The same ports under other programs: testpmd, which forwards blindly, and Open vSwitch.

Both are read in short windows from outside while they run; tools.per_packet says which counts.
"""
import json
import os
import re
import shutil
import socket
import time

from tools import Failed, Program, eal_memory, per_packet, run

WINDOW_S = 0.004
TOTAL = re.compile(r"statistics for all ports.*?TX-packets: (\d+).*?total cycles=(\d+) /", re.S)
OVS = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"


def pcap_devices(folder):
    return [f"net_pcap{i},rx_pcap={folder}/p{i}.pcap,infinite_rx=1" for i in (0, 1)]


# ---- testpmd

def lcores(cpus, workers):
    spread = ",".join(f"{i + 1}@{cpu}" for i, cpu in enumerate(cpus[:workers]))
    return f"0@({','.join(map(str, cpus))}),{spread}"


def testpmd_command(mode, devices, cpus, workers=1, mbufs=8192):
    memory = eal_memory(128 + mbufs * 5 // 2048)
    return ["dpdk-testpmd", "--lcores", lcores(cpus, workers), *memory, "--no-pci",
            "--no-telemetry", *[f"--vdev={d}" for d in devices], "--", "-i", "--auto-start",
            f"--forward-mode={mode}", f"--nb-cores={workers}", "--record-core-cycles",
            f"--total-num-mbufs={mbufs}"]


def testpmd_missing():
    return None if shutil.which("dpdk-testpmd") else "dpdk-testpmd is not installed (dpdk-dev)"


def testpmd(log, command, windows, window_s=WINDOW_S, prefix=()):
    """Cycles of the forwarding function per packet sent; empty polls do not count. What it received
    and could not send it drops: a program that may not drop is compared with what was sent."""
    with Program(log, [*prefix, *command]) as program:
        def ask(pause_s):
            program.say("show fwd stats all")
            time.sleep(pause_s)

        def samples():
            return [(int(c), int(n)) for n, c in TOTAL.findall(program.said())]

        def forwards():
            ask(0.2)
            return any(n for _, n in samples())

        program.wait_for("testpmd> ", "the start of testpmd")
        program.wait_for(forwards, "forwarding by testpmd")
        before = len(samples())
        for _ in range(windows + 1):
            ask(window_s)
        program.say("quit")
        program.p.wait(30)
        found = samples()
    return per_packet(found[before:][:windows + 1])


# ---- Open vSwitch

def ovs_missing():
    if os.access(OVS, os.X_OK) and shutil.which("ovsdb-tool"):
        return None
    return "Open vSwitch with DPDK is not installed (openvswitch-switch-dpdk)"


class Ovs:
    """A private ovs-vswitchd with its database in one folder; it touches no other."""

    def __init__(self, folder, devices, cpus):
        self.folder, self.devices, self.cpus = folder, devices, cpus
        self.env = {f"OVS_{k}": folder for k in ("RUNDIR", "LOGDIR", "DBDIR", "SYSCONFDIR")}
        self.socket = f"unix:{folder}/db.sock"

    def vsctl(self, *args):
        run("ovs-vsctl", f"--db={self.socket}", "--no-wait", *args, env={**os.environ, **self.env})

    def database(self):
        run("ovsdb-tool", "create", f"{self.folder}/conf.db", OVS_SCHEMA)
        return Program(f"{self.folder}/ovsdb.out",
                       ["ovsdb-server", f"{self.folder}/conf.db", f"--remote=p{self.socket}",
                        f"--pidfile={self.folder}/db.pid", f"--unixctl={self.folder}/db.ctl"],
                       env=self.env)

    def configure(self):
        memory = eal_memory(512)
        extra = " ".join(["--no-pci", "--no-telemetry", memory[0]])
        options = {"dpdk-init": "true", "dpdk-lcore-mask": hex(1 << self.cpus[-1]),
                   "pmd-cpu-mask": hex(1 << self.cpus[0]), "dpdk-extra": f'"{extra}"'}
        if memory[0] == "--in-memory":
            options["dpdk-socket-mem"] = memory[2]
        self.vsctl("init")
        self.vsctl("set", "Open_vSwitch", ".",
                   *[f"other_config:{k}={v}" for k, v in options.items()])
        self.vsctl("add-br", "b", "--", "set", "bridge", "b", "datapath_type=netdev")
        for i, device in enumerate(self.devices):
            self.vsctl("add-port", "b", f"d{i}", "--", "set", "Interface", f"d{i}", "type=dpdk",
                       f'options:dpdk-devargs="{device}"')

    def switch(self):
        return Program(f"{self.folder}/vswitchd.out",
                       [OVS, self.socket, f"--pidfile={self.folder}/vs.pid",
                        f"--unixctl={self.folder}/vs.ctl"], env=self.env)

    def ask(self, method):
        """One call over ovs-vswitchd's control socket (JSON-RPC). None: it refused.

        So it does while it starts: the socket is there before all its commands are.
        """
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(f"{self.folder}/vs.ctl")
            s.sendall(json.dumps({"method": method, "params": [], "id": 0}).encode())
            text = ""
            while more := s.recv(65536).decode():
                text += more
                try:
                    return json.loads(text).get("result")
                except ValueError:
                    continue
        raise ConnectionError("ovs-vswitchd closed its control socket")

    def sample(self):
        """(busy cycles, packets) of the poll-mode thread, None before it runs."""
        said = self.ask("dpif-netdev/pmd-stats-show") or ""
        thread = said.split("main thread")[0]
        packets = re.search(r"packets received: (\d+)", thread)
        cycles = re.search(r"processing cycles: (\d+)", thread)
        return (int(cycles[1]), int(packets[1])) if packets and cycles else None

    def forwards(self):
        try:
            found = self.sample()
        except OSError:
            return False
        return found is not None and found[1] > 1000


def ovs(folder, devices, cpus, windows):
    """Bridging with action NORMAL, on the same two ports; one poll-mode thread."""
    os.makedirs(folder)
    it = Ovs(folder, devices, cpus)
    with it.database() as db:
        db.wait_for(lambda: os.path.exists(f"{folder}/db.sock"), "the start of ovsdb-server")
        it.configure()
        with it.switch() as switch:
            switch.wait_for(it.forwards, "forwarding by Open vSwitch")
            time.sleep(0.5)
            samples = []
            for _ in range(windows + 1):
                samples.append(it.sample())
                time.sleep(WINDOW_S)
    return per_packet(samples)
