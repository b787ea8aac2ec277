#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of `show ... --style sonic` have the numbers of --json, after traffic and a storm.

usage: test_sonic.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without. Leaves nothing behind.
"""
import os
import re
import subprocess
import sys
import time

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon")]
from world import (ID, NAME, POLICY, WEIRCTL, Switch, World, blast, ctl,  # noqa: E402
                   eventually, host, ns, ping, row, run, sh, show, want, want_eq, write_policy)

PORTS = ["p1", "p2", "p3"]
SMALL = POLICY.replace("size: 4MB", "size: 200KB").replace(
    "    classes:", "    watchdog: {detect: 100ms, restore: 200ms, action: drop}\n    classes:")
POOLS = {"ingress": "ingress_lossless_pool", "egress_lossy": "egress_lossy_pool",
         "egress_lossless": "egress_lossless_pool"}


def tables(*words, env=None):
    """The tables of a command, each a list of rows by the heads of the columns, as SONiC's are."""
    args = words if env else [*words, "--style", "sonic"]
    out = subprocess.run([WEIRCTL, "-s", NAME, "show", *args], capture_output=True, text=True,
                         check=True, timeout=20, env={**os.environ, **(env or {})}).stdout
    lines, found = out.splitlines(), []
    for head, rule in zip(lines, lines[1:]):
        if not re.fullmatch(r"-+(  -+)*", rule):
            continue
        cut = [(m.start(), m.end()) for m in re.finditer("-+", rule)]
        heads = [head[a:b].strip() for a, b in cut]
        for (a, b), name in zip(cut, heads):
            want(b - a >= len(name) + 2 and head[a:b].endswith(name), f"{name} in {out}")
        rows = []
        for line in lines[lines.index(rule, lines.index(head)) + 1:]:
            if line == "":
                break
            rows.append(dict(zip(heads, [line[a:b].strip() for a, b in cut])))
        found.append(rows)
    want(found, out)
    return found


def number(text):
    return int(text.replace(",", ""))


def storm(n, seconds):
    """Host n pauses class 3 without a break."""
    send = """import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
f = bytes.fromhex("0180c2000001020000000009880801010008") + bytes(6) + b"\\xff\\xff"
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    s.send(f.ljust(60, b"\\0"))
    time.sleep(0.002)
"""
    return subprocess.Popen([*ns(f"h{n}"), "/usr/bin/python3", "-c", send, f"{ID}e{n}",
                             str(seconds)])


def make_history():
    """Pauses in both directions, a storm with drops, watermarks and drops of a queue."""
    ping(1, 3, count=2)
    ctl("set", "port", "p3", "tx", "off")
    blast(4000, 900)  # p1 sends PAUSE, and the rest is dropped at its group
    ctl("set", "port", "p3", "tx", "on")
    p = storm(3, 2)
    for _ in range(20):
        blast(30, 900)
        time.sleep(0.05)
    p.wait()
    want_eq(p.returncode, 0, "storm")
    eventually(lambda: row(show("watchdog")["watchdog"], port="p3")["restored"] > 0, "restored")
    ping(1, 2, "-s", "1000", count=5)


def t_pauses(_):
    data = show("pfc")["pfc"]
    received, sent = tables("pfc", "counters")
    want(row(data, port="p3")["rx_pause"] > 100 and row(data, port="p1")["tx_pause"] > 0, data)
    for rows, head, key in ((received, "Port Rx", "rx_pause"), (sent, "Port Tx", "tx_pause")):
        want_eq([r[head] for r in rows], PORTS, head)
        for r in rows:
            want_eq(number(r["PFC3"]), row(data, port=r[head], **{"class": 3})[key], key)
            want_eq(r["PFC0"], "N/A", "a class without PFC")


