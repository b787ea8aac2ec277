#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `weir` on three AF_XDP ports between namespaces and steers it with `weirctl`.

usage: test_daemon.py WEIR WEIRCTL [NAME-OF-A-TEST ...]

Needs root; exits 77 without. Each test is one sentence of behaviour; they run in the order written,
against one running switch where they take it as an argument. Leaves nothing behind.
"""
import fcntl
import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

from world import (HOSTS, ID, LATE_S, NAME, POLICY, SOCK, TOS_CLASS3, WEIR, WEIRCTL, Switch, World,
                   blast, ctl, eventually, held_balance, host, link_rx, ns, ping, row, sh, show,
                   want, want_eq, write_policy)

# The names that programs rely on.
KEYS = {
    "ports": {"ports": "name device speed_bps up rx_packets rx_bytes tx_packets tx_bytes "
                       "rx_missed"},
    "queues": {"queues": "port class length_bytes length_packets max_bytes tx_packets tx_bytes "
                         "ecn_marked dropped_packets paused tx_pps tx_bps"},
    "pfc": {"pfc": "port class rx_pause rx_pause_duration_us rx_pause_transition tx_pause "
                   "tx_pause_duration_us tx_pause_transition xoff"},
    "buffers": {"pgs": "port class rx_packets rx_bytes min_bytes shared_bytes headroom_bytes "
                       "skid_bytes max_shared_bytes max_headroom_bytes xoff_at_bytes xon_at_bytes "
                       "dropped_packets",
                "pools": "name size_bytes used_bytes max_bytes"},
    "control": {"control": "port pfc_ignored_lossy pfc_empty_vector pfc_malformed "
                           "pfc_misaddressed pause_8023x lldp other"},
    "hints": {"hints": "port roce_in_lossy_class roce_not_ect copp_dropped loop_forged "
                       "storm_broadcast storm_unknown_unicast storm_multicast"},
    "fdb": {"fdb": "mac vlan port static age_s"},
    "drops": {"drops": "port class reason packets bytes lossless"},
    "watermarks": {"queues": "port class max_bytes",
                   "pgs": "port class max_shared_bytes max_headroom_bytes",
                   "pools": "name max_bytes"},
    "events": {"events": "time event severity"},
    "balance": {"balance": "received generated replicated transmitted consumed dropped queued"},
}


# ---- tests that start their own


def t_help_and_version_need_no_root_and_no_switch():
    want("usage: weir " in sh(WEIR, "--help").stdout, "weir --help")
    want(re.match(r"weir \d", sh(WEIR, "--version").stdout), "weir --version")
    want_eq(sh(WEIR, check=False).returncode, 2, "weir without a file")
    want_eq(sh(WEIR, "-c", "x", "stray", check=False).returncode, 2, "a stray word")
    want("usage: weirctl " in sh(WEIRCTL, "--help").stdout, "weirctl --help")
    for cmd in "show watch top check plan reload set clear quiesce resume".split():
        want(f"weirctl {cmd}" in sh(WEIRCTL, cmd, "--help").stdout, f"weirctl {cmd} --help")
    want_eq(sh(WEIRCTL, "frobnicate", check=False).returncode, 2, "an unknown command")
    want_eq(sh(WEIRCTL, "show", "nothing", check=False).returncode, 2, "an unknown kind")
    for words in (["frobnicate", "--help"], ["watch", "--count", "x"], ["watch", "--count", "0"],
                  ["watch", "--interval", "1x"], ["--frobnicate"]):
        r = sh(WEIRCTL, *words, check=False)
        want_eq(r.returncode, 2, f"weirctl {' '.join(words)}")
        want(r.stderr.startswith("weirctl: ") and r.stdout == "", r.stderr + r.stdout)


def t_weirctl_says_what_was_meant():
    want_eq(sh(WEIRCTL, "help").stdout, sh(WEIRCTL, "--help").stdout, "help")
    want_eq(sh(WEIRCTL, "help", "show").stdout, sh(WEIRCTL, "show", "--help").stdout, "help show")
    for words in (["check"], ["clear"], ["clear", "all"], ["plan", "a", "b", "c"], ["set", "port"],
                  ["flow", "add"], ["capture", "p1"], ["watchdog"]):
        r = sh(WEIRCTL, "-s", NAME, *words, check=False)
        want_eq((r.returncode, r.stdout), (2, ""), f"weirctl {words}")
        want(r.stderr.startswith(f"usage: weirctl {words[0]} "), r.stderr)
    weir_host = os.path.join(os.path.dirname(WEIRCTL), "../host/weir-host")
    for program, words, near in ((WEIRCTL, ["show", "ports", "--jsn"], "--json"),
                                 (WEIR, ["--confg", "x"], "--config"),
                                 (weir_host, ["--devise", "x"], "--device")):
        r = sh(program, *words, check=False)
        want_eq((r.returncode, r.stdout), (2, ""), f"{program} {words}")
        want(f"did you mean {near}?" in r.stderr, r.stderr)
    want_eq(sh(WEIR, "help").stdout, sh(WEIR, "--help").stdout, "weir help")
    want_eq(sh(weir_host, "help").stdout, sh(weir_host, "--help").stdout, "weir-host help")
    r = ctl("capture", "p1", "-", "--filter", "tcp", "port", "80", check=False)
    want_eq(r.returncode, 2, "a filter of several words")
    want("a filter of several words needs quotes: --filter 'tcp ...'" in r.stderr, r.stderr)
    want("did you mean show?" in sh(WEIRCTL, "shwo", check=False).stderr, "a command")
    want("did you mean events?" in sh(WEIRCTL, "show", "evnts", check=False).stderr, "a kind")
    for words in (["--severity", "loud"], ["--since", "5"], ["--since", "0s"], ["--since", "s"]):
        r = ctl("show", "events", *words, check=False)
        want_eq(r.returncode, 2, f"{words}")
        want(words[0] in r.stderr, r.stderr)
    want_eq(ctl("show", "ports", "--since", "5m", check=False).returncode, 2, "ports since")


def t_a_script_that_changes_a_switch_must_name_it():
    for words in (["reload"], ["clear", "counters"], ["set", "port", "p1", "tx", "off"],
                  ["watchdog", "drop-all", "on"], ["quiesce"], ["resume"]):
        r = sh(WEIRCTL, *words, check=False)
        want_eq(r.returncode, 2, " ".join(words))
        want("name it with -s NAME, or set WEIR_SWITCH" in r.stderr, r.stderr)
    r = sh("env", f"WEIR_SWITCH={NAME}", WEIRCTL, "clear", "counters", check=False)
    want(f"no switch named {NAME}" in r.stderr, r.stderr)


def t_without_a_switch_weirctl_says_how_to_start_one():
    r = ctl("show", "ports", check=False)
    want_eq(r.returncode, 1, "exit")
    want(f"no switch named {NAME} is running (no {SOCK}); start one with: weir -c FILE"
         in r.stderr, r.stderr)


def t_all_mistakes_of_a_policy_are_told_at_once_and_nothing_starts():
    bad = write_policy(POLICY.replace("kmin: 60KB", "kmin: 600KB").replace("alpha: 1", "alhpa: 1")
                       .replace("mtu: 1500", "mtu: 15"))
    r = sh(*ns("s"), WEIR, "-c", bad, check=False)
    want_eq(r.returncode, 2, "exit")
    lines = [l for l in r.stderr.splitlines() if l.startswith(bad + ":")]
    want(len(lines) >= 3, f"three messages: {r.stderr}")
    for word in ("kmin", "alhpa", "mtu"):
        want(any(word in l for l in lines), f"{word}: {r.stderr}")
    want("ready" not in r.stdout, r.stdout)
    want_eq(sh(WEIRCTL, "check", bad, check=False).returncode, 2, "weirctl check")
    os.unlink(bad)
    r = sh(WEIR, "-c", "/nonexistent.yaml", check=False)
    want(r.returncode == 2 and "/nonexistent.yaml" in r.stderr, r.stderr)


def t_a_missing_device_is_one_sentence_and_leaves_nothing():
    gone = write_policy(POLICY.replace(f"{ID}s[1-3]", f"{ID}gone[1-3]"))
    r = sh(*ns("s"), WEIR, "-c", gone, check=False, timeout=60)
    os.unlink(gone)
    want_eq(r.returncode, 1, "exit")
    want(f"{ID}gone1" in r.stderr, r.stderr)
    want_eq(glob.glob(f"/run/weir/{NAME}.[!f]*"), [], "files in /run/weir")


def t_check_and_plan_need_no_switch(policy):
    ctl("check", policy)
    plan = json.loads(ctl("plan", policy, "--json").stdout)
    for key in ("pgs", "ports"):
        want(len(plan[key]) >= 3, f"plan has {key}")
    ctl("plan", policy)


# ---- tests of a running switch


def t_ready_names_each_port_and_a_second_switch_is_refused(sw, policy):
    out = sw.text(sw.out)
    for i in range(1, HOSTS + 1):
        want(re.search(rf"^p{i} xdp:{ID}s{i} speed=1Gb/s mtu=1500 pfc=", out, re.M), out)
    want_eq(os.stat(SOCK).st_mode & 0o777, 0o600, "the socket's mode")
    r = sh(*ns("s"), WEIR, "-c", policy, check=False)
    want_eq(r.returncode, 1, "exit of the second one")
    want(f"a switch named {NAME} is already running" in r.stderr, r.stderr)
    want(ctl("show", "ports", check=False).returncode == 0, "the first one still answers")


def t_hosts_reach_each_other_and_tcp_fills_the_link(sw):
    for a, b in ((1, 2), (2, 3), (3, 1)):
        want(ping(a, b), f"ping h{a} -> h{b}")
    want(ping(1, 2, "-s", "1472", "-M", "do"), "a full frame passes")
    server = subprocess.Popen([*ns("h3"), "iperf3", "-s", "-1", "--forceflush"],
                              stdout=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := server.stdout.readline()):
            want(line, "iperf3 listens")
        r = host(1, "iperf3", "-c", "10.77.0.3", "-n", "60M", "-S", TOS_CLASS3, "-J", timeout=120)
        server.communicate(timeout=LATE_S)
    finally:
        server.kill()
        server.wait()
    bps = json.loads(r.stdout)["end"]["sum_received"]["bits_per_second"]
    print(f"    iperf3: {bps / 1e6:.0f} Mb/s")
    want(bps < 1e9, "the port is shaped to its 1 Gb/s")
    want(row(show("queues")["queues"], port="p3", **{"class": 3})["tx_bytes"] > 50e6,
         "frames of DSCP 26 left through queue 3")


def t_every_json_name_is_there(sw):
    for what, lists in KEYS.items():
        data = show(what)
        for name, keys in lists.items():
            rows = data[name] if isinstance(data[name], list) else [data[name]]
            want(rows or what == "drops", f"show {what}: {name} is empty")
            for r in rows:
                missing = set(keys.split()) - set(r)
                want(not missing, f"show {what}: {name} lacks {missing}")
        want(ctl("show", what).stdout.strip() or what == "events", f"show {what} as a table")
    want_eq([p["name"] for p in show("buffers")["pools"]],
            ["ingress", "headroom", "egress_lossy", "egress_lossless"], "pools")
    want_eq(len(show("queues", "p2")["queues"]), 8, "queues of one port")
    want_eq(len(show("pfc")["pfc"]), 3, "one lossless class on each of three ports")
    want("p1" in {r["port"] for r in show("fdb")["fdb"]}, "h1 was learned")
    want("lossless: true" in show("config")["config"]["text"], "show config")
    want("PFC3" in ctl("show", "pfc", "counters", "--all").stdout, "show pfc counters")
    r = ctl("show", "ports", "p9", check=False)
    want(r.returncode == 1 and "p1 p2 p3" in r.stderr, r.stderr)
    want(ctl("watch", "--interval", "0.1", "--count", "2").stdout.count("Port State") == 2,
         "watch prints two blocks")


def t_port_counters_agree_with_the_link(sw):
    before, at = link_rx(2), row(show("ports")["ports"], name="p2")["tx_packets"]
    want(ping(1, 2, count=20), "ping")
    want_eq(row(show("ports")["ports"], name="p2")["tx_packets"] - at, link_rx(2) - before,
            "frames sent to h2")


def t_no_data_leaves_a_port_once_tx_off_has_answered(sw):
    def kept():
        return sum(q["length_packets"] for q in show("queues", "p2")["queues"])

    def under_way():
        """Frames that p2 has sent and the kernel has not yet given to h2; and an offset."""
        return row(show("ports")["ports"], name="p2")["tx_packets"] - link_rx(2)

    want(ping(1, 2), "h1 knows h2's address")
    offset = under_way()
    flood = subprocess.Popen([*ns("h1"), "ping", "-q", "-i", "0.002", "10.77.0.2"],
                             stdout=subprocess.DEVNULL)
    try:
        at = link_rx(2)
        eventually(lambda: link_rx(2) - at > 20, "the flood runs")
        ctl("set", "port", "p2", "tx", "off")
        eventually(lambda: under_way() == offset, "all that was sent has arrived")
        at, before = link_rx(2), kept()
        eventually(lambda: kept() > before + 20, "frames are kept")
        want_eq(link_rx(2) - at, 0, "frames after TX was off")
        want_eq(row(show("ports")["ports"], name="p2")["tx_enabled"], False, "shown")
        waiting = held_balance()["waiting"]
        want(any(w["port"] == "p2" and w["reason"] == "port TX-disabled" for w in waiting),
             f"quiesce says why: {waiting}")
        ctl("set", "port", "p2", "tx", "on")
        eventually(lambda: link_rx(2) - at > 20, "frames flow again")
    finally:
        ctl("set", "port", "p2", "tx", "on")
        flood.terminate()
        flood.wait()
    want(any(e["event"] == "tx-set" for e in show("events")["events"]), "an event tells it")
    want(any(e["event"] == "tx-set" for e in show("events", "--since", "1m")["events"]), "since")
    want_eq(len(show("events", "--count", "1")["events"]), 1, "the last")
    graver = {e["severity"] for e in show("events", "--severity", "warning")["events"]}
    want("info" not in graver, f"{graver}")


def t_a_stopped_queue_leaves_the_other_queues_alone(sw):
    want(ping(1, 2, tos=TOS_CLASS3), "class 3 passes before")
    ctl("set", "queue", "p2", "3", "tx", "off")
    try:
        want(not ping(1, 2, count=3, tos=TOS_CLASS3, wait=1), "class 3 is stopped")
        want(ping(1, 2), "class 0 passes")
        q3 = row(show("queues")["queues"], port="p2", queue=3)
        want(q3["length_packets"] >= 3, f"class 3 is kept: {q3}")
    finally:
        ctl("set", "queue", "p2", "3", "tx", "on")
    want(ping(1, 2, tos=TOS_CLASS3), "class 3 passes after")
    for bad in (("queue", "p2", "9", "tx", "off"), ("port", "p2", "tx", "maybe"), ("port", "p2")):
        want_eq(ctl("set", *bad, check=False).returncode, 2, f"set {bad}")
    want_eq(ctl("set", "port", "p9", "tx", "off", check=False).returncode, 1, "set p9")


def t_the_balance_is_exact_at_rest_and_traffic_goes_on(sw):
    flood = subprocess.Popen([*ns("h3"), "ping", "-q", "-f", "10.77.0.1"],
                             stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        for _ in range(5):
            want_eq(held_balance()["balance"]["queued"], 0, "queued at rest")
        first = held_balance("--hold")["balance"]
        time.sleep(0.3)
        want_eq(show("balance")["balance"], first, "nothing is admitted while held")
        ctl("resume")
        eventually(lambda: show("balance")["balance"]["received"] > first["received"], "resumed")
    finally:
        flood.terminate()
        flood.wait()


def t_cleared_counters_and_watermarks_start_again(sw):
    want(ping(1, 2, count=30), "ping")
    want(row(show("ports")["ports"], name="p1")["rx_packets"] >= 30, "counted before")
    ctl("clear", "counters")
    for r in show("ports")["ports"]:
        want(r["rx_packets"] + r["tx_packets"] < 10, f"cleared: {r}")
    total = show("balance")["balance"]["received"]
    want(total >= 60, "the balance is never cleared")
    want(ping(1, 2, count=20), "ping")
    want(20 <= row(show("ports")["ports"], name="p1")["rx_packets"] <= 30, "counts from here")
    ctl("clear", "watermarks")
    want_eq(max(q["max_bytes"] for q in show("queues")["queues"]), 0, "watermarks")
    want_eq(ctl("clear", "everything", check=False).returncode, 2, "clear everything")


def t_a_receive_ring_that_overflows_is_an_alarm(sw):
    want(ping(1, 3), "h1 knows h3's address")
    ctl("clear", "counters")
    sw.p.send_signal(signal.SIGSTOP)
    try:
        blast(20000, 64)
    finally:
        sw.p.send_signal(signal.SIGCONT)
    eventually(lambda: any(e["event"] == "rx-missed" and e["packets"] > 1000
                           for e in show("events", "p1")["events"]), "an event tells it")
    missed = row(show("ports")["ports"], name="p1")["rx_missed"]
    alarms = [e for e in show("events", "p1")["events"] if e["event"] == "rx-missed"]
    want_eq((alarms[-1]["packets"], alarms[-1]["severity"]), (missed, "alarm"), str(alarms))
    eventually(lambda: " alarm rx-missed: " in sw.text(sw.err), "a line in the log")


def t_the_control_socket_survives_hostile_clients(sw):
    def client(data):
        s = socket.socket(socket.AF_UNIX)
        s.connect(SOCK)
        s.settimeout(LATE_S)
        time.sleep(0.01)  # taken from the listen queue
        try:
            s.sendall(data)
        except BrokenPipeError:
            pass  # the switch has answered, and reads no more
        return s

    def answer(data):
        with client(data) as s:
            return s.recv(65536)

    def error(data):
        return json.loads(answer(data))["ok"] is False

    for data in (b"\n", b"{}\n", b"[1,2]\n", b"null\n", b"\xff\x00\xfe\n", b'{"cmd":3}\n',
                 b'{"cmd":"show"}\n', b'{"cmd":"show","what":"../x"}\n', b"[" * 3000 + b"\n",
                 b'{"cmd":"set_tx","port":"p1","queue":-1}\n', b'{"cmd":"set_tx","port":7}\n',
                 b'{"cmd":"set_tx","port":"p1","queue":"3"}\n', b'{"cmd":"clear"}\n'):
        want(error(data), f"refused: {data[:40]!r}")
    want(b"too long" in answer(b"x" * 10000), "a line without end is refused")
    want(b"too long" in answer(b"x" * 100000), "the answer comes before the reset")
    two = client(b'{"cmd":"show","what":"ports"}\n{"cmd":"show","what":"pfc"}\n').makefile()
    want("ports" in two.readline() and "pfc" in two.readline(), "two requests in one go")
    half = [client(b'{"cmd":"sh') for _ in range(8)]
    greedy = client(b'{"cmd":"show","what":"queues"}\n' * 100)  # reads nothing
    gone = client(b'{"cmd":"quiesce"}\n')
    gone.close()
    want(ctl("show", "ports", check=False).returncode == 0, "others are served")
    many = [client(b"") for _ in range(40)]
    time.sleep(0.1)
    want(ping(1, 2), "frames pass all the while")
    want(ctl("show", "ports", check=False).returncode == 0, "idle clients make room")
    for s in half + many + [greedy]:
        s.close()
    time.sleep(0.1)
    want(ctl("show", "ports", check=False).returncode == 0, "served after they left")
    want(ping(1, 2), "the quiesce of a client that left holds nothing")


def t_pauses_of_the_peer_are_counted_and_timed(sw):
    ctl("clear", "counters")
    send = """import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
