#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard and the alerts, asked of a Prometheus that scrapes a live switch. Each expression
must name series that exist. Alerts fire when their fault is provoked, and none fires without.

usage: test_prometheus.py BUILD_DIR [TEST ...]
"""
import json
import os
import re
import shutil
import sys
import urllib.parse

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "live"), os.path.join(HERE, "..", "storm"),
                os.path.join(HERE, "..", "..", "unit", "monitoring")]
import live # noqa: E402
from live import eventually, want # noqa: E402

live.need_root("prometheus", "promtool")
import expressions # noqa: E402
from peers import Peers # noqa: E402
from switch import Programs, Switch # noqa: E402: the path is set by live
from world import World, run, switch_name # noqa: E402

API = "127.0.0.1:9490"
# As the process in the namespace of the switch: paths of the API on standard input, one a line.
CLIENT = """import json, sys, urllib.error, urllib.request
for line in sys.stdin:
    try:
        answer = urllib.request.urlopen("http://%s" + line.strip(), timeout=20)
    except urllib.error.HTTPError as e:
        answer = e
    print(json.dumps(json.load(answer)))
""" % API
# conf/ipcc.yaml with a watchdog and a small buffer. At this speed a PAUSE outlasts PAUSE_EVERY_S.
POLICY = """\
switch:
  name: %s
  stall: {pause_after: off, alarm_after: off}
  buffer: {size: 1MB}
  microbursts: on
ports:
  - {name: "p[1-3]", device: "xdp:sw[1-3]", speed: 500M, mtu: 1500, profile: roce}
fdb:
  - {mac: "02:00:00:00:00:01", port: p1}
  - {mac: "02:00:00:00:00:02", port: p2}
  - {mac: "02:00:00:00:00:03", port: p3}
profiles:
  roce:
    dscp_to_class: {default: 0, 24-31: 3, 48-55: 6}
    cnp: {dscp: 48, class: 6}
    watchdog: {detect: 1s, restore: 200ms}
    classes:
      0: {schedule: {dwrr: 50}}
      3:
        lossless: true
        schedule: {dwrr: 50}
        ingress: {alpha: 1}
        wred: {ecn: on, kmin: 60KB, kmax: 200KB, pmax: 100%%}
        ipcc: on
      6: {schedule: strict}
