#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of weir-lab counts and says of timers, of its end and of queues."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LAB, ROOT = map(os.path.abspath, sys.argv[1:3])
FOLDER = os.path.join(ROOT, "tests/lab/fabric")
ENDS = os.path.join(FOLDER, "ends.yaml")
PAIR = os.path.join(FOLDER, "pair.yaml")
MANY = os.path.join(FOLDER, "many.yaml")
DEEP = os.path.join(FOLDER, "deep.yaml")


def lab(*args):
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=120, check=False)


def run(file, *args):
    """Exit code and report of a run."""
    done = lab("run", file, "--quiet", "--json", *args)
    return done.returncode, json.loads(done.stdout)


def metrics(report):
    return {m["metric"]: m["value"] for m in report["metrics"]}


class Timers(unittest.TestCase):
    ASK = ("--metric", "spurious", "--metric", "retransmissions", "--metric", "goodput(h121)")
    SHORT = ("--set", 'hosts={"h*": {nic: {rto: 1ms}}}')

    def test_the_default_timer_outlasts_a_full_buffer(self):
        code, report = run(MANY, *self.ASK)
        got = metrics(report)
        self.assertEqual((code, got["spurious"], got["retransmissions"]), (0, 0, 0))
        self.assertGreater(got["goodput(h121)"], 9.2e9)
        self.assertEqual(report["warnings"], [])
        self.assertEqual({h["rto_ns"] for h in report["hosts"]}, {20000000})
        self.assertIn("retransmission timer of hosts without `rto:`: 20ms\n",
                      lab("run", MANY, "--quiet").stdout)

    def test_a_short_timer_is_counted_and_its_cure_is_named(self):
        _, report = run(MANY, *self.ASK, *self.SHORT)
        got = metrics(report)
        self.assertGreater(got["spurious"], 1000)
        self.assertLessEqual(got["spurious"], got["retransmissions"])
        self.assertLess(got["goodput(h121)"], 7e9)
        self.assertEqual(sum(h["spurious"] for h in report["hosts"]), got["spurious"])
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn("Set `hosts.NAME.nic.rto` to at least 20ms", report["warnings"][0])
        text = lab("run", MANY, "--quiet", *self.SHORT).stdout
        self.assertIn("at least 20ms", " ".join(text.split()))
        self.assertNotIn("hosts without", text)

    def test_losses_explain_what_is_sent_again_after_them(self):
        _, report = run(MANY, *self.ASK, *self.SHORT,
                        "--set", "faults=[{at: 0ms, from: h121, link_lossy: {every_nth: 2}}]",
                        "--set", "flows=[{from: h1, to: h121, size: 20KB, count: 5}]")
        self.assertGreater(metrics(report)["spurious"], 0) # after a lost ACK
        self.assertEqual(report["warnings"], [])

    def test_acknowledgements_dropped_at_a_dead_port_are_losses(self):
        _, report = run(PAIR, *self.ASK[:2], "--set",
                        'hosts={"h[1-3]": {nic: {rto: 500us}}}',
                        "--set", "flows=[{from: [h1, h2], to: h3, qps: 32, size: 4KB, count: 1}]",
                        "--set", "faults=[{at: 30us, link: h1, link_down: {for: 100us}}]")
        self.assertGreater(metrics(report)["spurious"], 30)
        self.assertEqual(report["warnings"], [])

    def test_the_timers_of_tcp_give_no_advice_for_those_of_queue_pairs(self):
        _, report = run(PAIR, *self.ASK[:2], "--set",
                        "flows=[{from: h1, to: h3, class: 0, ack_every: 256, tcp: "
                        "{rto_min: 10us, rto_initial: 10us}}]")
        self.assertGreater(metrics(report)["spurious"], 0)
        self.assertEqual(report["warnings"], [])


