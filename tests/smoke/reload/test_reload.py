#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reloads the policy of one running `weir` on three AF_XDP ports, by command and by SIGHUP, with
numbered traffic between the hosts all the while.

usage: test_reload.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without. Each test is one sentence of behaviour; they run in the order written.
Each begins and ends on the plain policy. Leaves nothing behind.
"""
import ctypes
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "daemon"))
from world import (HOSTS, ID, LATE_S, NAME, SOCK, TOS_CLASS3, Switch, World, ctl,  # noqa: E402
                   eventually, held_balance, ns, ping, row, sh, show, want, want_eq)

FLOW = os.path.join(HERE, "flow.py")
WEIRCTL = os.path.abspath(sys.argv[2])
TGKILL = 234 # system call of x86-64
PLAIN = {
    "workers": "1", "buffer": "4MB", "device": "s[1-2]", "speed": "1G", "speed3": "1G",
    "stall": "{pause_after: off}", "mtu": "1500", "vlan": "", "vlan3": "",
    "weight0": "50", "weight1": "50",
    "class3": "{lossless: true, schedule: {dwrr: 50}, ingress: {alpha: 1}}", "more": "",
}
LOSSY3 = "{schedule: {dwrr: 50}}"
TEXT = """\
switch: {name: %(name)s, stall: %(stall)s, workers: %(workers)s, buffer: {size: %(buffer)s}}
ports:
  - {name: "p[1-2]", device: "xdp:%(id)s%(device)s", speed: %(speed)s, mtu: %(mtu)s%(vlan)s}
  - {name: p3, device: "xdp:%(id)ss3", speed: %(speed3)s, mtu: %(mtu)s%(vlan3)s}
profiles:
  default:
    dscp_to_class: {default: 0, 8-15: 1, 24-31: 3}
    classes:
      0: {schedule: {dwrr: %(weight0)s}}
      1: {schedule: {dwrr: %(weight1)s}}
      3: %(class3)s
%(more)s"""
TOS_CLASS1 = "0x20"  # DSCP 8


def text_of(**changes):
    return TEXT % {"name": NAME, "id": ID, **PLAIN, **changes}


class File:
    """The policy file that the switch was started with."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "policy.yaml")
        self.put()

    def put(self, **changes):
        with open(self.path, "w") as f:
            f.write(text_of(**changes))

    def reload(self, **changes):
        self.put(**changes)
        return ctl("reload").stdout

    def refused(self, *args, **changes):
        """The messages."""
        if changes:
            self.put(**changes)
        r = ctl("reload", *args, check=False)
        want_eq((r.returncode, r.stdout), (2, ""), f"exit and output: {r.stderr}")
        want(r.stderr.endswith("\nnothing was changed\nMore about it: docs/reload.md\n"), r.stderr)
        return r.stderr.splitlines()[:-2]


def lost():
    """Where frames can be lost, and how many were since the switch started."""
    links = [(n, row["ifname"], row["stats64"][way]["dropped"]) for n in ("s", "h1", "h2", "h3")
             for row in json.loads(sh(*ns(n), "ip", "-s", "-j", "link").stdout)
             for way in ("rx", "tx")]
    return (f"    dropped: {show('drops')['drops']}, missed: "
            f"{[p['rx_missed'] for p in show('ports')['ports']]}, links: {links}")


class Flow:
    """Datagrams from host a to host b. Use it in a `with` block; verdict afterwards."""

    ports = iter(range(9000, 9999))

    def __init__(self, a, b, tos="0", size=1000, per_second=1500):
        self.a, self.b, self.args = a, b, [tos, str(size), str(per_second)]
        self.port = str(next(self.ports))
        self.book = tempfile.NamedTemporaryFile()
        self.book.truncate(16)

    def start(self, host, *args):
        p = subprocess.Popen([*ns(f"h{host}"), "/usr/bin/python3", "-B", FLOW, *args,
                              self.book.name], stdout=subprocess.PIPE, text=True)
        want_eq(p.stdout.readline(), "ready\n", "the flow's program")
        return p

    def __enter__(self):
        # Datagrams that wait for ARP's answer are sent behind the first one after it.
        eventually(lambda: ping(self.a, self.b, count=1), f"h{self.a} knows h{self.b}")
        self.receiver = self.start(self.b, "receive", self.port)
        self.sender = self.start(self.a, "send", f"10.77.0.{self.b}", self.port, *self.args)
        return self

    def __exit__(self, *exc):
        self.sent = int(self.end(self.sender) or 0)
        self.got = json.loads(self.end(self.receiver) or "{}")
        self.book.close()

    @staticmethod
    def end(p):
        p.terminate()
        try:
            return p.communicate(timeout=LATE_S)[0]
        except subprocess.TimeoutExpired:
            p.kill()
            return p.communicate()[0]

    def passes(self, n=100):
        """Waits until so many more have arrived."""
        def seen():
            return struct.unpack("=Q", os.pread(self.book.fileno(), 8, 0))[0]
        at = seen()
        eventually(lambda: seen() >= at + n, f"{n} datagrams pass")

    def want_all(self):
        want(self.sent > 0, "no datagram was sent")
        whole = {"received": self.sent, "missing": 0, "disordered": 0}
        if self.got != whole:
            print(lost())
        want_eq(self.got, whole, f"{self.sent} datagrams sent")


