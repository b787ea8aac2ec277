# SPDX-License-Identifier: Apache-2.0
"""scripts/run --bgp: two stock FRRs talk through the switch and its own FRR. A link is cut, and the
traffic of a lossless class goes on by the other one, with PFC and ECN."""
import time

from routers import LAN, PLANE, READY_S, UNTIL_STOPPED, Routers, outages_ms
from screen import BOLD
from story import Story, staged
from switch import pick
from table import count, scene, show_checks
from world import eventually

TITLES = {1: "a link is cut, and a lossless class moves to the other one"}
PICTURE = """
  r1 ---------- p1 [              ] p2 ---- e2 [    ]
                   [ weir and FRR ]            [ r2 ] ---- receiver
  sender ------ p4 [              ] p3 ---- e3 [    ]
"""
TEXTS = ["r1, r2 and the switch have FRR and speak BGP with BFD of 3 x 300 ms.",
         "p1 and p2 are numbered and signed by MD5. p3 is unnumbered.",
         "The sender posts RDMA writes in class 3, by ECMP over p2 and p3.",
         "Then e2 goes down, and p3 has to carry all of it at 200 Mb/s."]
AT_MOST_MS = 200
AFTER_S = 2


class BgpPlay(Story):
    def queue(self, port):
        return pick(self.switch.show("queues")["queues"], port=port, queue=3)

    def state(self):
        pauses = [r["tx_pause"] for r in self.switch.show("pfc")["pfc"] if r["port"] == "p4"]
        return {"pauses": sum(pauses), "marks": self.queue("p3")["ecn_marked"]}

    def act(self, n):
        scene(self.screen, n, len(TITLES), TITLES[n], PICTURE, TEXTS)
        with staged(Routers(), self.logs, n) as world:
            return self.play(world)

    def play(self, world):
        self.switch = world.start_switch(self.programs, self.name)
        world.start_frr()
        eventually(lambda: world.paths() == ["p2", "p3"] and world.paths("h1"), "BGP converges")
        self.show(world, "both paths:")
        receiver = world.receiver(self.programs)
        sender = world.sender(self.programs, "--qps", "16", "--rto", "10ms", *UNTIL_STOPPED)
        eventually(lambda: all(self.queue(p).get("tx_packets", 0) > 5000 for p in ("p2", "p3")),
                  "data on both paths")
        before = self.state()
        with world.arrivals() as rows:
            time.sleep(0.5)
            cut = time.time()
            world.carrier("e2", False)
            time.sleep(AFTER_S)
        after, one_path = self.state(), world.paths()
        self.show(world, "after the cut:")
        sent = sender.stop(seconds=READY_S)
        receiver.stop()
        lost = {d["reason"]: d["packets"] for d in self.switch.show("drops")["drops"]
                if d["class"] == 3 and d["reason"] not in ("port-down", "no-route")}
        balanced = self.switch.stop() == 0
        moved = outages_ms(rows, cut)
        worst = max(moved.values(), default=float("inf"))
        checks = [
            ("the other path remains", one_path == ["p3"], f"{LAN} by {', '.join(one_path)}"),
            (f"all flows moved within {AT_MOST_MS} ms", worst < AT_MOST_MS,
             f"{len(moved)} flows, the last after {worst:.0f} ms"),
            ("frames are marked on the new path", after["marks"] > before["marks"],
             f"{count(after['marks'] - before['marks'])} marks at p3"),
            ("the sender is paused", after["pauses"] > before["pauses"],
             f"{count(after['pauses'] - before['pauses'])} PAUSE frames at p4"),
            ("no frame of class 3 is lost but on the cut link", not lost,
             ", ".join(f"{count(n)} {reason}" for reason, n in lost.items()) or "0 lost"),
            ("the sender completes", sent == 0, f"status {sent}"),
            ("every frame is accounted for", balanced, "by the switch at its end")]
        checks = [{"check": c, "ok": ok, "figures": figures} for c, ok, figures in checks]
        show_checks(self.screen, checks)
        return {"act": 1, "title": TITLES[1], "world": "live", "checks": checks,
                "worst_ms": worst, "flows": len(moved), **after}

    def show(self, world, text):
        self.screen.say(text, BOLD)
        for line in world.run(PLANE, "ip", "route", "show", LAN).stdout.splitlines():
            self.screen.row("  " + line.strip())

    def seen(self, records):
        return [f"{records[0]['flows']} flows moved within {records[0]['worst_ms']:.0f} ms"]