class Losses(unittest.TestCase):
    def test_the_report_names_other_drops_of_lossless_classes(self):
        fault = "faults=[{at: 500us, link: h3, link_down: {for: 100us}}]"
        says = "no frame of a lossless class was lost for want of buffer; dropped: "
        self.assertIn("no frame of a lossless class was dropped\n", lab("run", PAIR).stdout)
        _, report = run(PAIR, "--set", fault, "--metric", "drops(s1, port-down)")
        self.assertEqual(report["lossless_drops"], 0)
        n = int(metrics(report)["drops(s1, port-down)"])
        self.assertGreater(n, 100)
        self.assertIn(f"{says}{n} port-down\n", lab("run", PAIR, "--set", fault).stdout)


class Ends(unittest.TestCase):
    def flows(self, *flows):
        return "--set", "flows=[" + ", ".join("{" + f + "}" for f in flows) + "]"

    def test_a_run_ends_with_the_last_message_and_its_means_do(self):
        code, report = run(ENDS, "--metric", "done(short)", "--metric", "done(long)",
                           "--metric", "goodput(h4)", "--metric", "utilisation(s1.p4)")
        got, flows = metrics(report), {f["name"]: f for f in report["flows"]}
        self.assertEqual((code, report["done"], report["complete"]), (0, True, True))
        self.assertEqual(report["end_ns"], got["done(long)"])
        self.assertLess(got["done(short)"], got["done(long)"])
        self.assertEqual(flows["short"]["done_ns"], got["done(short)"])
        self.assertIsNone(flows["beside"]["done_ns"])
        # 3 MB in that time, and not in the 10 ms that it may take.
        self.assertEqual(flows["long"]["goodput_bps"], 24000000 * 10**9 // report["end_ns"])
        self.assertAlmostEqual(got["goodput(h4)"] * report["end_ns"], 24e15, delta=1e9)
        self.assertGreater(got["utilisation(s1.p4)"], 0.99)

    def test_the_time_of_done_is_that_of_a_run_with_a_duration(self):
        flow = self.flows("name: a, from: h1, to: h3, size: 1MB, count: 2")
        _, report = run(PAIR, *flow, "--metric", "done(a)", "--metric", "done(a, 0, 1us)")
        got = metrics(report)
        _, again = run(ENDS, *flow, "--set", 'hosts={"h[1-4]": {nic: {cc: dcqcn}}}')
        self.assertEqual(report["end_ns"], 2000000)
        self.assertEqual(got["done(a)"], again["end_ns"])
        self.assertIsNone(got["done(a, 0, 1us)"])

    def test_every_pattern_has_an_end(self):
        for flow in ("pattern: incast, from: [h1, h2], to: h3, size: 10KB, count: 3, jitter: 5us",
                     'pattern: all-to-all, from: "h*", to: "h*", size: 10KB, count: 2',
                     'pattern: all-to-all, from: "h*", to: "h*", size: 10KB, count: 3, interval: '
                     "1us",
                     "from: [h1, h2], to: h3, size: 10KB, count: 7, depth: 3, qps: 2",
                     "from: h1, to: h2, size: 10KB, count: 6, reuse: {after: 2, pause: 50us}",
                     "from: h1, to: h2, size: 10KB, interval: 20us, stop: 105us",
                     "pattern: poisson, from: [h1, h2], to: h3, size: 20KB, load: 30%, count: "
                     "5",
                     "pattern: poisson, from: h1, to: h2, size: 10KB, load: 30%, stop: 1ms",
                     "pattern: request, from: [h1, h2], to: h3, size: 10KB, count: 5, think: 3us",
                     "pattern: storage, from: [h1, h2], to: [h3, h4], size: 100KB, count: 5, "
                     "depth: 2", "op: read, from: h1, to: h2, size: 100KB, count: 2"):
            code, report = run(ENDS, *self.flows("name: a, " + flow), "--metric", "done(a)",
                               "--metric", "messages(a)", "--metric", "fct(a, max)")
            got, row = metrics(report), report["flows"][0]
            self.assertEqual((code, report["done"], got["messages(a)"]), (0, True,
                             row["operations"]), flow)
            self.assertEqual(row["done_ns"], got["done(a)"], flow)
            if "stop" in flow:
                stop = 1000000 if "1ms" in flow else 105000
                self.assertEqual(report["end_ns"], max(row["done_ns"], stop), flow)
            else:
                self.assertEqual(report["end_ns"], row["done_ns"], flow)

    def test_a_run_that_is_not_done_in_time_fails_and_names_the_flow(self):
        args = ("--set", "at_most=500us", "--metric", "done(long)")
        code, report = run(ENDS, *args)
        self.assertEqual((code, report["passed"], report["done"]), (1, False, False))
        self.assertEqual(report["end_ns"], 500000)
        self.assertIsNone(metrics(report)["done(long)"])
        self.assertIn("NOT DONE by 500us: long (1 messages under way)\n",
                      lab("run", ENDS, "--quiet", *args).stdout)


class Levels(unittest.TestCase):
    # A frame of 1098 B is there after (1098 + 24) * 8 / 40G, rounded up to 225 ns, and 26 ns of
    # cable. It leaves when TX is on again.
    FRAME, COMES, GOES = 1098, 225 + 26, 100000
    ONE = ("--set", "flows=[{from: h1, to: h3, size: 1024, count: 1}]",
           "--set", "faults=[{at: 0ms, port: s1.p3, tx_off: {class: 3, for: 100us}}]")

    def test_means_shares_and_histograms_of_a_queue_are_exact(self):
        waits, total = self.GOES - self.COMES, 2000000
        want = {"queue_mean(s1.p3.3)": self.FRAME * waits / total,
                "queue_mean(s1, 0, 200us)": self.FRAME * waits / 200000,
                "queue_mean(s1.p3.3, 50us, 90us)": self.FRAME,
                "share_above(s1.p3.3, 1097B)": waits / total,
                "share_above(s1.p3.3, 1098B)": 0,
                "share_above(s1.p3, 0, 0, 200us)": waits / 200000,
                "share_above(s1.p1, 0)": 0}
        ask = [x for m in want for x in ("--metric", m)]
        code, report = run(PAIR, *self.ONE, *ask, "--set", "record={histogram: [s1.p3.3], bin: "
                           "500B}")
        self.assertEqual(code, 0)
        for name, value in metrics(report).items():
            self.assertAlmostEqual(value, want[name], places=6, msg=name)
        bins = [{"from_bytes": 0, "time_ns": total - waits},
                {"from_bytes": 1000, "time_ns": waits}]
        row = {"queue": "s1.p3.3", "bin_bytes": 500, "time_ns": total, "max_bytes": self.FRAME,
               "bins": bins}
        self.assertEqual(row, {k: report["histograms"][0][k] for k in row})
        _, report = run(PAIR, *self.ONE, "--set", 'record={histogram: ["s1.p[1-3].3"]}')
        self.assertEqual([(h["queue"], h["bin_bytes"]) for h in report["histograms"]],
                         [("s1.p1.3", 256), ("s1.p2.3", 256), ("s1.p3.3", 256)])

    def test_rows_have_the_mean_since_the_row_before(self):
        with tempfile.TemporaryDirectory() as out:
            run(PAIR, *self.ONE, "--out", out, "--set",
                "record={every: 50us, what: [queue_mean(s1.p3.3)]}", "--set", "duration=200us")
            with open(os.path.join(out, "series.csv"), encoding="utf-8") as f:
                means = [line.split(",")[-1].strip() for line in f][1:]
        first = self.FRAME * (50000 - self.COMES) / 50000
        self.assertEqual([float(m) for m in means], [round(first, 5), self.FRAME, 0, 0])


class Memory(unittest.TestCase):
    def peak_mb(self, *sets):
        """Of a run, which must succeed."""
        words = [w for s in sets for w in ("--set", s)]
        # Meson sets a variable with which calloc writes to all memory.
        env = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}
        child = subprocess.Popen([LAB, "run", PAIR, "--quiet", "--set", "duration=20us", *words],
                                 stdout=subprocess.DEVNULL, env=env)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        return usage.ru_maxrss // 1024

    def test_memory_follows_frames_and_not_cells(self):
        small = self.peak_mb("policy.switch.buffer.size=12MB")
        large = self.peak_mb("policy.switch.buffer={size: 512MB, cell: 64B}") # 8 million cells
        self.assertLess(large - small, 16, f"{small} and {large} MB")

    def test_a_buffer_of_64_gib_pauses_at_the_exact_cell(self):
        code, report = run(DEEP, "--metric", "pool(s1, ingress, max)", "--metric", "xoffs(s1)")
        got = metrics(report)
        pool = (64 << 30) - 64000000 # less headroom
        threshold = pool / (1 + 128) # alpha * F / (1 + alpha)
        frame = 1152 # 1,098 bytes in cells of 64
        self.assertEqual(code, 0)
        self.assertGreater(got["xoffs(s1)"], 0)
        self.assertLessEqual(got["pool(s1, ingress, max)"], threshold)
        self.assertGreater(got["pool(s1, ingress, max)"], threshold - frame)


