# SPDX-License-Identifier: Apache-2.0
"""Two build directories in turns, row by row. verdict.py judges the figures."""
import json
import os
import time

import tools
from layouts import TARGET, Layouts
from tools import Failed, run
from verdict import UNDECIDED, judge, schedule

FIRST_TURNS = 4  # of a row, before its first verdict
SAY_EVERY_S = 10
MISUSED = 2  # exit status of weir-bench
REAL_TIME = ["chrt", "-f", "50"]


class Unknown(Exception):
    """A build does not know the row."""


def why_no_build(build):
    """Why this directory cannot be compared with. None: it can."""
    if not os.path.isfile(os.path.join(build, "build.ninja")):
        return f"{build} is no build directory: it has no build.ninja"
    if not os.access(os.path.join(build, TARGET), os.X_OK):
        return f"{build} has no {TARGET}; run ninja -C {build}"
    return None


class Side:
    """One of the two builds."""

    def __init__(self, name, build, folder, options):
        self.name, self.options = name, options
        self.layouts = Layouts(name, build, folder)
        self.layouts.path(0) # a build that cannot be linked anew ends the run here
        allowed = run(*REAL_TIME, "true", check=False).returncode == 0
        self.prefix = REAL_TIME if allowed else []

    def cycles(self, row, layout):
        """Cycles per packet of one run."""
        options = [*self.options, "--queue", row["queue"], *row["options"]]
        done = run(*self.prefix, self.layouts.path(layout), "--json", *map(str, options),
                   check=False, timeout=300)
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        if done.returncode == MISUSED:
            raise Unknown(f"weir-bench of {self.name} says: {lines[0].rpartition(': ')[2]}")
        if done.returncode != 0:
            raise Failed(f"weir-bench of {self.name} failed: {lines[-1]}")
        found = json.loads(done.stdout[done.stdout.find("{"):])[row["queue"]]
        if row["figure"] not in found:
            raise Unknown(f"weir-bench of {self.name} prints no {row['figure']}")
        return found[row["figure"]]


def pair(row, sides, layout, swapped):
    """(layout, cycles of this build, cycles of the other build)."""
    found = {side: side.cycles(row, layout) for side in (sides[::-1] if swapped else sides)}
    return layout, *(found[side] for side in sides)


def say(row, turns, result):
    ends = f"{result['low']:.4f} to {result['high']:.4f}" if result["low"] else "few pairs"
    tools.say(f"bench: {row['key']}: {turns} turns, {result['ratio']:.4f} ({ends}), "
              f"{result['verdict']}")


def compare(row, sides, n_layouts, max_turns):
    """Turns until the row is decided. Returns the row with its result and all its pairs."""
    pairs, said = [], time.monotonic()
    for turn in range(max_turns):
        for layout, swapped in schedule(turn, n_layouts):
            pairs.append(pair(row, sides, layout, swapped))
        if turn + 1 < min(FIRST_TURNS, max_turns):
            continue
        result = judge(pairs)
        if result["verdict"] != UNDECIDED:
            break
        if time.monotonic() - said > SAY_EVERY_S:
            say(row, turn + 1, result)
            said = time.monotonic()
    say(row, turn + 1, result)
    return {"kind": "against", "key": row["key"], "turns": turn + 1, **result, "runs": pairs}
