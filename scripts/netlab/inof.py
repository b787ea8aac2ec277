# SPDX-License-Identifier: Apache-2.0
"""scripts/run --inof: two switches tell three initiators which of two targets come and go, and why.

weir-inof beside each switch carries the hosts to the other one, over BGP and FRR's route reflector.
t1 and t2 are the paths of one subsystem. All times are those of CLOCK_MONOTONIC: each host stamps
the lines of its log with it.
"""
import signal
import statistics
import time

from peered import SPACES, Peers
from routers import PAUSER
from screen import BOLD, DIM
from story import Story, staged
from switch import Host, pick
from table import aligned, count, scene
from world import Failed, eventually

HOSTS = {"t1": 1, "i1": 2, "t2": 3, "i2": 4, "i3": 5} # number of the link, and of the address
HOMES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 2} # the switch of each link
TARGETS, INITIATORS = ("t1", "t2"), ("i1", "i2", "i3")
NAMES = {f"10.0.0.{i}": name for name, i in HOSTS.items()}
DISK = "nqn.2026-11.org.example:disk"
# An hour is longer than the story: a signal ends the programs.
IO = ["--size", "16KiB", "--rate", "100M", "--time", "3600s"]
STORM_S = 3600
CARRIED = 200_000 # bytes of class 3 by which I/O runs
LAST_S = 0.5 # frames of a connection that has ended
KEEP_ALIVE_S = 5 # the default of weir-host, as of Linux

TITLES = {1: "initiators are told of faults, over two switches"}
PICTURE = """
  t1 10.0.0.1 ---- p1 [     ]              [     ] p3 ---- t2 10.0.0.3
                      [ sw1 ] ============ [ sw2 ] p4 ---- i2 10.0.0.4
  i1 10.0.0.2 ---- p2 [     ]              [     ] p5 ---- i3 10.0.0.5
                    weir-inof ---- FRR ---- weir-inof
"""
TEXTS = ["t1 and t2 are targets with one NQN: two paths to one subsystem. i1, i2 and i3 are "
         "initiators. No address of a target is configured in them.",
         "Hosts register by LLDP. A switch tells its hosts which others come and go, and why.",
         "weir-inof tells the other switch, over BGP. FRR is the route reflector."]
# Each part of the story: what happens, and what to look at.
PARTS = {
    "come": ("t1 comes, then t2", "The path that comes first carries I/O. The other one is spare."),
    "zone": ("i3 is in another zone than t1, t2, i1 and i2",
             "An operator adds the zone at both switches. Only i3 and its targets are told."),
    "join": ("the zone is removed", "All are in the zone `default` again."),
    "cut": ("the cable of t1 is cut", "I/O moves to the spare path."),
    "mend": ("the cable of t1 is connected again",
             "t1 is the spare path now. I/O stays where it is."),
    "storm": ("the NIC of t2 pauses class 3 without an end",
              "The PFC watchdog finds the storm after 100 ms, and the switch says so to all."),
    "calm": ("the NIC of t2 pauses no longer", "t2 is the spare path. I/O stays where it is."),
    "hang": ("t1 hangs, and its link stays up",
             f"No switch sees that. The keep-alive of {KEEP_ALIVE_S} s has to find it."),
}
# The faults: target, reason, and where I/O goes on.
FAULTS = {"cut": ("t1", "link-down", "t2"), "storm": ("t2", "pfc-storm", "t1"),
          "hang": ("t1", "no-answer", "t2")}
SHORT = {"cut": "cable of t1 cut", "storm": "NIC of t2 storms", "hang": "t1 hangs"}
WIDTHS = (6, 8, 32, 12, 22)
HEADS = ("  who", "at", "what it is told", "     after", "its I/O")
END_WIDTHS = (19, 11, 7, 8, 9, 8, 9, 9)
END_HEADS = (((19, 11, 24, 26), ("", "", "told after, ms", "I/O stands still, ms")),
             (END_WIDTHS, ("  fault", "reason", *("min", "median", "max") * 2)))


