#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the switch shows about itself, against frames that were counted outside.

usage: test_sight.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Tables, JSON, the page for Prometheus and the commands of DPDK telemetry must agree with each other
and with tcpdump. Needs root; exits 77 without. Leaves nothing behind.
"""
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "daemon")]
from world import (HOSTS, ID, NAME, POLICY, TOS_CLASS3, WEIR, WEIRCTL,  # noqa: E402
                   Switch, World, blast, ctl, eventually, ns, ping, row, run, sh, show, want,
                   want_eq, write_policy)
from sniff import Sniff, of_tos, pfc_of  # noqa: E402

PORT = 9410
LISTS = "ports queues latency pfc pgs pools drops control steering hints workers balance " \
        "flow_table elephants elephant_ports".split()
KIND = {"pgs": "buffers", "pools": "buffers", "steering": "control", "flow_table": "flows",
        "elephants": "flows", "elephant_ports": "flows"}
ONE = "balance", "flow_table", "elephants" # a row, not a list of rows


def fetch(path="/metrics"):
    """The page, from inside the namespace of the switch."""
    code = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{PORT}{path}', " \
           "timeout=10).read().decode(), end='')"
    return sh(*ns("s"), "/usr/bin/python3", "-c", code).stdout


def samples(page):
    """{name: {labels as a sorted tuple: value}}"""
    out = {}
    for line in page.splitlines():
        if line.startswith("#"):
            continue
        m = re.fullmatch(r'([a-z_0-9]+)(?:\{(.*)\})? ([0-9.]+)', line)
        want(m, f"a line of the page: {line!r}")
        labels = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', m[2] or "")
        out.setdefault(m[1], {})[tuple(sorted(labels))] = m[3]
    return out


def metric(page, name, **labels):
    found = [v for k, v in page.get(name, {}).items() if set(labels.items()) <= set(k)]
    want_eq(len(found), 1, f"samples of {name} {labels}")
    return float(found[0])


def telemetry(*commands):
    out = sh("dpdk-telemetry.py", "-f", f"weir-{NAME}", input="".join(c + "\n" for c in commands))
    replies = [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]
    want_eq(len(replies), len(commands), f"replies: {out.stdout}")
    return [r[c.split(",")[0]] for r, c in zip(replies, commands)]


def table(*args):
    """Rows of the first table as dictionaries."""
    lines = ctl("show", *args).stdout.splitlines()
    widths = [(m.start(), m.end()) for m in re.finditer("-+", lines[1])]
    cut = [[line[a:b + 1].strip() for a, b in widths] for line in [lines[0]] + lines[2:]]
    return [dict(zip(cut[0], c)) for c in cut[1:]]


def rest():
    """Waits until no frame has moved for a moment."""
    def counts():
        return [(p["rx_packets"], p["tx_packets"]) for p in show("ports")["ports"]]
    last = None
    end = time.monotonic() + 10
    while last != (now := counts()):
        want(time.monotonic() < end, "the network does not come to rest")
        last = now
        time.sleep(0.3)


def pause(n, quanta, count):
    """PFC frames of class 3 from host n."""
    send = """import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
f = bytes.fromhex("0180c2000001020000000009880801010008") + bytes(6) + \
    int(sys.argv[2]).to_bytes(2, "big")
for _ in range(int(sys.argv[3])):
    s.send(f.ljust(60, b"\\0"))