def t_storms(_):
    data = show("watchdog")["watchdog"]
    p3 = row(data, port="p3")
    want(p3["detected"] > 0 and p3["tx_dropped"] > 0, p3)
    [rows] = tables("pfcwd", "stats", "--all")
    for r in rows:
        port, cls = r["QUEUE"].split(":")
        d = row(data, port=port, **{"class": int(cls)})
        want_eq(r["STATUS"], d["status"], "status")
        for head, a, b in (("STORM DETECTED/RESTORED", "detected", "restored"),
                           ("TX OK/DROP", "tx_ok", "tx_dropped"),
                           ("RX OK/DROP", "rx_ok", "rx_dropped"),
                           ("TX LAST OK/DROP", "tx_ok_last", "tx_dropped_last"),
                           ("RX LAST OK/DROP", "rx_ok_last", "rx_dropped_last")):
            want_eq(r[head], f"{d[a]}/{d[b]}", head)
    [some] = tables("pfcwd", "stats")
    want_eq([r["QUEUE"] for r in some], ["p3:3"], "only queues with a storm")
    [config] = tables("pfcwd", "config")
    want_eq(config[0], {"PORT": "p1", "ACTION": "drop", "DETECTION TIME": "100",
                        "RESTORATION TIME": "200"}, "config")
    want_eq([r["PORT"] for r in config], PORTS, "config")
    ctl("watchdog", "drop-all", "on")
    text = ctl("show", "pfcwd", "config", "--style", "sonic").stdout
    ctl("watchdog", "drop-all", "off")
    want(text.startswith("BIG_RED_SWITCH status is enable\n"), text)


def t_watermarks_and_drops(_):
    marks, groups = show("watermarks"), show("buffers")["pgs"]
    for words, rows, prefix, index, key in (
            ("priority-group watermark headroom", marks["pgs"], "PG", "pg", "max_headroom_bytes"),
            ("priority-group watermark shared", marks["pgs"], "PG", "pg", "max_shared_bytes"),
            ("priority-group drop counters", groups, "PG", "pg", "dropped_packets"),
            ("queue watermark unicast", marks["queues"], "UC", "queue", "max_bytes")):
        want(any(r[key] > 0 for r in rows), f"{words}: all are 0")
        [shown] = tables(*words.split())
        want_eq([r["Port"] for r in shown], PORTS, words)
        for r in shown:
            for i in range(8):
                want_eq(r[f"{prefix}{i}"], str(row(rows, port=r["Port"], **{index: i})[key]), words)
    pools = {p["name"]: p["max_bytes"] for p in marks["pools"]}
    [shown] = tables("buffer_pool", "watermark")
    want_eq({r["Pool"]: int(r["Bytes"]) for r in shown}, {POOLS[k]: pools[k] for k in POOLS},
            "pools")
    [[shown]] = tables("headroom-pool", "watermark")
    want_eq(int(shown["Bytes"]), pools["headroom"], "headroom pool")


def in_between(read):
    """What read() gives, and the ports: no frame came while it read. Hosts ask now and then whether
    a neighbour is still there."""
    def frames():
        ports = show("ports")["ports"]
        return [(p["rx_packets"], p["tx_packets"]) for p in ports], ports

    before, ports = frames()
    for _ in range(20):
        got = read()
        after, ports = frames()
        if after == before:
            return got, ports
        before = after
    raise AssertionError("frames come all the time")