head = bytes.fromhex("0180c2000001" "020000000002" "8808")
def pfc(enable, times):
    body = (0x0101).to_bytes(2, "big") + enable.to_bytes(2, "big")
    s.send((head + body + b"".join(t.to_bytes(2, "big") for t in times)).ljust(60, b"\\0"))
pfc(0x08, [0, 0, 0, 65535, 0, 0, 0, 0])  # class 3
pfc(0x01, [9, 0, 0, 0, 0, 0, 0, 0])  # a lossy class
pfc(0x00, [0] * 8)
s.send((head + bytes.fromhex("0001ffff")).ljust(60, b"\\0"))  # 802.3x
"""
    host(2, "/usr/bin/python3", "-c", send, f"{ID}e2")
    eventually(lambda: row(show("pfc")["pfc"], port="p2", **{"class": 3})["rx_pause"] and not
               row(show("queues")["queues"], port="p2", queue=3)["paused"], "a pause came and went")
    r = row(show("pfc")["pfc"], port="p2", **{"class": 3})
    want_eq((r["rx_pause"], r["rx_pause_transition"]), (1, 1), "PFC frames and pauses")
    # 65535 quanta of 512 bits at 1 Gb/s.
    want_eq(r["rx_pause_duration_us"], 65535 * 512 // 1000, "time paused")
    c = row(show("control")["control"], port="p2")
    want_eq((c["pfc_ignored_lossy"], c["pfc_empty_vector"], c["pause_8023x"]), (1, 1, 1), str(c))
    want_eq(row(show("ports")["ports"], name="p2")["rx_packets"], 0, "no data was received")


def t_a_congested_lossless_class_asks_its_sender_to_pause(sw):
    def pg_of_p1():
        return row(show("buffers")["pgs"], port="p1", **{"class": 3})

    def is_ignored(): # a kernel host obeys no PAUSE
        blast(500, 1400, gap_s=0.005) # for two seconds, some in each tenth of them
        return row(show("hints")["hints"], port="p1")["pause_ignored"] > 0

    want(ping(1, 3), "h1 knows h3's address")
    ctl("set", "queue", "p3", "3", "tx", "off")
    try:
        blast(4000, 1400)
        eventually(lambda: pg_of_p1()["headroom_bytes"] + pg_of_p1()["skid_bytes"] > 0,
                   "frames after XOFF")
        r, pg = row(show("pfc")["pfc"], port="p1", **{"class": 3}), pg_of_p1()
        eventually(is_ignored, "the host is named that sends on")
    finally:
        ctl("set", "queue", "p3", "3", "tx", "on")
    # On a machine that stalled the receive ring may have paused the sender before the group did.
    want(r["xoff"] and r["tx_pause"] >= 1 and r["tx_pause_transition"] >= 1, f"PAUSE was sent: {r}")
    want(pg["shared_bytes"] + pg["min_bytes"] >= pg["xoff_at_bytes"] * 0.99, f"XOFF at: {pg}")
    events = [e["event"] for e in show("events", "p1")["events"]]
    want("pfc-xoff" in events and "pfc-ignored" in events, f"events tell it: {events}")
    eventually(lambda: not row(show("pfc")["pfc"], port="p1", **{"class": 3})["xoff"],
               "XON when the queue has drained")
    r = row(show("pfc")["pfc"], port="p1", **{"class": 3})
    want(0 < r["tx_pause_duration_us"] < 60e6, f"time paused: {r}")


def t_a_killed_switch_starts_again(sw, policy):
    sw.p.kill()
    sw.p.wait()
    want(os.path.exists(SOCK), "the kill left the socket behind")
    r = ctl("show", "ports", check=False)
    want_eq(r.returncode, 1, "nobody answers")
    want(f"the switch {NAME} is gone, and its socket {SOCK} is stale" in r.stderr, r.stderr)
    again = Switch(policy).ready()
    try:
        want(ping(1, 2), "frames pass again")
        want_eq(again.stop(), 0, "exit")
    finally:
        again.p.kill()
        again.p.wait()
    text = again.text(again.out)
    want("balance holds" in text and "received" in text, text)
    want_eq(glob.glob(f"/run/weir/{NAME}.[!f]*"), [], "files in /run/weir")


def t_control_goes_on_while_nobody_reads_its_output():
    policy = write_policy(POLICY)
    out, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    sw = subprocess.Popen([*ns("s"), WEIR, "-c", policy], stdout=full, stderr=full)
    os.close(full)
    try:
        eventually(lambda: ctl("show", "ports", check=False).returncode == 0, "an answer")
        with open(policy, "w") as f:
            f.write(POLICY.replace("alpha: 1", "alfa: 1").replace("mtu: 1500", "mtu: 1"))
        for _ in range(200): # each writes a line for each mistake
            sw.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        want(row(show("ports")["ports"], name="p1")["up"], "port p1")
        sw.terminate()
        want_eq(sw.wait(LATE_S), 0, "exit")
        text = os.read(out, 1 << 16).decode()
        want("ready" in text, text)
    finally:
        sw.kill()
        sw.wait()
        os.close(out)
        os.unlink(policy)


def t_two_workers_on_named_cores_balance_too(policy):
    two = write_policy(POLICY.replace("workers: 1", "workers: [0, 1]"))
    sw = Switch(two)
    try:
        sw.ready()
        want(all(ping(a, b) for a, b in ((1, 2), (2, 3), (3, 1))), "ping")
        flood = subprocess.Popen([*ns("h1"), "ping", "-q", "-f", "10.77.0.2"],
                                 stdout=subprocess.DEVNULL)
        try:
            for _ in range(5):
                time.sleep(0.1)
                want_eq(held_balance()["balance"]["queued"], 0, "queued at rest")
        finally:
            flood.terminate()
            flood.wait()
        want_eq(sw.stop(), 0, "exit")
    finally:
        sw.p.kill()
        sw.p.wait()
        os.unlink(two)


def t_a_stopped_switch_accounts_for_what_it_could_not_send(policy):
    sw = Switch(policy, "--json", "--busy-poll").ready()
    try:
        want(ping(1, 2), "ping")
        ctl("set", "port", "p2", "tx", "off")
        ping(1, 2, count=3)
        t0 = time.monotonic()
        sw.p.send_signal(signal.SIGINT)
        time.sleep(0.02)  # timeout(1) sends a signal to the process and to its group
        want_eq(sw.stop(signal.SIGINT), 0, "exit")
        want(time.monotonic() - t0 > 0.45, "an echo of the signal does not cut the drain short")
    finally:
        sw.p.kill()
        sw.p.wait()
    b = json.loads(sw.text(sw.out).splitlines()[-1])
    want(b["balance"]["balanced"] and b["balance"]["queued"] >= 3, str(b))
    want(any(w["port"] == "p2" for w in b["waiting"]), str(b))


def waits_per_s(sw, seconds=0.25):
    """How often the worker gave its processor away by itself."""
    for task in os.listdir(f"/proc/{sw.p.pid}/task"):
        path = f"/proc/{sw.p.pid}/task/{task}"
        with open(f"{path}/comm") as f:
            if f.read().strip() == "rte-worker-1":
                break
    counts, began = [], time.monotonic()
    for pause in (seconds, 0):
        with open(f"{path}/status") as f:
            counts += [int(line.split()[1]) for line in f if line.startswith("voluntary")]
        time.sleep(pause)
    return (counts[1] - counts[0]) / (time.monotonic() - began)


def t_an_idle_worker_waits_in_the_kernel(sw):
    # Every 4 ms at most, where a worker that sleeps gets to thousands.
    seen = [waits_per_s(sw) for _ in range(4)] # a frame may have come in one
    want(min(seen) < 1000, f"an idle worker slept and woke up so often a second: {seen}")
    want(ping(1, 2), "a frame ends the wait")


ALONE = [t_help_and_version_need_no_root_and_no_switch,
         t_weirctl_says_what_was_meant, t_a_script_that_changes_a_switch_must_name_it,
         t_without_a_switch_weirctl_says_how_to_start_one,
         t_all_mistakes_of_a_policy_are_told_at_once_and_nothing_starts,
         t_a_missing_device_is_one_sentence_and_leaves_nothing]
LIVE = [t_hosts_reach_each_other_and_tcp_fills_the_link, t_every_json_name_is_there,
        t_port_counters_agree_with_the_link, t_no_data_leaves_a_port_once_tx_off_has_answered,
        t_a_stopped_queue_leaves_the_other_queues_alone,
        t_the_balance_is_exact_at_rest_and_traffic_goes_on,
        t_cleared_counters_and_watermarks_start_again,
        t_pauses_of_the_peer_are_counted_and_timed,
        t_a_congested_lossless_class_asks_its_sender_to_pause,
        t_a_receive_ring_that_overflows_is_an_alarm, t_an_idle_worker_waits_in_the_kernel,
        t_the_control_socket_survives_hostile_clients]


def run(failed, only, test, *args):
    name = test.__name__[2:]
    if only and name not in only:
        return
    began = time.monotonic()
    try:
        test(*args)
        print(f"ok   {name.replace('_', ' ')}, {time.monotonic() - began:.1f} s", flush=True)
    except (AssertionError, KeyError, OSError, subprocess.SubprocessError, ValueError) as e:
        print(f"FAIL {name.replace('_', ' ')}\n     {type(e).__name__}: {e}", flush=True)
        failed.append(name)


def main():
    if os.geteuid() != 0:
        print("needs root for namespaces and AF_XDP")
        return 77
    failed, only = [], sys.argv[3:]
    policy = write_policy(POLICY)
    with World():
        for test in ALONE:
            run(failed, only, test)
        run(failed, only, t_check_and_plan_need_no_switch, policy)
        sw = Switch(policy)
        try:
            sw.ready()
            run(failed, only, t_ready_names_each_port_and_a_second_switch_is_refused, sw, policy)
            for test in LIVE:
                run(failed, only, test, sw)
            run(failed, only, t_a_killed_switch_starts_again, sw, policy)
        finally:
            sw.p.kill()
            sw.p.wait()
            if failed:
                print(sw.text(sw.out) + sw.text(sw.err)[-4000:])
        run(failed, only, t_two_workers_on_named_cores_balance_too, policy)
        run(failed, only, t_control_goes_on_while_nobody_reads_its_output)
        run(failed, only, t_a_stopped_switch_accounts_for_what_it_could_not_send, policy)
    os.unlink(policy)
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0


sys.exit(main())
