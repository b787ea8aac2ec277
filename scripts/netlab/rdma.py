# SPDX-License-Identifier: Apache-2.0
"""RDMA without RDMA cards: two guests with soft-RoCE and the switch between them. See
`scripts/rdma --help`.

  guest1 -- tap1 - p1 [ weir ] p2 - tap2 -- guest2

Two judges that are not ours: QEMU writes each frame at the edge of both guests, and the tools of
the guests print their queue pairs. The frames of both edges are compared with each other and with
the switch's own capture; the switch's flows are compared with the queue pairs.
"""
import argparse
import collections
import functools
import os
import re
import shutil
import signal
import sys
import time

import cnps
import guest
import judged
import pcapng
from switch import Programs, Switch, quiet
from world import Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IMAGES = os.path.join(ROOT, "build", "rdma")
SAMPLE_S = 0.1
UDP_ROCE, CNP_OPCODE = (4791).to_bytes(2, "big"), 0x81
TOS = 106 # DSCP 26 and ECT(0)
NEEDS_NO_PAIR = {"read-requests", "datagram"}
CONTENTS = guest.Contents(
    modules=("virtio_pci", "virtio_net", "e1000", "crc32_generic", "rdma_rxe", "rdma_ucm",
             "af_packet", "sch_htb", "sch_plug", "cls_u32"), # these for weir-hostd
    programs=("rdma", "rping", "ucmatose", "ib_write_bw", "ib_read_bw", "ib_send_bw",
              "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so"),
    files=("/etc/libibverbs.d/rxe.driver",
           "/lib/x86_64-linux-gnu/libgcc_s.so.1")) # for pthread_exit
NO_OFFLOADS = ("csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,"
               "guest_ufo=off,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off,mrg_rxbuf=off")

# p2 is slow where a phase says so. Times fit 30 Mb/s: a frame takes 0.3 ms.
POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}, flows: {age: 1s}}
ports:
  - {name: p1, device: "xdp:tap1", speed: 1G, mtu: 1500, profile: roce}
  - {name: p2, device: "xdp:tap2", speed: %(speed)s, mtu: 1500, profile: roce}
profiles:
  roce:
    trust: dscp
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    cnp: {dscp: 48, class: 6, max_rate: 1000}
    classes:
      0: {schedule: {dwrr: 50}, egress: {static: %(limit)s}}
      3:
        schedule: {dwrr: 50}
        wred: {ecn: on, kmin: 10KB, kmax: 100KB, pmax: 100%%}
        ipcc: {interval: 5ms, drain: 50ms, min_gap: 10ms}
      6: {schedule: strict}