def lossless_classes():
    return sorted({r["class"] for r in show("pfc", "p1")["pfc"] if r["lossless"]})


def totals():
    """All that only grows, as one list."""
    out = [v for k, v in show("balance")["balance"].items() if k not in ("queued", "balanced")]
    for what, keys in (("ports", "rx_packets rx_bytes tx_packets tx_bytes"),
                       ("queues", "tx_packets tx_bytes dropped_packets")):
        out += [r[k] for r in show(what)[what] for k in keys.split()]
    return out


def events(kind, since=0):
    return [e for e in show("events")["events"] if e["event"] == kind and e["seq"] > since]


def logged(sw, pattern, times=1):
    """Waits for such lines, as a thread of its own writes them; there are no more."""
    eventually(lambda: len(re.findall(pattern, sw.text(sw.err), re.M)) >= times, f"log: {pattern}")
    want_eq(len(re.findall(pattern, sw.text(sw.err), re.M)), times, f"log: {pattern}")


def last_event():
    return max((e["seq"] for e in show("events")["events"]), default=0)


# ---- what is told


def t_a_reload_says_what_has_changed(sw, file):
    out = file.reload(weight0="60", speed="900M")
    want_eq(out, f"reloaded {file.path}: 2 keys changed\n  profiles.default.classes.0.schedule."
                 "dwrr: 50 -> 60\n  ports[0].speed: 1G -> 900M\n", "changed keys")
    want_eq(row(show("ports")["ports"], name="p1")["speed_bps"], 900000000, "speed of p1")
    want_eq(row(show("ports")["ports"], name="p3")["speed_bps"], 1000000000, "speed of p3")
    want_eq(show("config")["config"]["text"], text_of(weight0="60", speed="900M"), "show config")
    told = events("reload")[-1]
    want_eq((told["changed"], told["severity"], "port" in told), (2, "info", False), str(told))
    want_eq(ctl("reload").stdout, f"reloaded {file.path}: nothing changed\n", "the same again")
    file.put()
    data = json.loads(ctl("reload", "--json").stdout)
    want_eq((data["reloaded"], data["file"], len(data["changed"]), data["warnings"]),
            (True, file.path, 2, []), "JSON")


def t_a_reload_of_another_file_makes_it_the_running_one(sw, file):
    folder = os.path.dirname(file.path)
    other = os.path.join(folder, "other.yaml")
    with open(other, "w") as f:
        f.write(text_of(weight0="70"))
    r = subprocess.run([WEIRCTL, "-s", NAME, "reload", "./other.yaml"], cwd=folder,
                       stdout=subprocess.PIPE, text=True)
    want_eq((r.returncode, r.stdout.splitlines()[0]),
            (0, f"reloaded {folder}/./other.yaml: 1 key changed"), "a relative path")
    want_eq(show("config")["config"]["file"], f"{folder}/./other.yaml", "show config")
    with open(other, "w") as f:
        f.write(text_of(weight0="71"))
    want(ctl("reload").stdout.startswith(f"reloaded {folder}/./other.yaml: 1 key"), "it is read")
    want(ctl("reload", file.path).stdout.startswith(f"reloaded {file.path}: 1 key"), "and back")
    want_eq(ctl("reload", "a", "b", check=False).returncode, 2, "two files")