"""
    sh(*ns(f"h{n}"), "/usr/bin/python3", "-c", send, f"{ID}e{n}", str(quanta), str(count))


# ---- tests of a running switch


def t_tables_json_metrics_and_telemetry_agree_with_frames_counted_outside(_):
    ping(1, 3, count=1)  # addresses are known from here on
    rest()
    before = {what: show(what) for what in ("ports", "queues")}
    page_before = samples(fetch())
    with Sniff(3, "in") as got, Sniff(1, "out") as sent:
        blast(400, 900)
        ping(1, 3, count=7)
        rest()
    after = {what: show(what) for what in ("ports", "queues")}
    page = samples(fetch())

    def grown(what, key, **match):
        return row(after[what][what], **match)[key] - row(before[what][what], **match)[key]

    def grown_metric(name, **labels):
        return metric(page, name, **labels) - metric(page_before, name, **labels)

    class3 = of_tos(got.frames, 0x68)
    want(len(class3) >= 400, f"{len(class3)} frames of class 3")
    for key, value in (("packets", len(got.frames)), ("bytes", sum(n for n, _ in got.frames))):
        want_eq(grown("ports", f"tx_{key}", name="p3"), value, f"p3 tx_{key}")
        want_eq(grown_metric(f"weir_port_tx_{key}_total", port="p3"), value, f"metric tx_{key}")
    for key, value in (("packets", len(sent.frames)), ("bytes", sum(n for n, _ in sent.frames))):
        want_eq(grown("ports", f"rx_{key}", name="p1"), value, f"p1 rx_{key}")
        want_eq(grown_metric(f"weir_port_rx_{key}_total", port="p1"), value, f"metric rx_{key}")
    want_eq(grown("queues", "tx_packets", port="p3", queue=3), len(class3), "queue 3")
    want_eq(grown_metric("weir_queue_tx_packets_total", port="p3", queue="3"), len(class3),
            "metric of queue 3")
    want_eq(grown("queues", "tx_packets", port="p3", queue=0), len(got.frames) - len(class3),
            "queue 0")
    shown = table("queues", "p3")[3]
    queue = row(after["queues"]["queues"], port="p3", queue=3)
    want_eq(int(shown["TX_OK"].replace(",", "")), queue["tx_packets"], "the table")
    want_eq(telemetry("/weir/queues,p3")[0]["p3_3"]["tx_packets"], queue["tx_packets"],
            "telemetry of queue 3")
    port_mirrored()


def port_mirrored():
    """Telemetry has the bytes of p3. The kernel may send an ARP request at any time."""
    for _ in range(10):
        sent = row(show("ports")["ports"], name="p3")["tx_bytes"]
        mirrored = telemetry("/weir/ports")[0]["p3"]["tx_bytes"]
        if row(show("ports")["ports"], name="p3")["tx_bytes"] == sent:
            return want_eq(mirrored, sent, "telemetry of p3")
        rest()
    want(False, "p3 sends in each moment")


def t_pauses_and_drops_agree_with_frames_counted_outside(_):
    ctl("clear", "counters")
    rest()
    with Sniff(3, "out") as asked:
        pause(3, 20, 25)
        rest()
    want_eq(len(pfc_of(asked.frames, 3)), 25, "PFC frames sent by the host")
    want_eq(row(show("pfc")["pfc"], port="p3", **{"class": 3})["rx_pause"], 25, "rx_pause")
    missed = -row(show("ports")["ports"], name="p1")["rx_missed"]
    with Sniff(1, "in") as told, Sniff(1, "out") as sent:
        ctl("set", "queue", "p3", "3", "tx", "off")
        try:
            blast(4000, 1400)
            eventually(lambda: row(show("pfc")["pfc"], port="p1", **{"class": 3})["xoff"],
                       "the buffer is full")
            rest()
            held = row(show("queues")["queues"], port="p3", queue=3)["length_packets"]
            drops = show("drops")
        finally:
            ctl("set", "queue", "p3", "3", "tx", "on")
        eventually(lambda: not row(show("pfc")["pfc"], port="p1", **{"class": 3})["xoff"], "XON")
        rest()
    pfc = row(show("pfc")["pfc"], port="p1", **{"class": 3})
    page = samples(fetch())
    mirror = telemetry("/weir/drops,p1", "/weir/pfc,p1")
    want_eq(pfc["tx_pause"], len(pfc_of(told.frames, 3)), "PFC frames that the host has seen")
    want_eq(mirror[1]["p1_3"]["tx_pause"], pfc["tx_pause"], "telemetry")
    want(metric(page, "weir_pfc_tx_pause_duration_seconds_total", port="p1", **{"class": "3"}) > 0,
         "paused time")
    lost = [d for d in drops["drops"] if d["port"] == "p1" and d["class"] == 3]
    # The host obeys no PAUSE, so where the machine is busy its receive ring may run over as well.
    missed += row(show("ports")["ports"], name="p1")["rx_missed"]
    want_eq(held + missed + sum(d["packets"] for d in lost), len(of_tos(sent.frames, 0x68)),
            "frames held, dropped and missed")
    want_eq(drops["total"]["packets"], sum(d["packets"] for d in drops["drops"]), "the total")
    # The host does not obey PAUSE, so its headroom overflows.
    want_eq([(d["reason"], d["lossless"]) for d in lost], [("headroom-overrun", True)], "reasons")
    want_eq(mirror[0]["p1_3_headroom_overrun"]["packets"], lost[0]["packets"], "telemetry")
    want_eq(metric(page, "weir_drop_packets_total", port="p1", reason="headroom-overrun"),
            lost[0]["packets"], "the metric")
    want_eq(int(table("drops", "p1")[0]["FRAMES"].replace(",", "")), lost[0]["packets"],
            "the table")
    explained = ctl("show", "drops", "--explain").stdout
    want("the headroom of a lossless priority group was full" in explained, explained)


def t_latency_knows_how_long_frames_waited_and_forgets_it_on_clear(_):
    rest()
    ctl("set", "queue", "p3", "3", "tx", "off")
    ping(1, 3, count=1, tos=TOS_CLASS3)
    time.sleep(0.3)
    ctl("set", "queue", "p3", "3", "tx", "on")
    rest()
    waited = row(show("latency")["latency"], port="p3", queue=3)
    want(waited["max_ns"] >= 3e8, f"a frame waited 0.3 s: {waited}")
    want(waited["p50_ns"] <= waited["p99_ns"] <= waited["max_ns"], waited)
    want_eq(metric(samples(fetch()), "weir_queue_residence_max_seconds", port="p3", queue="3"),
            waited["max_ns"] / 1e9, "the metric")
    ctl("clear", "counters")
    want(not any(r["port"] == "p3" for r in show("latency")["latency"]), "nothing since the clear")
    ping(1, 3, count=3, tos=TOS_CLASS3)
    since = row(show("latency")["latency"], port="p3", queue=3)
    want(since["max_ns"] < waited["max_ns"] and since["packets"] >= 3, f"{since} after {waited}")


def t_all_kinds_are_in_all_views(_):
    page = samples(fetch())
    mirror = dict(zip(LISTS, telemetry(*(f"/weir/{name}" for name in LISTS))))
    for name in LISTS:
        rows = show(KIND.get(name, name))[name]
        mirrored = [mirror[name]] if name in ONE else list(mirror[name].values())
        rows = [rows] if name in ONE else rows
        mirrored = [m for m in mirrored if isinstance(m, dict)]
        want("/pages" in mirror[name] or len(mirrored) == len(rows), f"rows of {name}")
        for mine, theirs in zip(rows, mirrored):
            want_eq({k for k, v in mine.items() if v is not None}, set(theirs), f"keys of {name}")
    for name in ("weir_info", "weir_port_rx_packets_total", "weir_queue_ecn_marked_total",
                 "weir_pg_shared_bytes", "weir_pool_size_bytes", "weir_pfc_xoff",
                 "weir_hint_roce_not_ect_total", "weir_control_lldp_total",
                 "weir_elephants_now", "weir_elephant_port_elephant_bytes_total",
                 "weir_worker_loops_total", "weir_balance_received_total",
                 "weir_events_lost_total", "weir_queue_residence_seconds_bucket"):
        want(name in page, name)
    want_eq(samples(ctl("metrics").stdout).keys(), page.keys(), "weirctl metrics")


def t_workers_say_which_ports_they_own_and_that_they_turn(_):
    first = show("workers")["workers"]
    want_eq(sorted(p for w in first for p in w["ports"]), [f"p{i}" for i in range(1, HOSTS + 1)],
            "ports")
    eventually(lambda: show("workers")["workers"][0]["loops"] > first[0]["loops"], "it turns", 5)
    want(first[0]["gap_max_ns"] > 0, first)
    want("p1 p2 p3" in ctl("show", "workers").stdout, "the table")


def t_events_are_followed_as_they_happen(_):
    p = subprocess.Popen([WEIRCTL, "-s", NAME, "show", "events", "--follow", "--json"],
                         stdout=subprocess.PIPE, text=True)
    try:
        ctl("set", "port", "p2", "tx", "off")
        ctl("set", "port", "p2", "tx", "on")
        seen = []
        while len([e for e in seen if e["event"] == "tx-set"][-2:]) < 2 or seen[-1]["tx"] != "on":
            seen.append(json.loads(p.stdout.readline()))
        want_eq([e["seq"] for e in seen], sorted({e["seq"] for e in seen}), "each event once")
    finally:
        p.send_signal(signal.SIGINT)
    want_eq(p.wait(5), 0, "exit after an interrupt")
    want_eq(ctl("show", "ports", "--follow", check=False).returncode, 2, "only of events")


def t_rubbish_on_the_metrics_port_harms_nobody(sw):
    listening = [line.split()[3] for line in sh(*ns("s"), "ss", "-Hltn").stdout.splitlines()]
    want_eq(listening, [f"127.0.0.1:{PORT}"], "where the switch listens")
    attack = f"""import os, random, socket