"""
FAST = {"speed": "1G", "limit": "4MB"}
MARKED = {"speed": "30M", "limit": "4MB"}
LOSSY = {"speed": "30M", "limit": "40KB"}


class Tool:
    """A tool of RDMA: what the guests run, and how its connections are made known."""

    def __init__(self, name, server, client, by_cm, link=FAST):
        self.name, self.server, self.client, self.by_cm = name, server, client, by_cm
        self.link = link


def perftest(name, *options, link=FAST, by_cm=False):
    words = " ".join([name, *options, "-R" * by_cm, "-F"])
    return Tool(words[:-3].strip(), words, f"{words} 10.0.0.2", by_cm, link)


# Few and short messages are enough: a guest without hardware moves some thousand frames a second.
TOOLS = [
    Tool("rping", "rping -s -v -C 400 -a 10.0.0.2", "rping -c -v -C 400 -a 10.0.0.2", True),
    perftest("ib_write_bw", "-n 2000", "-s 8192"),
    perftest("ib_read_bw", "-n 2000", "-s 8192"),
    perftest("ib_write_bw", "-n 1000", "-s 8192", by_cm=True),
    perftest("ib_read_bw", "-n 1000", "-s 8192", by_cm=True),
    perftest("ib_send_bw", "-n 2000", "-s 8192", "-q 2"),
    Tool("ucmatose -c 4", "ucmatose -c 4 -C 4000", "ucmatose -c 4 -C 4000 -s 10.0.0.2", True),
    perftest("ib_write_bw", "-n 1000", "-s 8192", f"--tclass={TOS}", link=MARKED),
    perftest("ib_write_bw", "-n 1000", "-s 8192", f"--tos={TOS}", link=MARKED, by_cm=True),
    perftest("ib_write_bw", "-n 100", "-s 8192", link=LOSSY),
]

LISTENING = ("until netstat -ltn | grep -q :18515 || rdma res show cm_id | grep -q LISTEN; "
             "do usleep 50000; done")
# While a tool runs, its queue pairs are read.
WATCHED = ("{ %s; } >/tmp/out 2>&1 & p=$!; while kill -0 $p 2>/dev/null; do rdma res show qp; "
           "usleep 100000; done; wait $p; s=$?; cat /tmp/out; (exit $s)")
RESOURCE = re.compile(r"lqpn (\d+) rqpn (\d+) type RC state RTS")
PERFTEST = re.compile(r"(local|remote) address:.* QPN (0x[0-9a-f]+)")


class Lab:
    """The guests, the switch, and what was seen."""

    def __init__(self, args, screen, world, name):
        self.args, self.screen, self.world = args, screen, world
        self.programs = Programs(args.build)
        self.name = name
        self.truth = set() # (queue pair of guest1, queue pair of guest2)
        self.flows = {} # (sender's address, queue pair): Flow
        self.wrong = []
        self.checks = judged.Checks(screen)
        self.check = self.checks.check

    # ---- the beginning and the end

    def begin(self):
        self.screen.say("Preparing the kernel and the programs of the guests.")
        images = self.images()
        self.screen.say("Starting two guests. Without KVM this takes 10 to 60 s.")
        for i in (1, 2):
            tap = f"tap{i}"
            self.world.run("sw", "ip", "tuntap", "add", "dev", tap, "mode", "tap")
            self.world.run("sw", "ip", "link", "set", tap, "up")
        self.guests = [guest.Guest(self.world, f"guest{i}", images, self.machine(i))
                       for i in (1, 2)]
        for g in self.guests:
            g.start()
        for g in self.guests:
            g.ready()
        self.link = FAST
        self.switch = Switch(self.world, self.programs, self.name, self.policy())
        if not self.args.shell:
            self.begin_capture()
        for i, g in enumerate(self.guests, 1):
            g.run(f"ip link set eth0 up && ip addr add 10.0.0.{i}/24 dev eth0 && "
                  "rdma link add rxe0 type rxe netdev eth0")

    def images(self):
        return guest.prepare(IMAGES, CONTENTS)

    def machine(self, i):
        """On the tap device of its number; QEMU writes each frame into a file."""
        dump = self.dump(i)
        return ["-M", "pc", "-smp", "1", "-m", "512",
                "-netdev", f"tap,id=net,ifname=tap{i},script=no,downscript=no,vhost=off,"
                "vnet_hdr=off",
                "-device", f"virtio-net-pci,{NO_OFFLOADS},netdev=net,mac=02:00:00:00:00:{i:02x}",
                *(["-object", f"filter-dump,id=dump,netdev=net,file={dump}"] if dump else [])]

    def dump(self, i):
        return os.path.join(self.world.logs, f"guest{i}.pcap")

    def policy(self):
        return quiet(POLICY % {"name": self.name, **self.link})

    def begin_capture(self):
        self.capture_path = os.path.join(self.world.logs, "switch.pcapng")
        self.capture = self.world.spawn("sw", "capture", self.programs.weirctl, "-s", self.name,
                                        "capture", "all", self.capture_path)
        self.capture.wait_line("capturing all")

    def end_capture(self):
        """Once what the guests sent last has crossed."""
        self.guests[0].run("rdma link del rxe0; ip link set eth0 down")
        self.guests[1].run("rdma link del rxe0; ip link set eth0 down")
        self.capture.stop(signal.SIGINT)

    def set_link(self, link):
        if link == self.link:
            return
        self.link = link
        path = os.path.join(self.world.logs, "next.yaml")
        with open(path, "w") as f:
            f.write(self.policy())
        self.switch.ctl("reload", path)

    # ---- a tool

    def use_up_numbers(self):
        """Queue pairs of the two guests get different numbers, so a pair by chance is seen."""
        self.guests[1].run("ucmatose -c 3 >/dev/null 2>&1 & " + LISTENING +
                           "; ucmatose -c 3 -s 10.0.0.2 >/dev/null; wait")

    def play_all(self):
        self.use_up_numbers()
        for tool in TOOLS:
            self.play(tool)
        self.end_capture()

    def play(self, tool):
        self.set_link(tool.link)
        self.screen.say(f"{tool.name}, p2 at {tool.link['speed']}b/s")
        for last in (False, False, True):
            began = time.monotonic()
            said, status = self.run(tool)
            n = self.learn(said)
            if status == 0:
                break
            if last or "RDMA_CM_EVENT_REJECTED" not in said:
                raise Failed(f"{tool.name}: status {status}\n{said}")
            n_gone = self.leave_out(tool)
            self.screen.say("      rejected, since the client of perftest was faster than its "
                            f"server; once more ({n_gone} flows ended before they were looked at)")
        self.screen.say(f"      {n} connection{'s' * (n != 1)}, {time.monotonic() - began:.0f} s; "
                        f"flows by source: {by_source(self.paired(lambda f: f.tool == tool))}")

    def leave_out(self, tool):
        """Flows of a try that failed, if a look saw them only after their connection had ended.

        Their pair is gone by then, so nothing says how it was found. Their pairs still count as
        wrong if one was."""
        gone = [f for f in self.flows.values()
                if f.tool == tool and not f.sources and "closed" in (f.reason or "")]
        for f in gone:
            f.left_out = True
        return len(gone)

    def paired(self, wanted):
        return [f for f in self.flows.values()
                if wanted(f) and not f.left_out and f.kind not in NEEDS_NO_PAIR]

    def run(self, tool):
        """What the client and the server printed, and the client's status."""
        client, server = self.guests
        server.run(f"({tool.server}) >/tmp/out 2>&1 & {LISTENING}")
        client.send(WATCHED % tool.client)
        status = None
        while status is None: # what the switch says of its flows is read until it has ended
            self.look(tool)
            said, status = client.answer(tool.client, every=SAMPLE_S)
        self.look(tool)
        if status != 0:
            server.run(f"killall {tool.server.split()[0]}", check=False)
        return said + server.run("wait; cat /tmp/out"), status

    def learn(self, said):
        """Queue pairs, as the guests print them; the client's part comes first."""
        found = {(int(a), int(b)) for a, b in RESOURCE.findall(said)}
        printed = [(side, int(qp, 16)) for side, qp in PERFTEST.findall(said)]
        ours, theirs = ([qp for side, qp in printed[:len(printed) // 2] if side == s]
                        for s in ("local", "remote"))
        found.update(zip(ours, theirs))
        self.truth |= found
        return len(found)

    def look(self, tool):
        for f in self.switch.show("flows", "--limit", "1000")["flows"]:
            seen = self.flows.setdefault((f["from"], f["qp"]), Flow(tool, f))
            seen.look(f)

    # ---- the judges

    def judge(self):
        self.judge_pairs()
        self.judge_frames()
        self.judge_cnps()

    def judge_pairs(self):
        wrong = [f for f in self.flows.values() if f.pairs - self.right(f)]
        self.check(not wrong, "no flow ever had a wrong pair",
                   f"{sum(bool(f.pairs) for f in self.flows.values())} flows had a pair, "
                   f"{len(self.truth)} connections" + "".join(f"; {f}" for f in wrong))
        by_cm = self.paired(lambda f: f.tool.by_cm)
        self.check(by_cm and all(f.sources == {"cm"} for f in by_cm),
                   "every flow of rdma_cm was paired by cm", by_source(by_cm))
        others = self.paired(lambda f: not f.tool.by_cm)
        self.check(others and all(f.sources or f.reason for f in others),
                   "every other flow was paired by what it is answered, or has a reason",
                   by_source(others))

    def right(self, flow):
        """The senders that the flow may have."""
        return {a if flow.ip == "10.0.0.1" else b for a, b in self.truth
                if flow.qp == (b if flow.ip == "10.0.0.1" else a)}

    def judge_frames(self):
        edges = {i: pcapng.pcap_frames(self.dump(i)) for i in (1, 2)}
        with open(self.capture_path, "rb") as f:
            capture = pcapng.Capture(f.read())
        drops = sum(d["packets"] for d in self.switch.show("drops")["drops"])
        n = n_lost = n_seen = 0
        for a, b in ((1, 2), (2, 1)):
            sent = [f for f in edges[a] if f[6:12] == mac(a)]
            got = [f for f in edges[b] if f[6:12] != mac(b) and not is_cnp(f)]
            n += len(sent)
            n_lost += self.compare(f"guest{a} to guest{b}", sent, got)
            n_seen += self.same(f"p{a} in", sent, [f.data for f in capture.of(f"p{a}", "in")])
            n_seen += self.same(f"p{b} out", [f for f in edges[b] if f[6:12] != mac(b)],
                                [f.data for f in capture.of(f"p{b}", "out")])
        self.check(not self.wrong, "no frame was altered, made or turned round between the guests",
                   f"{n:,} frames compared" + "".join(f"; {w}" for w in self.wrong[:5]))
        self.check(n_lost == drops, "each frame that is missing was counted as dropped",
                   f"{n_lost:,} missing, {drops:,} dropped")
        self.check(n_seen == 4, "the switch's own capture has the same frames",
                   f"{len(capture.frames):,} frames in the capture")

    def compare(self, what, sent, got):
        """What was got of a flow is what was sent, in this order. Returns how many are missing."""
        flows = collections.defaultdict(lambda: ([], []))
        for side, frames in enumerate((sent, got)):
            for f in frames:
                flows[flow_of(f)][side].append(alike(f))
        for key, (there, here) in flows.items():
            left = iter(there)
            if not all(f in left for f in here):
                self.wrong.append(f"{what}: a flow of {len(there)} frames: {key.hex()}")
        return len(sent) - len(got)

    def same(self, what, edge, captured):
        if collections.Counter(edge) == collections.Counter(captured):
            return True
        self.screen.say(f"      {what}: {len(edge)} frames at the guest, {len(captured)} captured")
        return False

    def judge_cnps(self):
        found = [f for f in pcapng.pcap_frames(self.dump(1)) if is_cnp(f)]
        sent = sum(p["cnps_sent"] for p in self.switch.show("ipcc")["flow_ports"])
        pairs = {a for a, _ in self.truth}
        bad = [w for w in (cnps.wrong_with(f, 1, pairs) for f in found) if w]
        to = {int.from_bytes(f[47:50], "big") for f in found}
        explained = {(c["sender_qp"], c["qp"]) for c in self.switch.show("cnps", "--all")["cnps"]}
        marked = sum(is_marked(f) for f in pcapng.pcap_frames(self.dump(2)))
        self.check(marked, "the slow port marked frames of its full queue", f"{marked:,} marked")
        self.check(found and len(found) == sent and not bad and explained <= self.truth,
                   "every notification of the switch reached the queue pair of its sender",
                   f"{len(found):,} CNPs to queue pairs {', '.join(map(hex, sorted(to)))}"
                   + "".join(f"; {b}" for b in bad[:3]))

    def end(self):
        balance = self.switch.quiesce()
        status = self.switch.stop()
        self.check(status == 0, "the balance of frames is exact at rest",
                   ", ".join(f"{v:,} {k}" for k, v in balance.items() if k != "balanced"))


def by_source(flows):
    return ", ".join(f"{n} {source}" for source, n in
                     collections.Counter(f.best() for f in flows).most_common())


class Flow:
    """All that the switch ever said of a flow."""

    def __init__(self, tool, row):
        self.tool, self.ip, self.qp = tool, row["from"], row["qp"]
        self.pairs, self.sources = set(), set()
        self.kind = self.reason = None
        self.left_out = False

    def look(self, row):
        self.kind = row["kind"]
        if row["sender_qp"] is None:
            self.reason = row["reason"]
            return
        self.pairs.add(row["sender_qp"])
        self.sources.add(row["source"])

    def best(self):
        """How its pair was found, or why it has none."""
        return "/".join(sorted(self.sources)) or f"none ({self.reason})"

    def __str__(self):
        return f"{self.tool.name}: from {self.ip} to {self.qp:#x}: {self.pairs}"


# ---- frames

def mac(i):
    return bytes([2, 0, 0, 0, 0, i])


def is_roce(f):
    return f[12:14] == b"\x08\x00" and f[23] == 17 and f[36:38] == UDP_ROCE


def is_cnp(f):
    return is_roce(f) and f[42] == CNP_OPCODE


def is_marked(f):
    return is_roce(f) and f[15] & 3 == 3


def flow_of(f):
    """Frames of one flow keep their order: those of the same addresses, class and queue pair."""
    return f[:15] + f[26:38] + f[47:50] if is_roce(f) else f[:14] + f[23:24] + f[26:38]


def alike(f):
    """Without what a switch may alter: the ECN bits, and the checksum over them."""
    return f[:15] + bytes([f[15] & 0xfc]) + f[16:24] + f[26:] if is_roce(f) else f


# ---- by hand

def shell(lab):
    lab.screen.say("A line `1 COMMAND` runs in guest1, `2 COMMAND` in guest2, `weirctl COMMAND` "
                   "asks the switch. A command that ends with & goes on. Ctrl-D ends all.")
    for line in sys.stdin:
        where, _, command = line.strip().partition(" ")
        if where in ("1", "2"):
            print(lab.guests[int(where) - 1].run(command, check=False), flush=True)
        elif where == "weirctl":
            try:
                print(lab.switch.ctl(*command.split()), flush=True)
            except Failed as e:
                print(e, flush=True)
        elif where:
            print("1 COMMAND, 2 COMMAND, or weirctl COMMAND", flush=True)


def options():
    p = argparse.ArgumentParser(
        prog="scripts/rdma",
        description="Runs the tools of RDMA between two guests with soft-RoCE, through a live "
        "switch, and compares every frame and every queue pair. As root; takes about 75 s once "
        "the machine is set up.")
    p.add_argument("--shell", action="store_true",
                   help="run no tool: the guests take commands from you")
    p.add_argument("--pfc", action="store_true",
                   help="soft-RoCE into a slow port without and with weir-hostd in the guest, in "
                   "place of the other tools")
    p.add_argument("--keep", metavar="DIR", help="keep captures, policies and logs in DIR")
    p.add_argument("--json", metavar="FILE", help="also write the checks to FILE")
    p.add_argument("--no-setup", action="store_true", help="the machine and build/ are ready")
    p.add_argument("--build", metavar="DIR", default=os.path.join(ROOT, "build"),
                   help="where the programs are built (default build/)")
    return p.parse_args()


def lab_of(args):
    if not args.pfc:
        return Lab
    from rxe_pfc import PfcLab # which imports this file
    return PfcLab


def play(args, screen, world, name):
    cnps.need_judges()
    lab = lab_of(args)(args, screen, world, name)
    try:
        lab.begin()
        if args.shell:
            shell(lab)
            return True
        lab.play_all()
        lab.judge()
        lab.end()
    finally:
        if args.keep:
            shutil.copytree(world.logs, args.keep, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("*.console"))
    return lab.checks.verdict(args.json)


if __name__ == "__main__":
    sys.exit(judged.run("rdma", functools.partial(play, options())))
