#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of scripts/run on switches that do something else: those that should must turn red.

usage: test_checks_can_fail.py BUILD_DIR      (virtual wires, no root)
"""
import io
import os
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts", "netlab"))

from acts import ACTS, P3_FAST, P3_SLOW, PFC_OFF, PFC_ON, judge, lossless_weights # noqa: E402
from play import Virtual # noqa: E402
from screen import Screen # noqa: E402

STORY = os.path.join(sys.argv[1], "tests/lab/weir-story")
SAMPLE = os.path.join(ROOT, "conf/lab.yaml")
with open(SAMPLE) as f:
    WEIGHTS = lossless_weights(f.read())

# act, what the policy says instead, and the checks that must fail.
CASES = [
    (1, [(PFC_ON, PFC_OFF)], ["no frame of a lossless class was dropped",
                              "sent - received on the wire is zero",
                              "PFC was sent on both senders' ports, both classes"]),
    (1, [(P3_SLOW, P3_FAST)], ["every priority group reached its XOFF threshold",
                               "PFC was sent on both senders' ports, both classes",
                               "the two classes were served by weight"]),
    (1, [("schedule: {dwrr: 30}", "schedule: {dwrr: 60}")],
     ["the two classes were served by weight"]),
    (2, [], ["frames of the lossless classes were dropped", "the senders had to send again",
             "the switch dropped just what the endpoints miss",
             "no PFC frame was sent or received"]),
    (3, [("kmin: 50KB", "kmin: 1KB"), ("alpha: 1", "alpha: 1/128")],
     ["nothing was marked", "no PFC frame was sent or received"]),
]


def counters_off_by_one(result):
    """Each exact check sees one frame too few, or one that is broken."""
    result.receiver["rx_frames"] -= 1
    result.receiver["acks_sent"] += 1
    result.receiver["icrc_errors"] += 1
    result.senders[0]["classes"][3]["rx_pause"] -= 1
    result.balance["transmitted"] -= 1
    return ["sent - received on the wire is zero", "every acknowledgement arrived",
            "payload and iCRC intact at the receiver",
            "every PFC frame arrived at its sender", "the balance of frames is exact at rest"]


def play(act, edits):
    """The checks of an act, played with a policy edited in every place."""
    virtual = Virtual(STORY, Screen(io.StringIO()), SAMPLE)
    for old, new in edits:
        assert old in virtual.policy, old
        virtual.policy = virtual.policy.replace(old, new)
    kept, ACTS[act]["edits"] = ACTS[act]["edits"], []
    try:
        result = virtual.play(act, 2)
    finally:
        ACTS[act]["edits"] = kept
    result.weights = WEIGHTS # what the sample says, not what was played
    return result


def expect_red(name, act, result, must):
    red = [c["check"] for c in judge(act, result) if not c["ok"]]
    missing = [c for c in must if c not in red]
    print(f"{'FAILED' if missing else 'ok    '}  {name}: red are {red}")
    for c in missing:
        print(f"        stays green: {c}")
    return bool(missing)


failed = 0
for act, edits, must in CASES:
    failed += expect_red(f"act {act} with {edits}", act, play(act, edits), must)
good = play(1, [])
wrong = counters_off_by_one(good)
failed += expect_red("act 1 off by one", 1, good, wrong)
sys.exit(1 if failed else 0)
