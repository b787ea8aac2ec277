# SPDX-License-Identifier: Apache-2.0
"""What pairs of figures say: is this build faster, slower, or the same? Pure functions.

A layout is an order of the functions in memory. Two builds differ by the layout as well as by the
change, so the layout is the unit: all pairs of a layout count as one value, their median. The
result is the median of those values. Its interval is the one of the sign test: order statistics,
and no assumption on the noise. More turns of the same layout therefore never narrow the interval
below what the layouts disagree by; more layouts do.
"""
import math
import statistics

CONFIDENCE = 0.95
LIMIT = 0.01  # a difference below 1 % is none, and an interval wider than 1 % says nothing
FASTER, SLOWER, SAME, UNDECIDED = "faster", "slower", "same", "undecided"


def schedule(turn, layouts):
    """The runs of a turn: (layout, the other build first?). Each turn has layouts of its own."""
    return [(n, n % 2 == 1) for n in range(turn * layouts, (turn + 1) * layouts)]


def interval(values):
    """The interval of the median. None: too few values for that confidence."""
    ordered, n = sorted(values), len(values)
    outside, rank = 0, 0
    while 2 * (outside := outside + math.comb(n, rank) / 2 ** n) <= 1 - CONFIDENCE:
        rank += 1
    return (ordered[rank - 1], ordered[n - rank]) if rank > 0 else None


def decide(ratio, low, high):
    if high - low > LIMIT:
        return UNDECIDED
    if 1 - LIMIT <= low and high <= 1 + LIMIT:
        return SAME
    if ratio <= 1 - LIMIT and high < 1:
        return FASTER
    if ratio >= 1 + LIMIT and low > 1:
        return SLOWER
    return UNDECIDED


def judge(pairs):
    """The result of pairs (layout, cycles of this build, cycles of the other build)."""
    by_layout = {}
    for layout, this, other in pairs:
        by_layout.setdefault(layout, []).append(this / other)
    values = [statistics.median(ratios) for ratios in by_layout.values()]
    found = {"this": statistics.median(this for _, this, _ in pairs),
             "other": statistics.median(other for _, _, other in pairs),
             "ratio": statistics.median(values), "layouts": len(values), "pairs": len(pairs),
             "low": None, "high": None, "verdict": UNDECIDED}
    ends = interval(values)
    if ends:
        found["low"], found["high"] = ends
        found["verdict"] = decide(found["ratio"], *ends)
    return found