class Thresholds(unittest.TestCase):
    SCENARIO = """\
scenario: row
duration: 300ms
policy: %s/conf/roce.yaml
override: {profiles: {roce: {classes: {3: {wred: ~, ecn: {mode: auto, model: %s}}}}}}
topology: {star: {hosts: 5, speed: 25G, length: 5m}}
hosts: {"h*": {nic: {cc: dcqcn}}}
flows: [{from: "h[1-4]", to: h5, class: 3}]
faults:
  - at: 200ms
    switch: s1
    reload: {override: {profiles: {roce: {classes: {0: {schedule: {dwrr: 40}}}}}}}
"""

    @staticmethod
    def model(folder, name="long.ecn", row="long-few 97 0.2 25 - - 1 4 20\n"):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(row)
        return path

    def test_a_change_keeps_the_name_of_its_row_after_a_reload(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "row.yaml"
            path.write_text(self.SCENARIO % (ROOT, self.model(folder)))
            code, report = run(path)
        self.assertEqual((code, report["auto_ecn_changes"][0]["model"]), (0, "long-few"))

    def test_check_names_the_models_of_all_policies_once(self):
        with tempfile.TemporaryDirectory() as folder:
            first, later = (self.model(folder, name) for name in ("first.ecn", "later.ecn"))
            file = os.path.join(folder, "row.yaml")
            scenario = (self.SCENARIO % (ROOT, first)).replace(
                "0: {schedule: {dwrr: 40}}", f"3: {{ecn: {{model: {later}}}}}")
            with open(file, "w", encoding="ascii") as f:
                f.write(scenario)
            done = lab("check", "--files", file)
        self.assertEqual((done.returncode, done.stdout.splitlines()[2:], done.stderr),
                         (0, [first, later], ""))

    def test_the_page_of_a_run_says_why_the_thresholds_changed_and_draws_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "row.yaml"
            path.write_text(self.SCENARIO % (ROOT, self.model(folder)) +
                            "record: {every: 5ms, what: "
                            "[queue(s1.p5.3), kmin(s1.p5.3), kmax(s1.p5.3)]}\n")
            code, report = run(path, "--out", folder)
            page = (pathlib.Path(folder) / "report.html").read_text()
            series = (pathlib.Path(folder) / "series.csv").read_text().splitlines()
        change = report["auto_ecn_changes"][0]
        use = f"{100 * change['features']['utilisation']:.0f}%"
        p99 = f"{change['features']['delay_p99_us']:.3g}us"
        data = json.loads(re.search('id="weir-data">(.*?)</script>', page, re.S).group(1))
        row = next(t["rows"][0] for t in data["tables"] if t["title"].startswith("auto ECN (kmin"))
        self.assertEqual(code, 0)
        self.assertEqual((row[1], row[4], row[6]), ("60ms", use, p99))
        self.assertEqual(row[7], "the traffic is that of a row of the model: long-few")
        self.assertTrue(any(e["time_ns"] == change["t_ns"] and "auto ECN at s1.p5" in e["text"]
                            for e in data["events"]), data["events"])
        at = series[0].split(",").index
        first, last = series[1].split(","), series[-1].split(",")
        kmin, kmax = at("kmin(s1.p5.3) bytes"), at("kmax(s1.p5.3) bytes")
        self.assertEqual((first[kmin], first[kmax]), ("3125", "125000"))
        self.assertEqual((last[kmin], last[kmax]),
                         tuple(str(change["after"][k]) for k in ("kmin_bytes", "kmax_bytes")))


class Commands(unittest.TestCase):
    """`weirctl:` among the faults."""
    FLOWS = "--set", "override={switch: {flows: {max: 64}}}"

    @staticmethod
    def run_with(file, commands, *args):
        """Commands are (time, text); the report."""
        faults = ", ".join(f"{{at: {at}, switch: s1, weirctl: '{text}'}}" for at, text in commands)
        return run(file, "--set", f"faults=[{faults}]", "--set", "expect=[]", *args)[1]

    def test_a_queue_stops_and_goes_on_and_is_shown_as_it_is_then(self):
        report = self.run_with(
            PAIR, [("500us", "set queue p3 3 tx off"), ("900us", "show queues p3"),
                   ("1ms", "set queue p3 3 tx on"), ("1500us", "show queues p3")],
            *(x for a, b in (("300us", "500us"), ("510us", "1ms"), ("1100us", "2ms"))
              for x in ("--metric", f"goodput(h3, {a}, {b})")),
            "--metric", "queue(s1.p3.3, max, 890us, 900us)")
        got = list(metrics(report).values())
        self.assertGreater(got[0], 5e9)
        self.assertEqual(got[1], 0)
        self.assertGreater(got[2], 5e9)
        rows = [[q for q in c["answer"]["queues"] if q["queue"] == 3][0]
                for c in report["weirctl"] if c["command"].startswith("show")]
        self.assertEqual([c["time_ns"] for c in report["weirctl"]], [5e5, 9e5, 1e6, 1.5e6])
        self.assertAlmostEqual(rows[0]["length_bytes"], got[3], delta=got[3] / 20) # of samples
        self.assertGreater(rows[1]["tx_packets"], rows[0]["tx_packets"])
        self.assertEqual(report["warnings"], [])
        text = lab("run", PAIR, "--quiet", "--set", "expect=[]", "--set", "faults=[{at: 1ms, "
                   "switch: s1, weirctl: [show queues p3, set port p3 tx off]}]").stdout
        self.assertIn("weirctl: answers: 1, in the list `weirctl` of --json", text)

    def test_a_port_stops(self):
        report = self.run_with(PAIR, [("500us", "set port p3 tx off")],
                               "--metric", "goodput(h3, 510us, 2ms)")
        self.assertEqual(list(metrics(report).values()), [0])

    def test_what_the_switch_refuses_is_said(self):
        why = {"set port p9 tx off": "no port named p9; the ports are: p1 p2 p3 p4",
               "watchdog recover p3 3": "class 3 of p3 is in no storm and not escalated: there is "
                                        "nothing to recover",
               "watchdog recover p3 0": "class 0 of p3 is lossy; its lossless classes are: 3",
               "flow add 10.0.0.1 10.0.0.3 2 3": "there is no flow table: the policy has "
                                                 "switch.flows off, which a restart changes",
               "inof zone add z 10.0.0.1": "inof is off: put inof: on into the policy file, then "
                                           "weirctl reload",
               **{f"show {kind}": "a switch of the lab does not show that"
                  for kind in ("events", "flows", "cnps")}}
        report = self.run_with(PAIR, [("1ms", text) for text in why])
        self.assertEqual({c["command"]: c["refusal"] for c in report["weirctl"]}, why)
        self.assertEqual(report["warnings"], ["at 1ms s1 refused `weirctl set port p9 tx off`: " +
                                              why["set port p9 tx off"] + " (and 7 more)"])

    def test_a_pair_is_added_and_deleted_once(self):
        report = self.run_with(PAIR, [("1500us", "weirctl flow del 10.0.0.1 10.0.0.3 2"),
                                      ("1ms", "flow add 10.0.0.1 10.0.0.3 2 3"),
                                      ("500us", "flow del 10.0.0.1 10.0.0.3 2")], *self.FLOWS)
        unknown = "no such flow or pair is known; weirctl show flows lists the flows"
        self.assertEqual([c.get("refusal") for c in report["weirctl"]], [unknown, None, None])
        self.assertEqual([c["time_ns"] for c in report["weirctl"]], [5e5, 1e6, 1.5e6])
        self.assertEqual(report["warnings"],
                         [f"at 500us s1 refused `weirctl flow del 10.0.0.1 10.0.0.3 2`: {unknown}"])

    def test_rates_are_of_the_run_so_far_also_behind_a_reload(self):
        faults = "{at: 500us, switch: s1, reload: {override: {switch: {lldp: on}}}}, " \
                 "{at: 1500us, switch: s1, weirctl: show ports p3}"
        _, report = run(PAIR, "--set", f"faults=[{faults}]", "--set", "expect=[]", "--metric",
                        "rate(s1.p3, 0s, 1500us)")
        port, = report["weirctl"][0]["answer"]["ports"]
        sent = list(metrics(report).values())[0]
        self.assertAlmostEqual(port["tx_bps"], sent, delta=sent / 10)

    def test_a_look_is_no_reason_for_a_slow_flow(self):
        leak = os.path.join(ROOT, "conf/lab/generations-leak.yaml")
        sets = "--set", "duration=40ms", "--set", "expect=[]"
        slow = run(leak, *sets)[1]["warnings"]
        self.assertEqual(len(slow), 1)
        for command, warned in (("show ports", slow), ("set port p2 tx on", [])):
            report = self.run_with(leak, [("1ms", command)], *sets)
            self.assertEqual(report["warnings"], warned)

    def test_drop_all_begins_and_ends(self):
        report = self.run_with(PAIR, [("500us", "watchdog drop-all on"),
                                      ("1ms", "watchdog drop-all off")],
                               "--metric", "drops(s1, 0s, 500us)", "--metric",
                               "drops(s1, 500us, 1ms)", "--metric", "drops(s1, 1010us, 2ms)")
        before, while_on, after = metrics(report).values()
        self.assertEqual((before, after), (0, 0))
        self.assertGreater(while_on, 100)

    def test_a_zone_tells_the_hosts_what_a_zone_of_the_policy_does(self):
        code, report = run(os.path.join(ROOT, "conf/lab/inof-zone.yaml"), "--set", "faults=[{at: "
                           "1000100us, switch: s1, weirctl: "
                           "inof zone add z 10.0.0.2-10.0.0.100}]")
        self.assertEqual(code, 0, report["expectations"])
        self.assertEqual(len(report["weirctl"][0]["answer"]["notices"]), 90)

    def test_a_mistake_in_a_command_is_found_before_the_run(self):
        for text, why in (("set queue p3 8 tx off", "a queue is a number from 0 to 7"),
                          ("reload", "the commands here are set watchdog flow inof show"),
                          ("show prots", "did you mean ports?")):
            done = lab("run", PAIR, "--set",
                       f"faults=[{{at: 1ms, switch: s1, weirctl: [show ports, {text}]}}]")
            self.assertEqual(done.returncode, 2)
            self.assertIn("faults[0].weirctl: ", done.stderr)
            self.assertIn(why, done.stderr)
        self.assertIn("has no command",
                      lab("check", PAIR, "--set", "faults=[{at: 1ms, switch: s1, weirctl: []}]")
                      .stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
