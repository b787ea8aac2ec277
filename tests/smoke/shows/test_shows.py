#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What people read of a running switch: tables on terminals of several widths, and changes.

usage: test_shows.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without. Leaves nothing behind.
"""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon")]
from world import (NAME, POLICY, TOS_CLASS3, WEIRCTL, Switch, World, blast, ctl,  # noqa: E402
                   host, ping, row, sh, show, want, want_eq, write_policy)

WATCHED = POLICY.replace("    classes:", "    watchdog: on\n    classes:")
SONICS_OWN = {"PORT RX", "PORT TX", "STORM DETECTED/RESTORED", "TX OK/DROP", "RX OK/DROP",
              "TX LAST OK/DROP", "RX LAST OK/DROP"}


def kinds():
    text = sh(WEIRCTL, "show", "--help").stdout
    found = re.findall(r"^  ([a-z-]+) +\S", text, re.M)
    want(len(found) >= 29, found)
    return found


def on_terminal(width, *args, env=None):
    """What weirctl prints on a terminal of so many columns."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    plain = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    p = subprocess.Popen([WEIRCTL, "-s", NAME, *args], stdout=child, stderr=subprocess.STDOUT,
                         env=plain | (env or {}))
    os.close(child)
    out = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        out += part
    os.close(parent)
    want_eq(p.wait(10), 0, f"exit of {args}: {out.decode()}")
    return out.decode().replace("\r\n", "\n")


def widest(text):
    return max((len(line) for line in text.splitlines()), default=0)


def t_no_table_is_wider_than_the_terminal(_):
    for kind in kinds():
        if kind == "config":
            continue
        for width in (80, 60, 132):
            for more in ([], ["--all"]):
                text = on_terminal(width, "show", kind, *more)
                want(widest(text) <= width, f"show {kind} {more} at {width}:\n{text}")
        for width in (40, 20, 2, 1):
            text = on_terminal(width, "show", kind, "--all")
            want(text.strip() and "\033" not in text, f"show {kind} at {width}: {text!r}")


def t_columns_that_are_left_out_are_named_and_shown_with_wide(_):
    narrow, wide = on_terminal(80, "show", "ports"), on_terminal(80, "show", "ports", "--wide")
    want("\n(not shown: DEVICE, " in narrow and ", PFC_RX, PFC_TX, RX_GUARD," in narrow, narrow)
    want("--wide shows them)" in " ".join(narrow.split()), narrow)
    want("not shown" not in wide and "IF_STALLED" in wide, wide)
    want_eq(ctl("show", "ports").stdout.splitlines()[0], wide.splitlines()[0], "a pipe has all")
    want_eq(on_terminal(200, "show", "ports", env={"COLUMNS": "80"}).splitlines()[0],
            narrow.splitlines()[0], "COLUMNS")


def t_heads_have_one_style(_):
    for kind in kinds():
        lines = ctl("show", kind, "--all").stdout.splitlines()
        for head, rule in zip(lines, lines[1:]):
            if not re.fullmatch(r"-+(  -+)*", rule):
                continue
            for m in re.finditer(r"-+", rule):
                name = head[m.start():m.end() if m.end() < len(rule) else None].strip()
                want(re.fullmatch(r"[A-Z0-9]+(_[A-Z0-9]+)*", name) or name in SONICS_OWN,
                     f"show {kind}: {name!r}")


def t_orders_in_force_stand_above_each_table(_):
    held = "HELD: no frame is admitted, because of quiesce --hold, until: weirctl resume"
    drops = "DROP-ALL is on: "
    want("HELD" not in ctl("show", "ports").stdout, "nothing is in force")
    ctl("quiesce", "--hold")
    ctl("watchdog", "drop-all", "on")
    try:
        for kind in kinds():
            lines = ctl("show", kind).stdout.splitlines()
            want_eq(lines[0].startswith(drops) and lines[1] == held, kind != "config", kind)
            json.loads(ctl("show", kind, "--json").stdout)
    finally:
        ctl("resume")
        ctl("watchdog", "drop-all", "off")
    want("HELD" not in ctl("show", "ports").stdout, "nothing is in force")


def t_nothing_that_happened_is_a_sentence(_):
    for kind, text in (("watchdog", "no class has been in a storm; --all shows 3 watched"),
                       ("guard", "no frame has turned back"), ("cnps", "has sent no CNP"),
                       ("neighbours", "no neighbour is known"), ("routes", "no route")):
        want(text in ctl("show", kind).stdout, f"show {kind}: {ctl('show', kind).stdout}")
    want("operational" in ctl("show", "watchdog", "--all").stdout, "--all")
    want_eq(len(show("watchdog")["watchdog"]), 3, "JSON is complete")