class Result:
    """What the act left. events: by part and host, in order: {"t", "step", and its keys}; log: by
    part, the rows of `weirctl show inof log` of both switches."""

    def __init__(self):
        self.at, self.events, self.log = {}, {}, {}
        self.peers = self.bytes = None
        self.reports, self.status = {}, {}

    def of(self, part, host, *steps):
        return [e for e in self.events[part][host] if e["step"] in steps]

    def told(self, part, host):
        """Notices: (peer, state, reason). A repeated one has its sequence number again."""
        return list({e["seq"]: (e["peer"], e["state"], e["reason"])
                     for e in self.of(part, host, "notice")}.values())

    def did(self, part, host):
        """Of paths: (step, peer, reason)."""
        return [(e["step"], e["peer"], e.get("reason")) for e in
                self.of(part, host, "connect", "disconnect", "start", "resume")]

    def after_ms(self, part):
        """The times from a fault to the notice, of each initiator that is told."""
        first = [self.of(part, h, "notice")[:1] for h in INITIATORS]
        return [1e3 * (e["t"] - self.at[part]) for es in first for e in es]

    def outages_ms(self, part):
        return [int(e["outage_us"]) / 1e3 for h in INITIATORS for e in self.of(part, h, "resume")]


# ---- checks: each returns (holds, figures)


def by_bgp(r):
    want = {"1": ["i2", "i3", "t2"], "2": ["i1", "t1"]}
    return r.peers == want, ", ".join(f"{len(p)} at sw{n}" for n, p in r.peers.items())


def first_path(r):
    want = [("connect", "t1", None), ("start", "t1", None)]
    got = [h for h in INITIATORS if r.did("come", h) == want and
           r.told("come", h) == [(t, "online", "none") for t in TARGETS]]
    return got == list(INITIATORS), names(got)


def zone_told(r):
    want = {("i3", "t1"), ("i3", "t2"), ("t1", "i3"), ("t2", "i3")}
    rows = [(row["receiver"], row["about"]) for row in r.log["zone"]]
    others = [n for part in ("zone", "join") for h in ("i1", "i2") for n in r.told(part, h)]
    good = all((row["reason"], row["state"]) == ("zone-change", "offline") for row in r.log["zone"])
    return (sorted(rows) == sorted(want) and good and not others,
            f"{len(rows)} notices")


def zone_ends_io(r):
    ended = {(e["reason"], e["how"]) for e in r.of("zone", "i3", "disconnect")}
    last = [step for step, _, _ in r.did("zone", "i3")[-1:]]
    others = [d for h in ("i1", "i2") for d in r.did("zone", h)]
    return (ended == {("zone-change", "forced")} and last == ["disconnect"] and not others and
            r.bytes["i3"] == 0 and min(r.bytes["i1"], r.bytes["i2"]) >= CARRIED,
            f"then i3 sends {count(r.bytes['i3'])} bytes")


def joined(r):
    told = sorted(r.told("join", "i3"))
    return (told == [(t, "online", "zone-change") for t in TARGETS] and
            [s for s, _, _ in r.did("join", "i3")] == ["connect", "resume"],
            f"told of {names(t for t, _, _ in told)}")


def told_of(part):
    """All initiators are told of the fault, once, and answer."""
    def check(r):
        gone, reason, _ = FAULTS[part]
        right = [h for h in INITIATORS if r.told(part, h) == [(gone, "offline", reason)]]
        rows = [row for row in r.log[part] if row["receiver"] in INITIATORS]
        answered = sorted(row["receiver"] for row in rows if row["about"] == gone and
                          row["reason"] == reason and row["answered_us"] is not None)
        return (right == answered == list(INITIATORS),
                f"{len(right)} told, {len(answered)} answers")
    return check


def moves(part):
    """In this order: the path ends for that reason, the next one connects, and I/O goes on."""
    def check(r):
        gone, reason, spare = FAULTS[part]
        want = [("disconnect", gone, reason), ("connect", spare, None), ("resume", spare, None)]
        right = [h for h in INITIATORS if r.did(part, h) == want]
        return (right == list(INITIATORS),
                f"after {most(r.outages_ms(part))}")
    return check


def stays(part):
    """The target is back, and no I/O moves."""
    def check(r):
        back = {"mend": "t1", "calm": "t2"}[part]
        right = [h for h in INITIATORS if r.told(part, h) == [(back, "online", "none")] and
                 not r.did(part, h)]
        return right == list(INITIATORS), names(right)
    return check


def nobody_told(r):
    n = sum(len(r.told("hang", h)) for h in INITIATORS) + len(r.log["hang"])
    return n == 0, f"{n} notices"


