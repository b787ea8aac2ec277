#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The stories of scripts/run on terminals of several sizes, and in a pipe.

usage: test_story_screens.py BUILD_DIR [CASE...]      (virtual wires and made-up samples, no root)
       test_story_screens.py BUILD_DIR --show STORY   (shows one of them)
"""
import functools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, "smoke", "live")]

import live # noqa: E402
from live import ROOT, want # noqa: E402

import acts # noqa: E402: the path is set by live
import auto # noqa: E402
import ipcc # noqa: E402
import storm # noqa: E402
import table # noqa: E402
from play import Virtual, draw, progress # noqa: E402
from readable import figures, lines_of, on_terminal, too_wide, zero_tables # noqa: E402
from screen import ALARM, Screen # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
SAMPLES = os.path.join(tempfile.gettempdir(), "story-samples.json")
SIZES = ((80, 24), (40, 10), (120, 40), (200, 50))
CHECK = {"check": "frames of the lossless classes were dropped", "ok": False,
         "figures": "1,234,567 missed of 12,345,678 frames sent, 1,234,567 dropped"}
READ_ON = ["docs/first-light.md explains each column and each check."]
EVENT = ("2026-11-22T17:05:45.603614Z alarm pfc-storm: the watchdog found a PFC storm; the class "
         "is in recovery port=p3 class=3 action=drop measured_us=100000")


# ---- stories without live ports


class Recorded:
    """A switch that answers with one text."""

    name = "story"

    @staticmethod
    def ctl(*_):
        return ("p1 class 3 has paused its sender for 2.01 s because p3 class 3 holds 472.3 KB of "
                "it, and p3 is itself paused by its peer, for 2.29 s\n"
                "    the root is behind p3 class 3: look at its peer\n")


def storm_sample(t, act):
    """h3 pauses from 3 to 7 s. In act 1 class 3 stands still meanwhile, in act 2 only at p3."""
    mad = min(max(t - 3, 0), 4)
    found, restored = act == 2 and t >= 3.1, act == 2 and t >= 7.4
    moving = {("p2", 3): t - mad * (act == 1), ("p3", 3): t - mad}
    return {"t": t,
            "queues": [{"port": p, "queue": q, "tx_bytes": int(moving.get((p, q), t) * 1.5e6)}
                       for p in ("p1", "p2", "p3") for q in (0, 3)],
            "pfc": [{"port": p, "class": 3, "rx_pause": int(mad * 10) if p == "p3" else 0,
                     "tx_pause_duration_us": int(mad * 1e6) if p == "p1" and act == 1 else 0}
                    for p in ("p1", "p2", "p3")],
            "watchdog": [{"port": "p3", "class": 3, "detected": int(found),
                          "status": "stormed" if found and not restored else "operational",
                          "restored": int(restored), "last_measured_us": 100900,
                          "tx_dropped": int(found) * 4270, "rx_dropped": 0}]}


def show_storm(screen):
    play = storm.StormPlay(None, screen, os.path.join(ROOT, "conf/storm.yaml"), "story")
    for act in storm.TITLES:
        r = play.results[act] = storm.Result()
        r.storm, r.mid = (3, 6.5), {"causes": [{"port": "p1", "class": 3, "cause_port": "p3"}]}
        table.scene(screen, act, 2, storm.TITLES[act], storm.PICTURE, storm.TEXTS[act])
        narrator = storm.Narrator(screen, act)
        narrator.head()
        for i in range(40):
            r.samples.append(storm_sample(i / 4, act))
            narrator.take(r, i / 4)
        r.final = r.samples[-1]
        play.tell(Recorded, "show pfc --why", Recorded.ctl().splitlines())
        play.tell(Recorded, "show events", [EVENT])
        table.show_checks(screen, [CHECK])
    table.report(screen, [{"checks": [CHECK]}], play.seen([]), READ_ON)


def show_ipcc(screen):
    play = ipcc.IpccPlay.__new__(ipcc.IpccPlay)
    play.screen, play.results, play.ecn = screen, {}, None
    for act in ipcc.TITLES:
        r = play.results[act] = ipcc.Result()
        table.scene(screen, act, 2, ipcc.TITLES[act], ipcc.PICTURE, ipcc.TEXTS[act])
        queue = {"port": "p4", "queue": 3, "max_bytes": 1234567 // act, "tx_bytes": 10 ** 8}
        for second in range(1, 6):
            screen.status(f"  act {act} of 2, {second} of 6 s")
            play.line([queue], [{"cnps_seen": 1000 * second, "cnps_sent": 500 * (act - 1)}], r,
                      act, second)
        play.ecn = play.ecn or r
        r.final = {"queues": [queue]}
        r.window = ({"t": 0, "queues": [dict(queue, tx_bytes=0)]}, {"t": 0.02, "queues": [queue]})
        play.show_flows("story", [{"from": "10.0.0.1", "to": "10.0.0.4", "sender_qp": 0xcc82bb,
                                   "source": "cm", "rate_bps": 15.5e9, "cnps_seen": 1000,
                                   "cnps_sent": 1000}] * 2)
        play.show_cnps("story", [{"from": "10.0.0.1", "sender_qp": 0xcc82bb, "length_bytes": 67100,
                                  "kmin_bytes": 5000, "trend_bytes": 1100, "share_percent": 26,
                                  "told": 2}] * 2)
        table.show_checks(screen, [CHECK])
    table.report(screen, [{"checks": [CHECK]}], play.seen([]), READ_ON)


def auto_row(t, mode, kmin):
    return {"t": t, "port": "p9", "queue": 3, "mode": mode, "model": "incast-many",
            "kmin_bytes": kmin, "kmax_bytes": 4 * kmin, "pmax_percent": 20, "since_us": 156000,
            "utilisation_percent": 100, "threshold_changes": round(t), "marks_percent": 99.9,
            "delay_p99_us": 1234, "reason": "the traffic is that of a row of the model"}


def show_auto(screen):
    play = auto.AutoPlay(None, screen, os.path.join(ROOT, "conf/auto-ecn.yaml"), "story")
    r = play.results[1] = auto.Result()
    table.scene(screen, 1, 1, auto.TITLES[1], auto.PICTURE, auto.TEXTS)
    play.head()
    for n, (workload, kmin) in enumerate(zip(auto.PHASES, (160000, 3044, 160000))):
        r.phases.append({"workload": workload, "rows": []})
        for i in range(4):
            screen.status(f"  {workload}, {n + 1} of 3: {i} s")
            mode = "start" if i < 2 else "model"
            r.add(auto_row(1000 * n + 20 * i, mode, kmin if i > 1 else 5000))
            play.line(workload, r.rows(n)[-1])
    play.show_state(Recorded, r.rows(-1)[-1])
    play.tell(Recorded, "show events", [EVENT])
    table.show_checks(screen, [CHECK])
    table.report(screen, [{"checks": [CHECK]}], play.seen([]), READ_ON)


def record():
    """Samples of act 2 on virtual wires, in a file."""
    virtual = Virtual(os.path.join(BUILD, "tests/lab/weir-story"), None,
                      os.path.join(ROOT, "conf/lab.yaml"))
    told = virtual.tell(acts.policy_of(2, virtual.policy, "lab"), acts.plan_of(2, 2))
    with open(SAMPLES, "w") as f:
        json.dump(told["samples"], f)


def show_live(screen):
    """The live table of act 2, with moments at which all senders wait for their timers."""
    table.second_window(screen, "build/control/ctl/weirctl", "story", ["pfc"], False)
    act = acts.ACTS[2]
    table.scene(screen, 2, 3, act["title"], act["picture"], act["text"])
    result = acts.Result({3: 60, 5: 30})
    with open(SAMPLES) as f:
        result.samples = json.load(f)
    result.final = result.samples[-1]
    for i in range(1, len(result.samples)):
        draw(screen, result, progress(2, i / 2, 4, result.samples[i]["t"]), i, sending=True)
    table.report(screen, [{"checks": [CHECK]}], acts.seen([
        {"act": 2, "switch": result.final}]), READ_ON)


SHOWS = {"live": show_live, "storm": show_storm, "ipcc": show_ipcc, "auto": show_auto}
COMMANDS = {name: [sys.executable, "-B", __file__, BUILD, "--show", name] for name in SHOWS}
COMMANDS["virtual"] = [sys.executable, "-B", os.path.join(ROOT, "scripts/netlab"), "--virtual",
                       "--build", BUILD]


@functools.cache
def in_pipe(name):
    return subprocess.run(COMMANDS[name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True, env={**os.environ, "TERM": "xterm"}, text=True).stdout


@functools.cache
def at(columns, rows, name, **env):
    status, text = on_terminal(COMMANDS[name], columns, rows, **env)
    want(status == 0, f"{name} at {columns}x{rows}: status {status}\n{text}")
    return text


# ---- cases


def every_line_fits_every_terminal():
    for name in COMMANDS:
        for columns, rows in SIZES:
            text = at(columns, rows, name)
            wide = too_wide(text, columns)
            want(not wide, f"{name} at {columns}x{rows}:\n" + "\n".join(wide))
            want(not zero_tables(text), f"{name}: all is zero in\n{zero_tables(text)}")


def a_pipe_gets_plain_lines():
    for name in COMMANDS:
        text = in_pipe(name)
        want("\033" not in text and "\r" not in text, f"{name} moves the cursor of a pipe")
        want(not too_wide(text, 80), f"{name}: {too_wide(text, 80)}")
        want(not zero_tables(text), f"{name}: all is zero in\n{zero_tables(text)}")


def no_colour_is_no_colour():
    for name in COMMANDS:
        text = at(80, 24, name, NO_COLOR="1")
        want(not re.search(r"\033\[[0-9;]*m", text), f"{name} has colours despite NO_COLOR")
        text = at(80, 24, name, TERM="dumb")
        want("\033" not in text, f"{name} sends escape sequences to a dumb terminal")


def an_alarm_has_a_colour_and_a_word():
    for name, words in (("live", ("LOSS", "STILL", "0.0")), ("storm", ("STILL 0.0", "STORMED"))):
        text = at(80, 24, name)
        for word in words:
            want(re.search(re.escape(ALARM) + " *" + re.escape(word), text), f"{name}: {word}")


def a_story_says_what_happens():
    for name, sentences in (
            ("virtual", ("act 2 of 3", "Watch `dropped`", "p3 is the bottleneck", "model time",
                         "What you saw", "Where to go next", "at rest: no frames")),
            ("live", ("act 2 of 3, 1 of 4 s", "weirctl -s story show pfc", "model's")),
            ("storm", ("h3 begins to pause class 3", "p1 pauses h1", "h3 pauses no longer",
                       "the watchdog has found the storm after 100.9 ms", "the storm is over",
                       "real Mb/s", "act 2 of 2, 5 of 10 s", "What you saw")),
            ("ipcc", ("Watch `peak of p4`", "1,235 KB", "617 KB", "50% of the first",
                      "act 2 of 2, 3 of 6 s", "What you saw")),
            ("auto", ("h9 has 10 Gb/s", "long flows, 2 of 3: 3 s", "2040 ms",
                      "why: the traffic is that of a row of the model: incast-many",
                      "weirctl -s story show ecn auto p9", "kmin 3.0 KB; the traffic is that",
                      "The switch followed the workload by itself", "What you saw"))):
        text = at(80, 24, name)
        for sentence in sentences:
            want(sentence in text, f"{name} does not say {sentence!r}\n{text}")


def no_column_is_lost_at_80():
    for name, last in (("live", ("dropped",)), ("storm", ("watchdog", "of p3")),
                       ("ipcc", ("CNPs of the switch", "of weir", "notified")),
                       ("auto", ("p99", "CHANGES"))):
        lines = [line.rstrip() for line in lines_of(at(80, 24, name))]
        for word in last:
            want(any(line.endswith(word) for line in lines), f"{name} has no column {word}")


def act_2_shows_its_losses_and_both_peaks_are_side_by_side():
    text = in_pipe("virtual")
    lost = [line for line in lines_of(text.split("act 2 of 3")[2]) if " LOSS " in line]
    want(lost, f"no row of act 2 loses frames\n{text}")
    rows = [figures(line) for line in lines_of(in_pipe("ipcc")) if " ms " in line]
    want(["617", "1,235"] == rows[-1][1:3], f"peak and peak of act 1: {rows}")


def on_screen(text):
    """The lines that a terminal shows in the end, however many have scrolled away."""
    lines, at = [""], 0
    for part in re.split(r"(\033\[\d*[AK]|\n|\r)", re.sub(r"\033\[[0-9;]*m", "", text)):
        up = re.fullmatch(r"\033\[(\d+)A", part)
        if up:
            at -= int(up[1])
        elif part == "\n":
            at += 1
            lines += [""] * (at == len(lines))
        elif part == "\r":
            column_0 = True
            continue
        elif part == "\033[K":
            lines[at] = "" if column_0 else lines[at]
        elif part:
            lines[at] = part
        column_0 = False
    return lines


def the_live_table_is_drawn_in_place_where_it_fits():
    for rows, tables in ((24, 1), (10, 1), (8, 2)):
        text = at(80, rows, "live")
        heads = sum("in Gb/s" in line for line in on_screen(text))
        want(heads == tables if tables == 1 else "\033[8A" not in text,
             f"{heads} tables stay on a screen of {rows} rows")


def what_cannot_be_read_is_found():
    rest = "  p1   3          0.0       0.0          0         0\n"
    want(zero_tables(rest * 2) and not zero_tables(rest + rest.replace("0.0  ", "0.1  ")),
         "a table of zeros is one, and one figure is enough")
    want(zero_tables("  p1   3      -      -     -   0.0\n" * 2), "dashes are zeros")
    want(too_wide("\033[1m" + "x" * 81 + "\033[0m\n", 80), "81 columns")
    want(not too_wide("\033[1m" + "x" * 80 + "\033[0m\n", 80), "80 columns and colours")


if sys.argv[2:3] == ["--show"]:
    SHOWS[sys.argv[3]](Screen())
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    os.environ["TMPDIR"] = folder # of the stories, too
    SAMPLES = os.path.join(folder, os.path.basename(SAMPLES))
    record()
    STATUS = live.run_tests([what_cannot_be_read_is_found, every_line_fits_every_terminal,
                             a_pipe_gets_plain_lines, no_colour_is_no_colour,
                             an_alarm_has_a_colour_and_a_word, a_story_says_what_happens,
                             no_column_is_lost_at_80,
                             act_2_shows_its_losses_and_both_peaks_are_side_by_side,
                             the_live_table_is_drawn_in_place_where_it_fits])
sys.exit(STATUS)