random.seed(1)
def dial():
    s = socket.socket()
    s.settimeout(5)
    s.connect(("127.0.0.1", {PORT}))
    return s
for i in range(60):
    s = dial()
    try:
        s.sendall(random.randbytes(random.randrange(1, 20000)))
        if i % 2:
            s.sendall(b"\\r\\n\\r\\n")
        if i % 3:
            s.recv(100)
    except OSError:
        pass
    s.close()
idle = [dial() for _ in range(20)]
for s in idle[:10]:
    s.sendall(b"GET /metrics HTTP/1.1\\r\\n")
"""
    sh(*ns("s"), "/usr/bin/python3", "-c", attack, timeout=60)
    want("weir_info" in fetch(), "the page is still served")
    want_eq(sw.p.poll(), None, "the switch runs")
    ctl("show", "ports")


def t_rubbish_to_telemetry_harms_nobody(sw):
    path = f"/var/run/dpdk/weir-{NAME}/dpdk_telemetry.v2"
    for text in (b"/weir/ports,p9", b"/weir/ports," + b"x" * 900, b"/weir/queues,-1",
                 b"/weir/queues,99999999999999999999", b"/weir/", b"/weir/nothing", b",", b"\0\0",
                 b"/weir/drops,,,,,", b"/weir/ports,p1,1,\xff"):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(5)
        s.connect(path)
        s.recv(1024)
        s.send(text)
        s.recv(32768)
        s.close()
    error = telemetry("/weir/ports,p9")[0]["/error"]
    want("page" in error, error)
    want_eq(sw.p.poll(), None, "the switch runs")


def t_many_telemetry_clients_at_once_read_whole_replies(_):
    clients = [subprocess.Popen(["dpdk-telemetry.py", "-f", f"weir-{NAME}"], text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL) for _ in range(6)]
    blast(500, 200)
    for c in clients:
        out = c.communicate("/weir/queues\n/weir/pgs\n/weir/balance\n" * 5, timeout=60)[0]
        replies = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        want_eq(len(replies), 15, "replies")
        for r in replies:
            want(list(r.values())[0], f"an empty reply: {r}")


def t_long_lists_come_in_pages_that_hold_every_row_once(_):
    first = telemetry("/weir/pgs")[0]
    pages = [first] + telemetry(*(f"/weir/pgs,{i}" for i in range(2, first.get("/pages", 1) + 1)))
    keys = [k for p in pages for k in p if not k.startswith("/")]
    want_eq(len(keys), len(set(keys)), "rows come once")
    want_eq(len(keys), len(show("buffers")["pgs"]), "all rows")


def t_bash_completes_commands_kinds_ports_and_options(_):
    def complete(*words):
        script = 'source <("$1" completion bash); shift; COMP_WORDS=("$@"); ' \
                 'COMP_CWORD=$(($# - 1)); _weirctl; printf "%s\\n" "${COMPREPLY[@]}"'
        return sh("bash", "-c", script, "bash", WEIRCTL, WEIRCTL, *words).stdout.split()

    want_eq(complete("show", "-s", NAME, "ports", ""), ["p1", "p2", "p3"], "ports")
    want_eq(complete("-s", NAME, "set", "port", "p"), ["p1", "p2", "p3"], "ports of set")
    want_eq(complete("-s", NAME, "set", "queue", "p1", "3", "tx", ""), ["off", "on"], "on and off")
    want_eq(complete("sho"), ["show"], "a command")
    want("latency" in complete("show", ""), complete("show", ""))
    want_eq(complete("show", "lat"), ["latency"], "a kind")
    want_eq(complete("show", "events", "--fo"), ["--follow"], "an option")
    want_eq(complete("clear", ""), ["counters", "watermarks"], "clear")
    want_eq(complete("watchdog", ""), ["drop-all", "recover"], "watchdog")
    want_eq(complete("-s", NAME, "watchdog", "recover", "p1", ""), list("01234567"), "classes")
    want_eq(complete("show", "pfc", "--wh"), ["--why"], "--why")
    want(NAME in complete("-s", ""), complete("-s", ""))
    want_eq(complete("-s", NAME, "capture", ""), ["all", "p1", "p2", "p3"], "ports or all")
    want_eq(complete("resume", "x", ""), [], "nothing more")
    want_eq(complete("show", "ports", "--interval", ""), [], "a value that cannot be known")


# ---- tests of their own


def t_manual_pages_have_no_warning(_):
    if not shutil.which("groff"):
        return
    for page in glob.glob(os.path.join(ROOT, "docs/man/*")):
        r = sh("groff", "-man", "-Tutf8", "-ww", "-z", page)
        want_eq(r.stderr, "", page)


def t_a_port_in_use_is_one_sentence(policy):
    code = f"""import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", {PORT}))