def zone_alone_fails(r):
    failed = {h: x["inof"]["messages_failed"] for h, x in r.reports.items()}
    errors = [x["error"] for x in r.reports.values() if x["error"]]
    return (failed["i1"] == failed["i2"] == 0 < failed["i3"] and not errors,
            errors[0] if errors else ", ".join(f"{n} of {h}" for h, n in failed.items()))


def balanced(r):
    bad = [f"sw{n}" for n, status in r.status.items() if status != 0]
    return not bad, " ".join(bad) or "sw1 and sw2"


CHECKS = {
    "come": [("hosts of the other switch come by BGP", by_bgp),
             ("initiators use the first path", first_path)],
    "zone": [("I/O of i3 ends, that of others does not", zone_ends_io)],
    "join": [("only i3 and its targets are told", zone_told),
             ("i3 has both paths again", joined)],
    "cut": [("all are told link-down, and answer", told_of("cut")),
            ("I/O moves from t1 to t2", moves("cut"))],
    "mend": [("t1 is back, and no I/O moves", stays("mend"))],
    "storm": [("all are told pfc-storm, and answer", told_of("storm")),
              ("I/O moves from t2 to t1", moves("storm"))],
    "calm": [("t2 is back, and no I/O moves", stays("calm"))],
    "hang": [("no switch tells of a host that hangs", nobody_told),
             ("the keep-alive moves I/O from t1 to t2", moves("hang"))],
    "end": [("messages fail only where the zone ends I/O", zone_alone_fails),
            ("every frame is accounted for", balanced)],
}


def names(hosts):
    return " ".join(hosts) or "none"


def most(times):
    return f"{max(times):,.0f} ms at most" if times else "no time"


def ms(x):
    return f"{x:,.1f}"


class Fabric(Peers):
    """Two switches with a link between them."""

    def __init__(self, programs, policy, name):
        super().__init__(programs, HOMES)
        self.policy, self.name = policy, name

    def build(self):
        super().build()
        self.veth(SPACES[1], "trunk", SPACES[2], "trunk")

    def name_of(self, n):
        return {1: self.name, 2: f"{self.name}.2"}[n]

    def policy_of(self, n):
        text = self.policy
        for old, new in (("name: sw1", f"name: {self.name_of(n)}"),
                         ('"p[1-2]", device: "xdp:sw[1-2]"',
                          {1: '"p[1-2]", device: "xdp:sw[1-2]"',
                           2: '"p[3-5]", device: "xdp:sw[3-5]"'}[n])):
            if text.count(old) != 1:
                raise Failed(f"conf/inof-fabric.yaml holds {old!r} {text.count(old)} times, not "
                             "once")
            text = text.replace(old, new)
        return text