def t_queues_and_interfaces(_):
    (queues, groups, shown, [interfaces]), ports = in_between(
        lambda: (show("queues")["queues"], show("buffers")["pgs"], tables("queue", "counters"),
                 tables("interfaces", "counters")))
    want_eq(len(shown), 3, "a table for each port")
    for r in [r for t in shown for r in t]:
        d = row(queues, port=r["Port"], queue=int(r["TxQ"].removeprefix("UC")))
        for head, key in (("Counter/pkts", "tx_packets"), ("Counter/bytes", "tx_bytes"),
                          ("Drop/pkts", "dropped_packets"), ("Drop/bytes", "dropped_bytes")):
            want_eq(number(r[head]), d[key], head)
    shown = interfaces
    want_eq([r["IFACE"] for r in shown], PORTS, "ports")
    for r in shown:
        d = row(ports, name=r["IFACE"])
        want_eq((r["STATE"], number(r["RX_OK"]), number(r["TX_OK"]), number(r["TX_ERR"])),
                ("U", d["rx_packets"], d["tx_packets"], d["tx_errors"]), r)
        want_eq(number(r["RX_DRP"]), d["rx_missed"] + sum(
            g["dropped_packets"] for g in groups if g["port"] == r["IFACE"]), "RX_DRP")
        want_eq(number(r["TX_DRP"]), sum(
            q["dropped_packets"] for q in queues if q["port"] == r["IFACE"]), "TX_DRP")
        want(re.fullmatch(r"\d+\.\d\d [KM]?B/s", r["RX_BPS"]), r)
        want(re.fullmatch(r"\d+\.\d\d%", r["TX_UTIL"]), r)
        want_eq((r["RX_ERR"], r["RX_OVR"], r["TX_OVR"]), ("N/A",) * 3, r)
    want(any(number(r["RX_DRP"]) for r in shown), shown)
    want_eq([r["IFACE"] for r in tables("interfaces", "counters", "p2")[0]], ["p2"], "one port")
    [errors] = tables("interfaces", "counters", "errors")
    want_eq([(r["RX_DRP"], r["TX_DRP"]) for r in errors],
            [(r["RX_DRP"], r["TX_DRP"]) for r in shown], "errors")
    [[rates]] = tables("interfaces", "counters", "rates", "p1")
    want(re.fullmatch(r"\d+\.\d\d/s", rates["RX_PPS"]), rates)


def t_ecn(_):
    text = ctl("show", "ecn", "--style", "sonic").stdout
    q3 = row(show("ecn")["ecn"], port="p1", queue=3)
    want_eq(text.count("Profile: "), 1, text)
    want("Profile: roce|3\n" in text, text)
    for field, key in (("green_min_threshold", "kmin_bytes"), ("red_max_threshold", "kmax_bytes")):
        want(re.search(rf"^{field} +{q3[key]}$", text, re.M), text)
    want(re.search(r"^ecn +ecn_all$", text, re.M), text)


def t_style_and_words(_):
    ours = ctl("show", "pfc").stdout.splitlines()[0]
    want_eq(ctl("show", "pfc", "counters").stdout.splitlines()[0], ours, "words alone are ours")
    sonic = tables("pfc", "counters")
    want_eq(tables("pfc", "counters", env={"WEIR_STYLE": "sonic"}), sonic, "WEIR_STYLE")
    want_eq(tables("pfc"), sonic, "our name of the kind")
    env = {**os.environ, "WEIR_STYLE": "sonic"}
    want_eq(sh(WEIRCTL, "-s", NAME, "show", "pfc", "--style", "weir", env=env).stdout
            .splitlines()[0], ours, "--style weir")
    want_eq(sh(WEIRCTL, "-s", NAME, "show", "fdb", env=env).stdout.split()[0], "VLAN",
            "a kind that SONiC does not have")
    r = subprocess.run([WEIRCTL, "-s", NAME, "show", "pfc"], capture_output=True, text=True,
                       check=False, env={**env, "WEIR_STYLE": "cisco"})
    want_eq((r.returncode, r.stdout), (2, ""), "WEIR_STYLE=cisco")
    want("WEIR_STYLE is weir or sonic, not \"cisco\"" in r.stderr, r.stderr)
    for args, text in ((["fdb", "--style", "sonic"], "no table of this for show fdb"),
                       (["pfc", "--style", "cisco"], "--style is weir or sonic, not \"cisco\""),
                       (["queue", "watermark"], "cannot show \"queue\""),
                       (["inof"], "one of: inof hosts, inof zones, inof log, inof ports"),
                       (["interfaces", "status"], "show interfaces status is weirctl show ports"),
                       (["pfc", "priority"], "is weirctl show pfc status"),
                       (["queue", "watermark", "multicast"], "show queue watermark unicast"),
                       (["arp"], "is weirctl show neighbours"),
                       (["pfc", "counters", "p1", "p2"], "takes one port at most")):
        r = ctl("show", *args, check=False)
        want(r.returncode == 2 and text in r.stderr, f"{args}: {r.stderr}")
    ctl("quiesce", "--hold")
    try:
        want_eq(tables("pfc", "counters"), sonic, "no line about orders")
    finally:
        ctl("resume")


