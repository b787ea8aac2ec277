#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/run --inof`: hosts are told in order and by the right reason, each check can fail, and
nothing is left. No times are judged.

usage: test_story.py BUILD_DIR
"""
import copy
import json
import os
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, *where) for where in (("..", "live"), ("..", "..", "lab"))]
import live # noqa: E402
import page # noqa: E402
from live import left_behind, want # noqa: E402

import inof # noqa: E402: the path is set by live
from readable import on_terminal, too_wide # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
OPTIONS = ["--no-setup", "--build", BUILD]
RECORDS = [] # of the act
N_CHECKS = sum(map(len, inof.CHECKS.values()))


def the_story_of_the_page_holds_its_checks():
    command, = page.commands("inof.md", "See it")
    with tempfile.NamedTemporaryFile("r", suffix=".json") as f:
        status, shown = on_terminal([os.path.join(live.ROOT, command[0]), *command[1:], *OPTIONS,
                                     "--json", f.name], 80, 24)
        text = f.read()
    want(text, shown)
    record = json.loads(text)
    want(status == 0 and record["ok"], shown)
    act, = record["acts"]
    RECORDS.append(act)
    want(f"{N_CHECKS} of {N_CHECKS} checks hold" in shown, shown)
    want(not too_wide(shown, 80), too_wide(shown, 80))
    places = [shown.index(f"{n}. {title}") for n, (title, _) in
              enumerate(inof.PARTS.values(), 1)]
    want(places == sorted(places), f"the parts are in order\n{shown}")
    for reason in ("zone-change", "link-down", "pfc-storm", "no-answer"):
        want(reason in shown, shown)
    want(left_behind(live.RUNTIMES) == [], f"left behind: {left_behind(live.RUNTIMES)}")


def result_of(record):
    """What the checks look at."""
    r = inof.Result()
    r.at, r.events, r.log, r.peers, r.bytes, r.reports, r.status = (
        copy.deepcopy(record[k]) for k in ("at", "events", "log", "peers", "bytes", "reports",
                                           "status"))
    return r


def every_check_can_fail():
    """Each is broken by what hosts and switches could have done wrong."""
    broken = set()
    checks = {text: (part, fn) for part, rows in inof.CHECKS.items() for text, fn in rows}

    def breaks(text, change):
        r = result_of(RECORDS[0])
        check = checks[text][1]
        want(check(r)[0], f"{text}: holds before")
        change(r)
        want(not check(r)[0], f"{text}: holds all the same")
        broken.add(text)

    def first(r, part, host, step):
        return r.of(part, host, step)[0]

    def without(part, host, step):
        return lambda r: r.events[part][host].remove(first(r, part, host, step))

    def other(part, host, step, **keys):
        return lambda r: first(r, part, host, step).update(keys)

    def more(part, host, step, **keys):
        return lambda r: r.events[part][host].append({"t": 0, "step": step, "seq": "1",
                                                      "peer": "t1", "reason": "none",
                                                      "state": "online", **keys})

    def swapped(part, host, *steps):
        def change(r):
            a, b = (first(r, part, host, step) for step in steps)
            a["step"], b["step"] = b["step"], a["step"]
        return change

    breaks("hosts of the other switch come by BGP", lambda r: r.peers["1"].remove("i2"))
    breaks("hosts of the other switch come by BGP", lambda r: r.peers["2"].append("t2"))
    breaks("initiators use the first path", without("come", "i3", "start"))
    breaks("initiators use the first path", more("come", "i1", "connect", peer="t2"))
    breaks("initiators use the first path", other("come", "i2", "notice", reason="zone-change"))
    text = "I/O of i3 ends, that of others does not"
    breaks(text, lambda r: r.bytes.update(i3=1))
    breaks(text, lambda r: r.bytes.update(i1=0))
    breaks(text, lambda r: r.bytes.update(i2=0))
    breaks(text, other("zone", "i3", "disconnect", how="path"))
    breaks(text, other("zone", "i3", "disconnect", reason="link-down"))
    breaks(text, more("zone", "i3", "connect"))
    breaks(text, more("zone", "i2", "disconnect"))
    text = "only i3 and its targets are told"
    breaks(text, more("zone", "i1", "notice"))
    breaks(text, more("join", "i2", "notice"))
    breaks(text, lambda r: r.log["zone"].pop())
    breaks(text, lambda r: r.log["zone"].append(r.log["zone"][0]))
    breaks(text, lambda r: r.log["zone"][0].update(receiver="i1"))
    breaks(text, lambda r: r.log["zone"][0].update(reason="link-down"))
    breaks("i3 has both paths again", without("join", "i3", "notice"))
    breaks("i3 has both paths again", without("join", "i3", "resume"))
    for part, gone, spare, reason in (("cut", "t1", "t2", "link-down"),
                                      ("storm", "t2", "t1", "pfc-storm"),
                                      ("hang", "t1", "t2", "no-answer")):
        if part != "hang":
            text = f"all are told {reason}, and answer"
            breaks(text, without(part, "i3", "notice"))
            breaks(text, more(part, "i1", "notice"))
            breaks(text, other(part, "i2", "notice", reason="aged-out"))
            breaks(text, lambda r, part=part: r.log[part][-1].update(answered_us=None))
            text = f"I/O moves from {gone} to {spare}"
        else:
            text = f"the keep-alive moves I/O from {gone} to {spare}"
        breaks(text, without(part, "i1", "resume"))
        breaks(text, other(part, "i2", "resume", peer=gone))
        breaks(text, other(part, "i3", "disconnect", reason="bfd-down"))
        breaks(text, swapped(part, "i1", "disconnect", "connect"))
    for part, back in (("mend", "t1"), ("calm", "t2")):
        text = f"{back} is back, and no I/O moves"
        breaks(text, without(part, "i3", "notice"))
        breaks(text, more(part, "i1", "connect"))
        breaks(text, more(part, "i2", "notice"))
    text = "no switch tells of a host that hangs"
    breaks(text, more("hang", "i1", "notice"))
    breaks(text, lambda r: r.log["hang"].append(r.log["cut"][0]))
    text = "messages fail only where the zone ends I/O"
    breaks(text, lambda r: r.reports["i1"]["inof"].update(messages_failed=1))
    breaks(text, lambda r: r.reports["i3"]["inof"].update(messages_failed=0))
    breaks(text, lambda r: r.reports["i2"].update(error="no answer"))
    breaks("every frame is accounted for", lambda r: r.status.update({"2": 1}))
    want(broken == set(checks), f"all checks: {set(checks) - broken}")


def a_notice_that_is_repeated_counts_once():
    r = result_of(RECORDS[0])
    events = r.events["cut"]["i1"]
    events.append(copy.deepcopy(r.of("cut", "i1", "notice")[0]))
    want(inof.told_of("cut")(r)[0], "the same sequence number")


def an_interrupted_run_removes_what_it_made():
    env = {k: v for k, v in os.environ.items() if k != "WEIR_CONTAINED"} # it contains itself
    p = subprocess.Popen([os.path.join(live.ROOT, "scripts/run"), *OPTIONS, "--inof"], env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    said = ""
    while inof.PARTS["cut"][0] not in said:
        line = p.stdout.readline()
        want(line, said)
        said += line
    p.send_signal(signal.SIGTERM)
    said += p.stdout.read()
    want(p.wait(30) == 130, said)
    want(left_behind(live.RUNTIMES) == [], f"left behind: {left_behind(live.RUNTIMES)}")


def options_that_do_not_go_with_it_are_refused():
    for args in (["--act", "1"], ["--seconds", "3"], ["--virtual"], ["--storm"], ["--bgp"],
                 ["--auto"]):
        done = subprocess.run([os.path.join(live.ROOT, "scripts/run"), *OPTIONS, "--inof", *args],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        want(done.returncode == 2, f"{args}: exit status {done.returncode}")
        want("--inof has one act" in done.stderr or "on live ports" in done.stderr, done.stderr)


live.need_root("exabgp", "vtysh")
STATUS = live.run_tests([options_that_do_not_go_with_it_are_refused,
                         an_interrupted_run_removes_what_it_made,
                         the_story_of_the_page_holds_its_checks])
sys.exit(STATUS or live.run_tests([every_check_can_fail, a_notice_that_is_repeated_counts_once]))