class InofPlay(Story):
    def __init__(self, *args):
        super().__init__(*args)
        self.checks = []

    def act(self, n):
        scene(self.screen, n, len(TITLES), TITLES[n], PICTURE, TEXTS)
        self.result, self.hosts = Result(), {}
        with staged(Fabric(self.programs, self.policy, self.name), self.logs, n) as self.world:
            self.play()
        r = self.result
        self.table()
        return {"act": n, "title": TITLES[n], "world": "live", "checks": self.checks,
                "at": r.at, "events": r.events, "log": r.log, "peers": r.peers, "bytes": r.bytes,
                "reports": r.reports, "status": r.status}

    # ---- the story

    def play(self):
        self.screen.say(f"  sw1 is `{self.name}` to weirctl, and sw2 is `{self.name}.2`.")
        self.screen.status("  the switches, FRR and weir-inof start")
        self.world.start()
        self.come()
        self.zone()
        self.cut()
        self.storm()
        self.hang()
        self.end()

    def come(self):
        self.screen.status("  the initiators start")
        for name in INITIATORS:
            self.host(name, "initiator", *IO)
        self.begin("come")
        self.host("t1", "target", "--nqn", DISK)
        self.each(lambda e: self.saw(e, "start", "t1"), "I/O to t1")
        self.host("t2", "target", "--nqn", DISK)
        self.each(lambda e: self.saw(e, "notice", "t2"), "t2 is told")
        r = self.result
        eventually(lambda: all(len(p) == m for p, m in zip(self.peers().values(), (3, 2))),
                   "hosts of the other switch")
        r.peers = self.peers()
        self.finish("come")

    def zone(self):
        r = self.result
        self.begin("zone")
        words = ["inof", "zone", "add", "db", *(f"10.0.0.{HOSTS[h]}" for h in ("t1", "t2", "i1",
                                                                             "i2"))]
        self.at_both(words)
        eventually(lambda: {"t1", "t2"} <= {p for p, s, _ in self.told_now("i3") if s == "offline"},
                   "i3 is told")
        time.sleep(LAST_S)
        before = self.carried()
        eventually(lambda: all(self.carried()[h] >= before[h] + CARRIED for h in ("i1", "i2")),
                   "I/O of i1 and i2 goes on")
        after = self.carried()
        r.bytes = {h: after[h] - before[h] for h in after}
        self.finish("zone")
        self.begin("join")
        self.at_both(["inof", "zone", "remove", "db"])
        eventually(lambda: {"t1", "t2"} <= {p for p, s, _ in self.told_now("i3") if s == "online"}
                   and self.saw(self.events("i3"), "resume"), "i3 is told")
        self.finish("join")

    def cut(self):
        self.begin("cut")
        self.carrier("t1", "down")
        self.gone("cut")
        self.begin("mend")
        self.carrier("t1", "up")
        self.back("mend", "t1")

    def storm(self):
        self.begin("storm")
        pauser = self.world.spawn(f"h{HOSTS['t2']}", "storm", "/usr/bin/python3", "-c", PAUSER,
                                  f"e{HOSTS['t2']}", str(STORM_S))
        eventually(pauser.out, "the storm begins")
        self.result.at["storm"] = float(pauser.out())
        self.gone("storm")
        self.begin("calm")
        pauser.kill()
        self.back("calm", "t2")

    def hang(self):
        self.begin("hang")
        process = self.hosts["t1"].process.p
        process.send_signal(signal.SIGSTOP)
        try:
            self.each(lambda e: self.saw(e, "resume"), "I/O goes on")
        finally:
            process.send_signal(signal.SIGCONT)
        self.finish("hang")

    def end(self):
        r = self.result
        for name in (*INITIATORS, *TARGETS):
            self.screen.status(f"  {name} ends")
            self.hosts[name].process.stop()
        r.reports = {h: self.hosts[h].report() for h in INITIATORS}
        self.screen.status("  the switches end")
        for p in (*self.world.programs_of.values(), *self.world.reflectors.values()):
            p.stop()
        r.status = {n: s.stop() for n, s in self.world.switches.items()}
        self.check("end")

    # ---- what is done

    def host(self, name, role, *words):
        self.hosts[name] = Host(self.world, self.programs, HOSTS[name], name, "--inof", role,
                                *words).ready()

    def carrier(self, name, state):
        self.world.run(f"h{HOSTS[name]}", "ip", "link", "set", f"e{HOSTS[name]}", state)

    def at_both(self, words):
        for switch in self.world.switches.values():
            self.screen.say(f"  $ weirctl -s {switch.name} {' '.join(words)}", DIM, indent=6)
            switch.ctl(*words)

    def gone(self, part):
        gone, _, _ = FAULTS[part]
        self.each(lambda e: self.saw(e, "notice", gone) and self.saw(e, "resume"), "I/O goes on")
        self.finish(part)

    def back(self, part, name):
        self.each(lambda e: self.saw(e, "notice", name), f"{name} is back")
        self.finish(part)

    # ---- what is seen

    def begin(self, part):
        title, text = PARTS[part]
        self.screen.clear_status()
        self.screen.say(f"\n  {list(PARTS).index(part) + 1}. {title}", BOLD)
        self.screen.say(f"  {text}")
        self.result.at[part] = time.monotonic()

    def events(self, name):
        """Those of a host in this part; addresses are names."""
        earlier = sum(len(p[name]) for p in self.result.events.values())
        return [{**e, "peer": NAMES[e["peer"]]} if "peer" in e else e
                for e in self.hosts[name].inof_log()[earlier:]]

    def told_now(self, name):
        return [(e["peer"], e["state"], e["reason"]) for e in self.events(name)
                if e["step"] == "notice"]

    @staticmethod
    def saw(events, step, peer=None):
        return any(e["step"] == step and peer in (None, e["peer"]) for e in events)

    def each(self, condition, text):
        for name in INITIATORS:
            eventually(lambda name=name: condition(self.events(name)), f"{text}: {name}")

    def peers(self):
        """By switch: the hosts that it knows from the other one."""
        return {str(n): sorted(NAMES[h["ip"]] for h in s.show("inof", "hosts")["hosts"]
                               if h["port"] == "peer" and h["state"] == "online")
                for n, s in self.world.switches.items()}

    def carried(self):
        """Bytes of class 3 that have come from each initiator."""
        out = {}
        for name in INITIATORS:
            i = HOSTS[name]
            rows = self.world.switches[HOMES[i]].show("buffers")["pgs"]
            out[name] = pick(rows, port=f"p{i}", **{"class": 3})["rx_bytes"]
        return out

    def answered(self):
        """The notices of this part: rows of the logs of both switches, once the last one of each
        host about each other one is answered."""
        earlier = {n: sum(row["at"] == f"sw{n}" for rows in self.result.log.values()
                          for row in rows) for n in self.world.switches}
        rows = []

        def all_answered():
            rows[:] = [{**row, "at": f"sw{n}", **{k: NAMES[row[k]] for k in ("receiver", "about")}}
                       for n, s in self.world.switches.items()
                       for row in s.show("inof", "log")["notices"][earlier[n]:]]
            last = {(row["receiver"], row["about"]): row["answered_us"] for row in rows}
            return all(us is not None for us in last.values())
        eventually(all_answered, "all notices are answered")
        return rows

    def finish(self, part):
        """The end of a part: what the hosts did in it, and the checks."""
        r = self.result
        r.log[part] = self.answered()
        r.events[part] = {h: self.events(h) for h in INITIATORS}
        self.rows(part)
        if part in FAULTS and r.log[part]:
            self.show_log(*FAULTS[part][:2])
        self.check(part)

    def rows(self, part):
        """What each initiator was told in the part, and what it did."""
        r = self.result
        self.screen.row([(c, BOLD) for c in aligned(HEADS, WIDTHS, 5)])
        for name in INITIATORS:
            told = [f"{p} {state} {reason}" for p, state, reason in r.told(part, name)]
            first = r.of(part, name, "notice")
            after = (f"{ms(1e3 * (first[0]['t'] - r.at[part]))} ms"
                     if first and part != "come" else "")
            after = f"{after:>10}  "
            cells = aligned((f"  {name}", f"sw{HOMES[HOSTS[name]]}", told[0] if told else "nothing",
                             after, self.io(r.did(part, name), r.of(part, name, "resume"))),
                            WIDTHS, 5)
            self.screen.row(cells)
            for text in told[1:]:
                self.screen.row(aligned(("", "", text), WIDTHS[:3], 3))

    def show_log(self, name, reason):
        """What the switches know of who was told."""
        for switch in self.world.switches.values():
            self.screen.say(f"\n  $ weirctl -s {switch.name} show inof log")
            lines = switch.ctl("show", "inof", "log").splitlines()
            for line in lines[:2] + [line for line in lines[2:] if reason in line.split() and
                                     f"10.0.0.{HOSTS[name]}" in line.split()]:
                self.screen.row(f"  {line}")

    @staticmethod
    def io(did, resumed):
        if not did:
            return "as before"
        step, peer, _ = did[-1]
        outage = f" after {int(resumed[-1]['outage_us']) / 1e3:,.1f} ms" if resumed else ""
        return {"start": f"begins at {peer}", "resume": f"at {peer}{outage}",
                "connect": f"connects to {peer}", "disconnect": "ends"}[step]

    def check(self, part):
        self.checks += self.judge(CHECKS[part], self.result)

    # ---- the end

    def table(self):
        """For each fault: the times until initiators are told, and until I/O goes on."""
        r = self.result
        self.screen.say()
        for widths, line in END_HEADS:
            self.screen.row([(c, BOLD) for c in aligned(line, widths, 2)])
        for part, (_, reason, _) in FAULTS.items():
            cells = (f"  {SHORT[part]}", reason, *three(r.after_ms(part)),
                     *three(r.outages_ms(part)))
            self.screen.row(aligned(cells, END_WIDTHS, 2))

    def seen(self, _):
        r = self.result
        for part in ("cut", "storm"):
            yield (f"{SHORT[part]}: the initiators were told after {most(r.after_ms(part))}; I/O "
                   f"stood still for {most(r.outages_ms(part))}")
        yield (f"{SHORT['hang']}: the keep-alive found that; I/O stood still for "
               f"{most(r.outages_ms('hang'))}")


def three(times):
    return ([ms(f(times)) for f in (min, statistics.median, max)] if times else ["-"] * 3)