def t_the_policy_that_runs_is_shown(_):
    q3 = row(show("ecn")["ecn"], port="p2", queue=3)
    want_eq((q3["ecn"], q3["kmin_bytes"], q3["kmax_bytes"], q3["pmax_percent"], q3["profile"]),
            (True, 60000, 200000, 100.0, "roce"), "ecn")
    want(re.search(r"^ +3 +3 +all +on +60.0 KB +200.0 KB +100 % .* p1-p3$",
                   ctl("show", "ecn").stdout, re.M), ctl("show", "ecn").stdout)
    pfc = row(show("pfc-status")["pfc_status"], port="p1")
    want_eq((pfc["class"], pfc["rx"], pfc["tx"]), (3, True, True), "pfc-status")
    for said, kind in (("pfc status", "pfc-status"), ("qos maps p1", "qos"), ("uptime", "version"),
                       ("buffers config", "buffers-config"), ("pfc counters", "pfc")):
        want_eq(ctl("show", *said.split(), "--json").stdout.split()[1],
                ctl("show", kind, "--json").stdout.split()[1], said)
    group = row(show("buffers-config")["pg_config"], port="p1", pg=3)
    want_eq((group["lossless"], group["alpha"]), (True, "1"), "buffers-config")
    want(group["headroom_bytes"] > 0, group)
    want_eq(show("buffers-config")["buffer"]["size_bytes"], 4000000 // 256 * 256, "size")
    want_eq(show("qos", "p1")["qos"][0]["dscp_to_class"][26], 3, "qos")
    want_eq(show("vlan")["vlan"], [], "vlan")
    about = show("version")["version"]
    want_eq((about["name"], about["ports"], about["held"]), (NAME, 3, False), "version")
    want(0 < about["uptime_ms"] < 300000, about)


def t_rates_are_those_of_the_interval(_):
    ping(1, 3, count=1)
    p = subprocess.Popen([WEIRCTL, "-s", NAME, "show", "interfaces", "--interval", "2", "--json"],
                         stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    blast(500, 1000)
    out, _ = p.communicate(timeout=20)
    p3 = row(json.loads(out)["interfaces"], port="p3")
    want(500 <= p3["tx_packets"] <= 520, p3)
    want(200 <= p3["tx_pps"] <= 260, p3)
    bits = (p3["tx_bytes"] + 24 * p3["tx_packets"]) * 8
    want(abs(p3["tx_util_percent"] - bits / 2 / 1e9 * 100) < 0.1, p3)
    r = ctl("show", "ports", "--interval", "1", check=False)
    want(r.returncode == 2 and "--interval goes with show interfaces" in r.stderr, r.stderr)


def t_diff_and_check_say_what_a_reload_would_change(policy):
    other = write_policy(WATCHED.replace("kmin: 60KB", "kmin: 80KB")
                         .replace("alpha: 1", "alpha: 2"))
    try:
        rows = json.loads(ctl("diff", other, "--json").stdout)["changes"]
        key = "profiles.roce.classes.3.wred.kmin"
        want_eq(row(rows, key=key), {"key": key, "running": "60KB", "file": "80KB"}, "diff")
        want_eq(len(rows), 2, "differences")
        want("nothing differs" in ctl("diff", policy).stdout, "the file that runs")
        checked = sh(WEIRCTL, "-s", NAME, "reload", "--check", other).stdout
        want(f"would take {other}: 2 keys would change\n" in checked, checked)
        want(f"  {key}: 60KB -> 80KB\n" in checked, checked)
        want_eq(len(json.loads(ctl("diff", other, "--json").stdout)["changes"]), 2, "not applied")
        want(not any("reload" in e["event"] for e in show("events")["events"]), "no event")
        done = ctl("reload", other).stdout
        want(f"reloaded {other}: 2 keys changed\n" in done, done)
        want(f"  {key}: 60KB -> 80KB\n" in done, done)
        want_eq(json.loads(ctl("diff", other, "--json").stdout)["changes"], [], "applied")
        want_eq(show("version")["version"]["policy_file"], other, "version")
        want_eq(row(show("ecn")["ecn"], port="p1", queue=3)["kmin_bytes"], 80000, "in force")
    finally:
        ctl("reload", policy)
        os.unlink(other)


def t_a_file_that_would_be_refused_is_told_without_a_reload(policy):
    wrong = write_policy(WATCHED.replace("size: 4MB", "size: 5MB").replace("alpha: 1", "alpha: 2"))
    try:
        r = ctl("reload", "--check", wrong, check=False)
        want_eq(r.returncode, 2, "exit")
        want("switch.buffer.size: changes only by a restart" in r.stderr, r.stderr)
        want("switch.buffer.size: 4MB -> 5MB\n" in r.stdout, r.stdout)
        answer = json.loads(ctl("reload", "--check", wrong, "--json", check=False).stdout)
        want_eq((answer["possible"], answer["reloaded"]), (False, False), "JSON")
    finally:
        os.unlink(wrong)
    bad = write_policy("ports: 7\n")
    r = ctl("diff", bad, check=False)
    os.unlink(bad)
    want(r.returncode == 2 and bad in r.stderr, r.stderr)


TESTS = [t_nothing_that_happened_is_a_sentence, t_the_policy_that_runs_is_shown,
         t_rates_are_those_of_the_interval, t_no_table_is_wider_than_the_terminal,
         t_columns_that_are_left_out_are_named_and_shown_with_wide, t_heads_have_one_style,
         t_orders_in_force_stand_above_each_table,
         t_diff_and_check_say_what_a_reload_would_change,
         t_a_file_that_would_be_refused_is_told_without_a_reload]


def main():
    if os.geteuid() != 0:
        print("needs root for namespaces and AF_XDP")
        return 77
    failed, only = [], sys.argv[3:]
    policy = write_policy(WATCHED)
    with World():
        sw = Switch(policy)
        try:
            sw.ready()
            host(1, "ping", "-q", "-c", "3", "-i", "0.05", "-Q", TOS_CLASS3, "10.77.0.2")
            for test in TESTS:
                name = test.__name__[2:]
                if only and name not in only:
                    continue
                try:
                    test(policy)
                    print(f"ok   {name.replace('_', ' ')}", flush=True)
                except (AssertionError, KeyError, OSError, subprocess.SubprocessError,
                        ValueError) as e:
                    print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}",
                          flush=True)
                    failed.append(name)
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
    os.unlink(policy)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