def t_warnings_are_told_and_do_no_harm(sw, file):
    file.put(more="vlans: [{id: 10}]\n", vlan=", vlan: {untagged: 10}",
             vlan3=", vlan: {untagged: 20}")
    r = ctl("reload")
    want(re.search(r"policy\.yaml:\d+:\d+: warning: ports\[1\] \(p3\)\.vlan\.untagged: VLAN 20",
                   r.stderr), r.stderr)
    want("keys changed" in r.stdout, r.stdout)
    file.reload()


# ---- what is refused


def t_all_mistakes_are_told_and_nothing_changes(sw, file):
    before = show("config"), show("buffers", "p1")["pgs"][3]["xoff_at_bytes"]
    at = totals()
    with Flow(1, 2, TOS_CLASS3) as flow:
        flow.passes()
        lines = file.refused(weight0="1001", speed="1X", class3="{losless: true}")
        file.put()
        flow.passes()
    want_eq([re.sub(r".*policy\.yaml:(\d+):\d+: ([^:]+): .*", r"\1 \2", l) for l in lines],
            ["3 ports[0] (p[1-2]).speed", "9 profiles.default.classes.0.schedule.dwrr",
             "11 profiles.default.classes.3.losless"], "mistakes in file order")
    flow.want_all()
    want_eq((show("config"), show("buffers", "p1")["pgs"][3]["xoff_at_bytes"]), before,
            "what runs")
    want(all(b >= a for a, b in zip(at, totals())), "counters only grow")
    want_eq(events("reload-failed")[-1]["mistakes"], 3, "the event")
    data = json.loads(ctl("reload", "--json", "/nonexistent.yaml", check=False).stdout)
    want_eq((data["reloaded"], data["mistakes"]),
            (False, ["/nonexistent.yaml: cannot open: No such file or directory"]), "JSON")


def t_a_bad_watchdog_is_refused_and_the_old_one_stays(sw, file):
    def watchdog(text):
        return f"    watchdog: {text}\n"

    want("keys changed" in file.reload(more=watchdog("{detect: 200ms, action: alert}")), "added")
    before = show("config")
    for key, value, why in (
            ("detect", "900us", "900us is below the minimum 1ms"),
            ("detect", "400a", '"400a": expected a time such as 10us (ns us ms s)'),
            ("action", "invalid", '"invalid": expected one of drop, forward, alert')):
        want_eq(file.refused(more=watchdog(f"{{{key}: {value}}}")),
                [f"{file.path}:12:24: profiles.default.watchdog.{key}: {why}"], value)
    want_eq(show("config"), before, "what runs")
    file.reload()


def t_restart_only_keys_are_refused_by_name(sw, file):
    before = show("config")
    lines = file.refused(workers="2", buffer="5MB", device="x[1-2]")
    want_eq([re.sub(r".*policy\.yaml:\d+:\d+: ", "", l) for l in lines],
            ["switch.workers: changes only by a restart",
             "switch.buffer.size: changes only by a restart",
             "ports[0] (p[1-2]).device: changes only by a restart"], "refused")
    lines = file.refused(mtu="3000")
    want_eq([re.sub(r".*policy\.yaml:\d+:\d+: ", "", l) for l in lines],
            [f"ports[{i}] ({name}).mtu: MTU 3000 needs frames of 3022 B, but xdp:{ID}s{p} was "
             "opened for at most 1522 B: 1500 is the largest MTU until a restart"
             for i, name, p in ((0, "p[1-2]", 1), (0, "p[1-2]", 2), (1, "p3", 3))], "a larger MTU")
    lines = file.refused(more="fdb: [{mac: \"02:00:00:00:00:99\", port: p9}]\n", buffer="5MB")
    want("fdb[0].port: there is no port p9" in lines[0], str(lines))
    file.put()
    want_eq(show("config"), before, "what runs")


def t_what_is_no_policy_file_is_refused_and_nobody_waits(sw, file):
    folder = os.path.dirname(file.path)
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    for path, why in ((pipe, "cannot open: it is no regular file"),
                      (folder, "cannot open: it is no regular file"),
                      (folder + "/none", "cannot open: No such file or directory"),
                      ("/dev/zero", "cannot open: it is no regular file")):
        want_eq(file.refused(path), [f"{path}: {why}"], path)
    os.unlink(pipe)
    s = socket.socket(socket.AF_UNIX)
    s.connect(SOCK)
    with s, s.makefile("rw") as lines:
        for path in ("policy.yaml", "", "../policy.yaml"):
            lines.write(json.dumps({"cmd": "reload", "file": path}) + "\n")
            lines.flush()
            want_eq(json.loads(lines.readline()),
                    {"ok": False, "error": "the file of a reload is an absolute path"}, path)