def t_bash_completes_the_words(_):
    def complete(*words):
        script = 'source <("$1" completion bash); shift; COMP_WORDS=("$@"); ' \
                 'COMP_CWORD=$(($# - 1)); _weirctl; printf "%s\\n" "${COMPREPLY[@]}"'
        return sh("bash", "-c", script, "bash", WEIRCTL, WEIRCTL, "-s", NAME, *words).stdout.split()

    want_eq(complete("show", "pfcwd", ""), ["config", *PORTS, "stats"], "pfcwd")
    want_eq(complete("show", "priority-group", "watermark", ""), ["headroom", "shared"], "groups")
    want_eq(complete("show", "queue", "counters", ""), PORTS, "ports")
    want("priority-group" in complete("show", "pri"), complete("show", "pri"))
    want_eq(complete("show", "pfc", "--style", ""), ["weir", "sonic"], "--style")


def send(n, section):
    """n packets of a section of the plan from h1 to h3, slowly enough for the receive ring."""
    code = """import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[2]))
for i in range(int(sys.argv[1])):
    s.sendto(bytes(22), ("10.77.0.3", 9))
    time.sleep(0.0005)
"""
    host(1, "/usr/bin/python3", "-c", code, str(n), str(section["dscp"] << 2 | section["ecn"]))
    time.sleep(0.2)


def t_the_switch_acts_at_the_packets_of_the_plan(policy):
    plan = yaml.safe_load(sh(WEIRCTL, "plan", policy, "--sonic").stdout)
    [numbers] = plan["qos_params"]["weir"]["topo-any"].values()
    ping(1, 3, count=2)
    ctl("set", "port", "p3", "tx", "off")
    try:
        def pauses():
            return row(show("pfc")["pfc"], port="p1")["tx_pause"]

        def dropped():
            return row(show("queues")["queues"], port="p3", queue=0)["dropped_packets"]

        for section, key, count in ((numbers["xoff_1"], "pkts_num_trig_pfc", pauses),
                                    (numbers["lossy_queue_1"], "pkts_num_trig_egr_drp", dropped)):
            want_eq(section["packet_size"], 64, "as send has it")
            before = count()
            send(section[key] - 1, section)
            want_eq(count(), before, f"before {key}")
            send(1, section)
            eventually(lambda: count() > before, key, 2)  # noqa: B023
            ctl("set", "port", "p3", "tx", "on")
            time.sleep(0.3)
            ctl("set", "port", "p3", "tx", "off")
    finally:
        ctl("set", "port", "p3", "tx", "on")


def t_the_samples_of_the_docs_are_such_tables(_):
    with open(os.path.join(ROOT, "docs/coming-from-sonic.md"), encoding="utf-8") as f:
        samples = re.findall(r"    weirctl show ([a-z- ]+) --style sonic\n\n```\n(.*?)```",
                             f.read(), re.S)
    want(len(samples) >= 2, samples)
    for words, sample in samples:
        ours = ctl("show", *words.split(), "--style", "sonic").stdout.splitlines()
        for head, rule in zip(sample.splitlines(), sample.splitlines()[1:]):
            if re.fullmatch(r"-+(  -+)*", rule):
                want(any(pair == (head, rule) for pair in zip(ours, ours[1:])), f"{words}: {ours}")


TESTS = [t_pauses, t_storms, t_watermarks_and_drops, t_queues_and_interfaces, t_ecn,
         t_style_and_words, t_bash_completes_the_words,
         t_the_samples_of_the_docs_are_such_tables, t_the_switch_acts_at_the_packets_of_the_plan]


def main():
    if os.geteuid() != 0:
        print("needs root for namespaces and AF_XDP")
        return 77
    failed, policy = [], write_policy(SMALL)
    with World():
        sw = Switch(policy)
        try:
            sw.ready()
            make_history()
            for test in TESTS:
                run(failed, sys.argv[3:], test, policy)
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
    os.unlink(policy)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