s.listen()
print("up", flush=True)
time.sleep(60)
"""
    p = subprocess.Popen([*ns("s"), "/usr/bin/python3", "-c", code], stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        r = sh(*ns("s"), WEIR, "-c", policy, "--metrics", str(PORT), check=False, timeout=60)
    finally:
        p.kill()
        p.wait()
    want_eq(r.returncode, 1, "exit")
    want(f"--metrics: cannot listen on 127.0.0.1:{PORT}: Address already in use" in r.stderr,
         r.stderr)
    r = sh(WEIR, "-c", policy, "--metrics", "nowhere", check=False)
    want(r.returncode == 2 and "not \"nowhere\"" in r.stderr, r.stderr)


def t_an_end_leaves_no_runtime_directory_and_a_kill_is_no_hindrance(policy):
    where = f"/var/run/dpdk/weir-{NAME}"
    sw = Switch(policy).ready()
    want(telemetry("/weir/balance")[0]["balanced"] in (0, 1), "telemetry")
    sw.p.kill()
    sw.p.wait()
    sw = Switch(policy).ready()
    want(telemetry("/weir/balance")[0]["balanced"] in (0, 1), "telemetry after a kill")
    listening = sh(*ns("s"), "ss", "-Hltn").stdout
    want_eq(listening, "", "no port is open without --metrics")
    want_eq(sw.stop(), 0, "exit")
    want(not os.path.exists(where), f"{where} is left behind")


LIVE = [t_tables_json_metrics_and_telemetry_agree_with_frames_counted_outside,
        t_pauses_and_drops_agree_with_frames_counted_outside,
        t_latency_knows_how_long_frames_waited_and_forgets_it_on_clear,
        t_all_kinds_are_in_all_views, t_workers_say_which_ports_they_own_and_that_they_turn,
        t_events_are_followed_as_they_happen, t_rubbish_on_the_metrics_port_harms_nobody,
        t_rubbish_to_telemetry_harms_nobody,
        t_many_telemetry_clients_at_once_read_whole_replies,
        t_long_lists_come_in_pages_that_hold_every_row_once,
        t_bash_completes_commands_kinds_ports_and_options]
ALONE = [t_manual_pages_have_no_warning, t_a_port_in_use_is_one_sentence,
         t_an_end_leaves_no_runtime_directory_and_a_kill_is_no_hindrance]


def main():
    if os.geteuid() != 0:
        print("needs root")
        return 77
    if not shutil.which("dpdk-telemetry.py") or not shutil.which("tcpdump"):
        print("needs dpdk-telemetry.py (dpdk-dev) and tcpdump")
        return 77
    only = sys.argv[3:]
    failed = []
    with World():
        sh(*ns("s"), "ip", "link", "set", "lo", "up")
        policy = write_policy(POLICY)
        sw = Switch(policy, "--metrics", str(PORT))
        try:
            sw.ready()
            for test in LIVE:
                run(failed, only, test, sw)
        finally:
            sw.stop()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
        for test in ALONE:
            run(failed, only, test, policy)
        os.unlink(policy)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