# ---- confirm


def kept():
    """Of 20 datagrams to UDP port 7 of p1's own address."""
    link = subprocess.run([*ns("s"), "ip", "-j", "link", "show", f"{ID}s1"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    mac = json.loads(link)[0]["address"]
    subprocess.run([*ns("h1"), "ip", "neigh", "replace", "10.77.0.99", "lladdr", mac, "dev",
                    f"{ID}e1", "nud", "permanent"], check=True)
    def to_kernel():
        return row(show("ports")["ports"], name="p1")["rx_to_kernel"]

    before = to_kernel()
    subprocess.run([*ns("h1"), "bash", "-c",
                    "for i in {1..20}; do echo x >/dev/udp/10.77.0.99/7; done"], check=True)
    want(ping(1, 2, count=1), "a frame behind them passes")
    return to_kernel() - before


def asked(*requests):
    """The answers to requests that the switch gets at once."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(LATE_S)
        s.connect(SOCK)
        with s.makefile("rw") as lines:
            lines.write("".join(json.dumps(r) + "\n" for r in requests))
            lines.flush()
            return [json.loads(lines.readline()) for _ in requests]


def stop_before_it_is_due(sw, **more):
    """A reload that has to be confirmed within a second, and SIGSTOP; no program runs between."""
    answer, = asked({"cmd": "reload", "confirm_within_ms": 1000, **more})
    want(answer["ok"], f"{answer}")
    sw.p.send_signal(signal.SIGSTOP)


def runs():
    return show("config")["config"]["text"]


def confirm_in_ms():
    return show("version")["version"]["confirm_in_ms"]


def t_a_policy_without_a_confirm_goes_back_without_losing_a_frame(sw, file):
    at, before = last_event(), runs()
    other = os.path.join(os.path.dirname(file.path), "other.yaml")
    with open(other, "w") as f:
        f.write(text_of(weight0="61", class3=LOSSY3, vlan=", keep: [lldp, udp/7]"))
    file.put(weight0="99")  # the text that ran comes back, not the text of its file
    with Flow(1, 2, TOS_CLASS3) as flow:
        out = ctl("reload", other, "--confirm-within", "60s").stdout
        want(out.endswith("the policy before comes back in 60s, unless: weirctl confirm\n"), out)
        want(0 < confirm_in_ms() <= 60000, "the time that is left")
        want(ctl("show", "ports").stdout.startswith(
            "UNCONFIRMED: the policy before comes back in "), "above each table")
        want_eq((show("config")["config"]["file"], lossless_classes()), (other, []), "in force")
        want_eq(kept(), 20, "with udp/7")
        ctl("rollback")
        flow.passes()
        at = last_event()
        ctl("reload", other, "--confirm-within", "1s")
        eventually(lambda: len(events("reload", at)) == 2, "the reload back")
        flow.passes()
    flow.want_all()
    there, back = (e["t_ns"] for e in events("reload", at))
    want(back - there >= 1e9, f"the policy before came back after {(back - there) / 1e6} ms")
    want_eq((show("config")["config"]["file"], runs()), (file.path, before), "the policy before")
    want_eq((lossless_classes(), kept(), confirm_in_ms()), ([3], 0, 0), "all of it is back")
    want_eq([e["severity"] for e in events("rollback", at)], ["warning"], "the event")
    eventually(lambda: f"{NAME} warning rollback: " in sw.text(sw.err), "the log")
    file.reload()


def t_a_confirm_keeps_the_policy(sw, file):
    at = last_event()
    file.put(weight0="63")
    reloaded, confirmed = asked({"cmd": "reload", "confirm_within_ms": 1000}, {"cmd": "confirm"})
    want(reloaded["ok"] and confirmed["ok"], f"{reloaded} {confirmed}")
    time.sleep(1.3)
    want_eq((runs(), confirm_in_ms()), (text_of(weight0="63"), 0), "after the time")
    want_eq(events("rollback", at), [], "no event")
    r = ctl("confirm", check=False)
    want_eq((r.returncode, r.stderr.splitlines()[0]), (1, "no policy waits for a confirm"), "twice")
    want("no policy waits for a confirm" in ctl("rollback", check=False).stderr, "no way back")
    r = ctl("reload", "--confirm-within", "999ms", check=False)
    want_eq(r.returncode, 2, r.stderr)
    file.reload()


def t_until_the_confirm_another_reload_is_refused_and_rollback_is_at_once(sw, file):
    at, before = last_event(), runs()
    file.put(weight0="64")
    ctl("reload", "--confirm-within", "60s")
    for args in ((), ("--confirm-within", "60s"), ("--check",)):
        said = file.refused(*args, weight0="65")
        want("weirctl confirm" in said[0] and "weirctl rollback" in said[0], said)
    failed = len(events("reload-failed", at))
    sw.p.send_signal(signal.SIGHUP)
    eventually(lambda: len(events("reload-failed", at)) == failed + 1, "SIGHUP is refused too")
    eventually(lambda: "weirctl rollback" in sw.text(sw.err), "the log")
    want_eq((runs(), 50000 < confirm_in_ms() <= 60000), (text_of(weight0="64"), True), "it waits")
    want_eq(ctl("rollback").stdout.splitlines()[0], f"reloaded {file.path}: 1 key changed", "back")
    want_eq((runs(), confirm_in_ms()), (before, 0), "the policy before")
    want_eq(len(events("rollback", at)), 1, "the event")
    file.reload()


def t_a_policy_that_cannot_be_put_back_is_reported_and_tried_again(sw, file):
    def address(verb):
        subprocess.run([*ns("s"), "ip", "addr", verb, "192.0.2.1/24", "dev", f"{ID}s1"], check=True)

    at, before = last_event(), runs()
    file.put(weight0="66")
    stop_before_it_is_due(sw)
    try:
        address("add")  # a host that uses the device refuses each `keep` without it
    finally:
        sw.p.send_signal(signal.SIGCONT)
    try:
        eventually(lambda: events("reload-failed", at), "the attempt failed")
        eventually(lambda: f"{file.path} cannot be put back yet" in sw.text(sw.err), "the log")
        want_eq((runs(), 0 < confirm_in_ms() <= 5000), (text_of(weight0="66"), True),
                "still in force")
        want_eq(ctl("rollback", check=False).returncode, 2, "refused as well")
    finally:
        address("del")
    eventually(lambda: runs() == before, "the next attempt")
    want_eq(len(events("rollback", at)), 1, "the event")
    file.reload()


# ---- SIGHUP


def t_sighup_reads_the_running_file_again(sw, file):
    at = last_event()
    file.put(weight0="80")
    sw.p.send_signal(signal.SIGHUP)
    eventually(lambda: len(events("reload", at)) == 1, "the event")
    want_eq(show("config")["config"]["text"], text_of(weight0="80"), "show config")
    eventually(lambda: re.search(rf"{NAME} info reload: .* changed=1$", sw.text(sw.err), re.M),
               "the log of the reload")
    at = last_event()
    file.put(weight0="0", buffer="5MB")
    sw.p.send_signal(signal.SIGHUP)
    eventually(lambda: len(events("reload-failed", at)) == 1, "the event of the refusal")
    mistakes = rf"{NAME} error reload: {re.escape(file.path)}:\d+:\d+: "
    logged(sw, mistakes) # the weight; with it nothing else is compared
    file.put(buffer="5MB", workers="2")
    sw.p.send_signal(signal.SIGHUP)
    eventually(lambda: len(events("reload-failed", at)) == 2, "the event of the next refusal")
    logged(sw, mistakes + r"switch\.", 2)
    want_eq(show("config")["config"]["text"], text_of(weight0="80"), "still the one before")
    file.reload()


# ---- what a reload does to traffic


def t_a_class_turns_lossy_and_lossless_again_without_losing_a_frame(sw, file):
    want_eq(lossless_classes(), [3], "before")
    at = totals()
    with Flow(1, 2, TOS_CLASS3) as a, Flow(3, 2, TOS_CLASS3) as b:
        for _ in range(5):
            file.reload(class3=LOSSY3)
            want_eq(lossless_classes(), [], "lossy")
            a.passes()
            b.passes()
            file.reload()
            want_eq(lossless_classes(), [3], "lossless")
            a.passes()
            b.passes()
    a.want_all()
    b.want_all()
    want(all(x >= y for x, y in zip(totals(), at)), "counters only grow")
    want_eq(held_balance()["balance"]["queued"], 0, "queued at rest")


def t_frames_that_wait_survive_a_reload(sw, file):
    """Queues filled while lossless, drained while lossy; the books end at zero."""
    def waiting():
        return row(show("queues")["queues"], port="p2", queue=3)["length_packets"]

    with Flow(1, 2, TOS_CLASS3, per_second=500) as flow:
        ctl("set", "queue", "p2", "3", "tx", "off")
        eventually(lambda: waiting() > 100, "frames wait")
        file.reload(class3=LOSSY3)
        ctl("set", "queue", "p2", "3", "tx", "on")
        flow.passes(300)
        file.reload()
        flow.passes()
    flow.want_all()
    b = show("buffers")
    want_eq({p["used_bytes"] for p in b["pools"]}, {0}, "pools at rest")
    want_eq({(g["shared_bytes"], g["headroom_bytes"], g["skid_bytes"]) for g in b["pgs"]},
            {(0, 0, 0)}, "groups at rest")


def t_a_paused_class_that_turns_lossy_is_let_go(sw, file):
    def pauses():
        return row(show("pfc", "p1")["pfc"], **{"class": 3})

    file.reload(class3="{lossless: true, ingress: {static: 20KB}}")
    ctl("set", "queue", "p2", "3", "tx", "off")
    try:
        with Flow(1, 2, TOS_CLASS3, per_second=200) as flow:
            eventually(lambda: pauses()["xoff"], "the group of p1 is in XOFF")
            at, sent = last_event(), pauses()["tx_pause"]
            file.reload(class3=LOSSY3)
            want(not pauses()["xoff"], "not in XOFF any more")
            want_eq(len(events("pfc-xon", at)), 1, "XON was an event")
            told = pauses()["tx_pause"]
            want(told > sent, "a frame told the peer")
            time.sleep(0.2)
            want_eq(pauses()["tx_pause"], told, "the PAUSE is refreshed no more")
            ctl("set", "queue", "p2", "3", "tx", "on")
        flow.want_all()
    finally:
        ctl("set", "queue", "p2", "3", "tx", "on")
    file.reload()


class Queues:
    """Looks at the queues of p3, over one connection."""

    def __enter__(self):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(LATE_S)
        self.s.connect(SOCK)
        self.lines = self.s.makefile("rw")
        return self

    def __exit__(self, *exc):
        self.lines.close()
        self.s.close()

    def look(self):
        """(time before, time after, rows of the queues of p3)."""
        before = time.monotonic()
        self.lines.write('{"cmd": "show", "what": "queues", "port": "p3"}\n')
        self.lines.flush()
        answer = json.loads(self.lines.readline())
        return before, time.monotonic(), [q for q in answer["data"]["queues"] if q["port"] == "p3"]

    def full_window(self, seconds, *queues):
        """Two looks between which none of the queues was empty: each had more than it has sent."""
        end = time.monotonic() + LATE_S
        while time.monotonic() < end:
            one = self.look()
            time.sleep(seconds)
            two = self.look()
            if all(row(one[2], queue=q)["length_bytes"] > sent(one, two, q) for q in queues):
                return one, two
        raise AssertionError(f"the queues {queues} are empty at times")


def sent(one, two, queue, key="tx_bytes"):
    a, b = (row(look[2], queue=queue)[key] for look in (one, two))
    return b - a


def t_the_speed_of_a_port_changes_live(sw, file):
    """No window may be faster; a busy machine may be slower, but not in every window."""
    with Flow(1, 3, per_second=3000) as flow, Queues() as queues:
        for speed in (2, 4, 3):
            file.reload(speed3=f"{speed}M")
            flow.passes()
            fastest, end = 0, time.monotonic() + LATE_S
            windows = 0
            while windows < 3 or (fastest < 0.9 and time.monotonic() < end):
                one, two = queues.full_window(0.3, 0)
                bits = 8 * (sent(one, two, 0) + 24 * sent(one, two, 0, "tx_packets"))
                # As fast as it can have been at least, so a late look is no speed.
                fastest = max(fastest, bits / (two[1] - one[0]) / speed / 1e6)
                windows += 1
            print(f"    {speed} Mb/s: {fastest:.3f} of it, the fastest of {windows}")
            want(0.9 <= fastest <= 1.05, f"{fastest:.3f} of {speed} Mb/s")
        file.reload()


def t_weights_change_live(sw, file):
    """While frames wait in both queues."""
    with Flow(1, 3, per_second=2500), Flow(2, 3, TOS_CLASS1, per_second=2500), \
            Queues() as queues:
        for w0, w1 in ((50, 50), (80, 20), (20, 80)):
            file.reload(speed3="5M", weight0=str(w0), weight1=str(w1))
            shares = []
            for _ in range(3):
                one, two = queues.full_window(0.2, 0, 1)
                shares.append(sent(one, two, 0) / (sent(one, two, 0) + sent(one, two, 1)))
            share = statistics.median(shares)
            print(f"    {w0}:{w1}: {share:.3f}")
            want(abs(share - w0 / (w0 + w1)) < 0.03, f"share {share:.3f} at {w0}:{w1}")
        file.reload()


def t_a_smaller_mtu_holds_at_once_and_may_grow_back(sw, file):
    full = ("-s", "1472", "-M", "do")
    want(ping(1, 2, *full), "before")
    file.reload(mtu="1000")
    want(not ping(1, 2, *full, count=2, wait=1), "1,500 does not pass")
    want(ping(1, 2, "-s", "972"), "1,000 passes")
    file.reload()
    want(ping(1, 2, *full), "after")


def t_vlans_come_and_go_live(sw, file):
    want(ping(1, 2) and ping(1, 3), "one bridge")
    file.reload(more="vlans: [{id: 10}, {id: 20}]\n", vlan=", vlan: {untagged: 10}",
                vlan3=", vlan: {untagged: 20}")
    want(ping(1, 2) and not ping(1, 3, count=2, wait=1), "p3 is in another VLAN")
    file.reload()
    want(ping(1, 2) and ping(1, 3), "one bridge again")


def t_what_the_host_keeps_changes_live(sw, file):
    want_eq(kept(), 0, "before")
    file.reload(vlan=", keep: [lldp, udp/7]")
    want_eq(kept(), 20, "with udp/7")
    file.reload()
    want_eq(kept(), 0, "after")


def t_static_addresses_follow_the_file(sw, file):
    def static():
        return sorted((r["mac"], r["port"]) for r in show("fdb")["fdb"] if r["static"])

    def fdb(*rows):
        rows = ", ".join(f'{{mac: "{mac}", port: {port}}}' for mac, port in rows)
        return file.reload(more=f"fdb: [{rows}]\n")

    a, b = "02:00:00:00:00:aa", "02:00:00:00:00:bb"
    want_eq(static(), [], "none at first")
    fdb((a, "p1"), (b, "p2"))
    want_eq(static(), [(a, "p1"), (b, "p2")], "learnt from the file")
    fdb((b, "p3"))
    want_eq(static(), [(b, "p3")], "one is forgotten, one has moved")
    file.reload()
    want_eq(static(), [], "all are forgotten")


# ---- many reloads


def rss_kb(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def storm(file, n, texts):
    """n reloads as fast as one client may, of files that take turns. Returns the refusals."""
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(LATE_S)
    s.connect(SOCK)
    bad = []
    with s, s.makefile("rw") as lines:
        for i in range(n):
            lines.write(json.dumps({"cmd": "reload", "file": texts[i % len(texts)]}) + "\n")
            lines.flush()
            answer = json.loads(lines.readline())
            if not answer["ok"] or not answer["data"]["reloaded"]:
                bad.append(answer)
    return bad


def t_a_storm_of_reloads_loses_no_frame_and_no_memory(sw, file):
    folder = os.path.dirname(file.path)
    texts = []
    for i, changes in enumerate(({"weight0": "60"}, {"class3": LOSSY3}, {"speed3": "500M"},
                                 {"more": 'fdb: [{mac: "02:00:00:00:00:cc", port: p3}]\n'})):
        texts.append(os.path.join(folder, f"storm{i}.yaml"))
        with open(texts[-1], "w") as f:
            f.write(text_of(**changes))
    with Flow(1, 2, TOS_CLASS3) as a, Flow(2, 3) as b:
        want_eq(storm(file, 100, texts), [], "refused")
        before = rss_kb(sw.p.pid)
        began = time.monotonic()
        want_eq(storm(file, 300, texts), [], "refused")
        print(f"    300 reloads in {time.monotonic() - began:.1f} s")
        grown = rss_kb(sw.p.pid) - before
        print(f"    resident memory grew by {grown} KB")
        want(grown < 400, f"memory grew by {grown} KB")
        results = []
        threads = [threading.Thread(target=lambda: results.append(storm(file, 20, texts)))
                   for _ in range(4)]
        for t in threads:
            t.start()
        sw.p.send_signal(signal.SIGHUP)
        for t in threads:
            t.join()
        want_eq(results, [[], [], [], []], "four clients at once are all served")
    a.want_all()
    b.want_all()
    ctl("reload", file.path)


def t_a_client_that_leaves_does_not_stop_its_reload(sw, file):
    at = last_event()
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(SOCK)
            s.sendall(b'{"cmd": "reload"}\n')
    eventually(lambda: events("reload", at), "some went through")
    want(ctl("reload").stdout.endswith("nothing changed\n"), "and the next one works")


def t_frames_balance_and_the_switch_stops_cleanly(sw, file):
    with Flow(1, 2) as flow:
        for i in range(5):
            file.reload(weight0=str(i + 1))
            want_eq(held_balance()["balance"]["queued"], 0, "queued at rest")
    want(flow.sent > 0, "traffic ran")
    file.put()
    sw.p.send_signal(signal.SIGHUP)
    want_eq(sw.stop(), 0, "exit status: every frame accounted for")


def two_workers_reload_as_one_does(folder):
    file = File(folder)
    file.put(workers="2")
    sw = Switch(file.path).ready()
    texts = []
    try:
        eventually(lambda: ping(1, 2) and ping(1, 3), "hosts are up")
        for i, changes in enumerate(({"class3": LOSSY3}, {"weight0": "60"})):
            texts.append(os.path.join(folder, f"two{i}.yaml"))
            with open(texts[-1], "w") as f:
                f.write(text_of(workers="2", **changes))
        with Flow(1, 2, TOS_CLASS3) as a, Flow(2, 1, TOS_CLASS3) as b:
            want_eq(storm(file, 100, texts), [], "refused")
        a.want_all()
        b.want_all()
        want_eq(held_balance()["balance"]["queued"], 0, "queued at rest")
        ctl("reload", texts[1], "--confirm-within", "60s")
        want_eq(sw.stop(), 0, "exit status")
        want(f"{texts[1]} is not confirmed; the next start of weir reads {file.path}"
             in sw.text(sw.err), "the log says which policy is next")
    finally:
        sw.p.kill()
        sw.p.wait()


def a_rollback_due_at_the_end_is_left_to_the_next_start(folder):
    file = File(folder)
    sw = Switch(file.path).ready()
    other = os.path.join(folder, "unconfirmed.yaml")
    with open(other, "w") as f:
        f.write(text_of(weight0="61"))
    try:
        # So the time is over when the signal to end is seen.
        stop_before_it_is_due(sw, file=other)
        # To the thread of control: another one would see it at the same time as control goes on.
        libc = ctypes.CDLL(None, use_errno=True)
        want_eq(libc.syscall(TGKILL, sw.p.pid, sw.p.pid, signal.SIGTERM), 0, "tgkill")
        time.sleep(1.1)
        sw.p.send_signal(signal.SIGCONT)
        want_eq(sw.p.wait(LATE_S), 0, "exit status")
        want(f"{other} is not confirmed; the next start of weir reads {file.path}"
             in sw.text(sw.err), f"the log says which policy is next: {sw.text(sw.err)}")
    finally:
        sw.p.kill()
        sw.p.wait()


def run(failed, only, test, *args):
    name = test.__name__.removeprefix("t_")
    if only and name not in only:
        return
    began = time.monotonic()
    try:
        test(*args)
        print(f"ok   {name.replace('_', ' ')}, {time.monotonic() - began:.1f} s", flush=True)
    except (AssertionError, KeyError, OSError, subprocess.SubprocessError, ValueError) as e:
        print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}", flush=True)
        failed.append(name)


TESTS = [t for n, t in list(globals().items()) if n.startswith("t_")]


def main():
    if os.geteuid() != 0:
        print("needs root for namespaces and AF_XDP")
        return 77
    failed, only = [], sys.argv[3:]
    with World(), tempfile.TemporaryDirectory() as folder:
        file = File(folder)
        sw = Switch(file.path)
        try:
            sw.ready()
            eventually(lambda: all(ping(1, n) for n in range(2, HOSTS + 1)), "hosts are up")
            for test in TESTS:
                run(failed, only, test, sw, file)
                file.put()  # whatever a test that failed has left
                ctl("confirm", check=False)
                ctl("reload", file.path, check=False)
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
        run(failed, only, two_workers_reload_as_one_does, folder)
        run(failed, only, a_rollback_due_at_the_end_is_left_to_the_next_start, folder)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
