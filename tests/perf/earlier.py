# SPDX-License-Identifier: Apache-2.0
"""The figures of this run beside those of an earlier one: which rows are worse? Pure functions.

A row is compared by its ratio to a program that ran on the same ports in the same run, because a
busy or slower machine changes both. A row without such a program is compared by its own figure,
and then both runs must be of the same machine.
"""
IDENTITY = ("host", "model", "cpus", "bogomips") # of a machine
TOLERANCE = 10 # per cent
LOWER, HIGHER = "lower", "higher" # is better
# Peers by how much of a switch's work they do: the more, the less a processor's model matters.
PEERS = ("ovs", "macswap", "io")
# The same code with standing queues varies by a third of the figure (docs/performance.md).
STANDING = 3 # times the tolerance
WORSE, BETTER, SAME = "WORSE", "better", "same"

# Kind of row, figure, which is better, whether the figure depends on the machine.
COMPARED = [
    ("packet", "cycles", LOWER, True),
    ("flows", "on", LOWER, True),
    ("xdp", "cycles", LOWER, True),
    ("start", "first_frame_s", LOWER, True),
    ("start", "memory_mib", LOWER, False),
    ("lab", "mhops", HIGHER, True),
    ("rfc2544", "trend", HIGHER, True),
]


def why_no_run(found):
    """Why this is no run of scripts/bench --json. None: it is one."""
    if not isinstance(found, dict) or not isinstance(found.get("machine"), dict) \
            or not all(isinstance(row, dict) and "key" in row for row in found.get("rows", [0])):
        return "no figures of scripts/bench --json"
    kinds = {kind for kind, *_ in COMPARED}
    if not any(row.get("kind") in kinds for row in found["rows"]):
        return "no row that can be compared"
    return None


def differences(this, other):
    """What tells the two machines apart, in words; [] for the same machine."""
    return [f"{key} {other[key]}, now {this[key]}" for key in IDENTITY
            if key in this and key in other and this[key] != other[key]]


def measure_of(row, old, figure, depends, same_machine):
    """How the row is compared: (name, value now, value earlier). None: it cannot be."""
    if not row.get(figure) or not old.get(figure):
        return None
    for peer in PEERS if depends else ():
        if row.get(peer) and old.get(peer):
            return f"{figure}, to {peer}", row[figure] / row[peer], old[figure] / old[peer]
    if depends and not same_machine:
        return None
    return figure, row[figure], old[figure]


def verdict(worse, tolerance):
    """worse: now by earlier, above 1 if it is worse."""
    limit = 1 + tolerance / 100
    return WORSE if worse > limit else BETTER if worse < 1 / limit else SAME


def compare(now, earlier, tolerance=TOLERANCE):
    """Two runs: (rows that were compared, keys that could not be compared)."""
    same_machine = not differences(now["machine"], earlier["machine"])
    before = {row["key"]: row for row in earlier["rows"]}
    found, without = [], []
    for row in now["rows"]:
        for _, figure, better, depends in [c for c in COMPARED if c[0] == row["kind"]]:
            if figure not in row:
                continue # a peer's row
            by = measure_of(row, before.get(row["key"], {}), figure, depends, same_machine)
            if by is None:
                without.append(f"{row['key']} ({figure})")
                continue
            name, this, other = by
            worse = this / other if better == LOWER else other / this
            found.append({"kind": "earlier", "key": row["key"], "by": name, "this": this,
                          "other": other, "change": this / other - 1,
                          "verdict": verdict(worse, tolerance * (
                              STANDING if row.get("queue") == "standing" else 1))})
    return found, without
