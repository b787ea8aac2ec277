# SPDX-License-Identifier: Apache-2.0
"""`scripts/rdma --pfc`: soft-RoCE into a slow port, whose PFC the guest ignores and then obeys.

  guest1 -- tap1 - p1 [ weir ] p2 - tap2 -- guest2      p2 at 4 Mb/s, class 3 without ECN

weir-hostd runs in guest1. Debian's kernel has the queue `plug`.
"""
import json
import os
import re

import guest
from rdma import CONTENTS, IMAGES, LISTENING, Lab
from switch import pick

# Sixteen queue pairs have up to 128 packets each under way, more than p1 and its ring can store.
# Emulated guests stand still at times. At 10 Mb/s the ring of p1 holds the frames of 450 ms, and a
# PAUSE lasts 3.4 s.
POLICY = """\
switch: {name: %(name)s, buffer: {size: 12MB}}
ports:
  - {name: p1, device: "xdp:tap1", speed: 10M, mtu: 1500, rx_ring: 512, profile: roce}
  - {name: p2, device: "xdp:tap2", speed: 4M, mtu: 1500, rx_ring: 512, profile: roce}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
profiles:
  roce:
    trust: dscp
    dscp_to_class: {default: 0, 24-31: 3}
    classes:
      3:
        lossless: true
        ingress: {min: 0B, static: 60KB, xon_offset: 30KB, headroom: auto}
"""
CLASS, TCLASS = 3, 26 << 2
TOOL = f"ib_write_bw -s 65536 -q 16 -F --tclass={TCLASS}"
# 2,048 packets wait for seconds, so a timer of rxe must be longer (-u 22: 17 s), else rxe sends
# them again. With losses there may be no end.
LOSSY, LOSSLESS, LOSSY_S = "-n 5", "-n 5 -u 22", 15
HOSTD = f"/hostd --device eth0 --speed 10M --class {CLASS} --json"
# Of rxe: a NAK or a timer that makes a requester send again counts at one of its ends.
AGAIN = ("rcvd_seq_err", "retry_exceeded_err", "completer_retry_err", "duplicate_request")


class PfcLab(Lab):
    def policy(self):
        return POLICY % {"name": self.name}

    def begin_capture(self):
        pass

    def dump(self, i):
        return None

    def images(self):
        """weir-hostd and its libraries are a second archive behind the first one."""
        kernel, first = guest.prepare(IMAGES, CONTENTS)
        program = self.programs.in_build("control/hostd/weir-hostd")
        archive = guest.Cpio()
        archive.file(program, "hostd")
        for path in guest.libraries(program):
            archive.file(path)
        both = os.path.join(self.world.logs, "initrd")
        with open(first, "rb") as f, open(both, "wb") as out:
            out.write(f.read() + archive.bytes())
        return kernel, both

    def numbers(self):
        """What grows with each packet that rxe sends again, and with each drop of the switch."""
        again = sum(int(n) for g in self.guests for n in re.findall(
            rf"(?:{'|'.join(AGAIN)}) (\d+)", g.run("rdma statistic show link rxe0")))
        return again, sum(d["packets"] for d in self.switch.show("drops")["drops"])

    def sent_pfc(self):
        return pick(self.switch.show("pfc")["pfc"], port="p1", **{"class": CLASS})["tx_pause"]

    def play(self, title, options, seconds=None):
        """Packets sent again and frames dropped by one run of the tool, ended after a time."""
        tool = f"{TOOL} {options}"
        self.screen.say(f"{tool}, {title}")
        before = self.numbers()
        client, server = self.guests
        server.run(f"({tool}) >/tmp/out 2>&1 & {LISTENING}")
        if seconds:
            client.run(f"timeout {seconds} {tool} 10.0.0.2", check=False)
            server.run("killall ib_write_bw", check=False)
        else:
            client.run(f"{tool} 10.0.0.2")
        server.run("wait")
        again, drops = (b - a for a, b in zip(before, self.numbers()))
        self.screen.say(f"      {drops:,} frames dropped, {again:,} packets missed or sent again")
        return again, drops

    def play_all(self):
        pass

    def judge(self):
        again, drops = self.play("the kernel of guest1 ignores PFC", LOSSY, LOSSY_S)
        self.check(drops > 0 and again > 0, "without weir-hostd frames are lost and sent again",
                   f"{drops:,} drops, {again:,} packets")
        self.guests[0].run(f"{HOSTD} >/tmp/hostd 2>/tmp/hostd.err & "
                           "until grep -q ready /tmp/hostd.err; do usleep 50000; done")
        sent = self.sent_pfc()
        again, drops = self.play("weir-hostd in guest1", LOSSLESS)
        sent = self.sent_pfc() - sent
        report = json.loads(self.guests[0].run("killall hostd; wait; cat /tmp/hostd"))
        row = pick(report["classes"], **{"class": CLASS})
        self.check(drops == 0, "with weir-hostd no frame is dropped", f"{drops:,} drops")
        self.check(again == 0, "soft-RoCE sends nothing again", f"{again:,} packets")
        self.check(row["rx_pause"] == sent > 0, "every PFC frame arrived at weir-hostd",
                   f"{row['rx_pause']:,} of {sent:,}, {row['rx_pause_transition']:,} pauses by "
                   f"the queue {report['held_by']}")