"""


def want_eq(a, b, text):
    want(a == b, f"{text}: {a!r} is not {b!r}")


class Prometheus:
    """Debian's, with the shipped configuration; only the intervals are shorter."""

    def __init__(self, world):
        self.world = world
        with open(expressions.CONFIG) as f:
            conf = yaml.safe_load(f)
        conf["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
        conf["rule_files"] = [expressions.RULES]
        path = os.path.join(world.logs, "prometheus.yml")
        with open(path, "w") as f:
            yaml.safe_dump(conf, f)
        self.process = world.spawn(
            "sw", "prometheus", shutil.which("prometheus"), f"--config.file={path}",
            f"--storage.tsdb.path={os.path.join(world.logs, 'tsdb')}",
            f"--web.listen-address={API}")
        eventually(lambda: "Server is ready" in self.process.err(), "Prometheus is ready: "
                   f"{self.process.said()}")
        # It looks for switches 5 s after its start.
        eventually(lambda: self.query('up{job="weir"} == 1')[0], "the switch is scraped")

    def ask(self, *paths):
        done = run(*self.world.inside("sw", "/usr/bin/python3", "-c",
                                      CLIENT.replace("sys.stdin", repr(list(paths)))))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def query(self, *exprs):
        """The series of each expression: [[labels, ...], ...]"""
        out = []
        for expr, a in zip(exprs, self.ask(*("/api/v1/query?query=" + urllib.parse.quote(e)
                                             for e in exprs))):
            want_eq(a["status"], "success", f"{expr}: {a.get('error')}")
            out.append([r["metric"] for r in a["data"]["result"]])
        return out

    def alerts(self, state="firing"):
        """{name: [labels]}"""
        out = {}
        for a in self.ask("/api/v1/alerts")[0]["data"]["alerts"]:
            if a["state"] == state:
                out.setdefault(a["labels"]["alertname"], []).append(a["labels"])
        return out

    def evaluations(self):
        groups = self.ask("/api/v1/rules")[0]["data"]["groups"]
        return min(g["lastEvaluation"] for g in groups)


class Bench:
    def __init__(self, world, peers, switch, prometheus):
        self.world, self.peers, self.switch, self.prometheus = world, peers, switch, prometheus

    def scraped(self):
        """Two more evaluations of each group, the later of which saw all that happened before."""
        for _ in range(2):
            before = self.prometheus.evaluations()
            eventually(lambda: self.prometheus.evaluations() > before, "rules are evaluated")

    def fires(self, name, **labels):
        def found():
            return any(labels.items() <= a.items()
                       for a in self.prometheus.alerts().get(name, []))
        eventually(found, f"{name} {labels} fires", 60)

    def overrun(self):
        """Sends frames, although the switch says PAUSE, in bursts that its receive ring holds. True
        when one was lost for want of headroom."""
        self.peers.send_now(1, 3, 500)
        return any(d["reason"] == "headroom-overrun" and d["packets"] > 0
                   for d in self.switch.show("drops")["drops"])

    def silent(self, *but):
        fired = set(self.prometheus.alerts()) - set(but)
        want(not fired, f"alerts without a fault: {self.prometheus.alerts()}")


# ---- tests; the faults come last, in the order of the list


def no_alert_fires_while_traffic_flows(b):
    flow = b.peers.flow(1, 3, per_s=500, n=1000)
    eventually(flow.done, "the frames are sent")
    b.scraped()
    b.silent()
    want_eq(b.prometheus.alerts("pending"), {}, "pending alerts")


def each_expression_of_the_dashboard_has_series(b):
    board = expressions.dashboard()
    variables = [v["name"] for v in board["templating"]["list"]]
    rows = [(f"panel {p['title']}", expressions.as_sent(t["expr"], variables), t["legendFormat"])
            for p in expressions.panels(board) for t in p["targets"]]
    for (title, expr, legend), series in zip(rows, b.prometheus.query(*(r[1] for r in rows))):
        want(series, f"{title}: no series: {expr}")
        for label in re.findall(r"\{\{(\w+)\}\}", legend):
            want(all(label in s for s in series), f"{title}: no label {label}: {expr}")
    parts = sorted({(s[0], title) for title, expr, _ in rows for s in expressions.selectors(expr)})
    for (selector, title), series in zip(parts, b.prometheus.query(*(p[0] for p in parts))):
        want(series, f"{title}: no series of {selector}")
    print(f"        {len(rows)} expressions, {len(parts)} selectors")


def each_alert_names_series_and_labels_that_exist(b):
    n = 0
    for rule in expressions.alerts():
        parts = expressions.selectors(rule["expr"])
        want(parts, f"{rule['alert']} names no series")
        found = b.prometheus.query(rule["expr"], *(p[1] for p in parts))[1:]
        for (_, metric, labels), series in zip(parts, found):
            want(series, f"{rule['alert']}: no series {metric}")
            for label in labels:
                want(all(label in s for s in series), f"{rule['alert']}: {metric} has no {label}")
        said = re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        for label in said:
            want(all(label in s for s in found[0]), f"{rule['alert']}: no label {label}")
        n += len(parts)
    print(f"        {n} selectors")


def the_lists_of_the_dashboard_are_not_empty(b):
    for v in expressions.dashboard()["templating"]["list"]:
        if v["type"] != "query":
            continue
        m = re.fullmatch(r"label_values\((.*), (\w+)\)", v["query"]["query"])
        want(m, f"variable {v['name']}: {v['query']}")
        series, = b.prometheus.query(expressions.as_sent(m[1], ["instance"]))
        want(series and all(m[2] in s for s in series), f"variable {v['name']}: {series}")


def promtool_has_nothing_against_the_page(b):
    page = b.switch.ctl("metrics")
    path = os.path.join(b.world.logs, "page")
    with open(path, "w") as f:
        f.write(page)
    with open(path) as f:
        done = run("sh", "-c", f"promtool check metrics <{path} 2>&1", check=False)
    want_eq((done.returncode, done.stdout), (0, ""), "status and remarks of promtool")


def a_full_headroom_and_a_lost_frame_fire(b):
    b.switch.ctl("set", "queue", "p3", "3", "tx", "off")
    try:
        eventually(b.overrun, "the headroom runs over")
        b.fires("WeirLosslessDrop", port="p1", reason="headroom-overrun", severity="critical",
                **{"class": "3"})
        b.fires("WeirHeadroomNearlyUsed", port="p1", pg="3")
    finally:
        b.switch.ctl("set", "queue", "p3", "3", "tx", "on")
    eventually(lambda: "WeirHeadroomNearlyUsed" not in b.prometheus.alerts(),
               "the headroom is free again")
    b.silent("WeirLosslessDrop", "WeirRxMissed") # the ring of a late worker runs over, too


def a_storm_fires(b):
    b.peers.storm(3)
    flow = b.peers.flow(2, 3, per_s=200)
    b.fires("WeirPfcStorm", port="p3", severity="critical", **{"class": "3"})
    want_eq([a["port"] for a in b.prometheus.alerts()["WeirPfcStorm"]], ["p3"], "ports")
    b.peers.calm(3)
    b.peers.stop(flow)


TESTS = [no_alert_fires_while_traffic_flows, each_expression_of_the_dashboard_has_series,
         each_alert_names_series_and_labels_that_exist, the_lists_of_the_dashboard_are_not_empty,
         promtool_has_nothing_against_the_page, a_full_headroom_and_a_lost_frame_fire,
         a_storm_fires]


def named(test, *args):
    def call():
        test(*args)
    call.__name__ = test.__name__
    return call


PROGRAMS = Programs(sys.argv[1])
with World(3) as WORLD:
    WORLD.run("sw", "ip", "link", "set", "lo", "up")
    SWITCH = Switch(WORLD, PROGRAMS, switch_name(), POLICY % switch_name(),
                    options=("--metrics", "9410"))
    with Peers(WORLD) as PEERS:
        BENCH = Bench(WORLD, PEERS, SWITCH, Prometheus(WORLD))
        STATUS = live.run_tests([named(t, BENCH) for t in TESTS])
        BENCH.prometheus.process.stop()
    SWITCH.stop()
sys.exit(STATUS)
