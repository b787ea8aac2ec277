# SPDX-License-Identifier: Apache-2.0
"""What the stories show: the scene of an act, the live table, the checks, and the end."""
from screen import ALARM, BOLD, DIM, GREEN, YELLOW, wrapped
from switch import pick

NAME_COLUMNS = 52 # of a check
WIDTHS = (7, 6, 5, 8, 9, 10, 9, 8, 9, 8) # of the live table
HEADS = ("  port", "class", "now", "in Gb/s", "out Gb/s", "buffer KB", "queue KB", "marked",
         "PFC sent", "dropped")
MILLION = 10 ** 6


def count(n):
    return f"{n:,}"


def kb(n):
    return f"{n / 1000:,.0f} KB"


def aligned(texts, widths, left=2):
    """Cells as wide as their columns; the first `left` of them begin at the left."""
    return [f"{t:<{w}}" if i < left else f"{t:>{w}}"
            for i, (t, w) in enumerate(zip(texts, widths))]


def scene(screen, act, of, title, picture, text):
    """What an act is about, before it begins."""
    screen.say()
    screen.say(f"act {act} of {of}: {title}", BOLD)
    screen.say()
    for line in picture.strip("\n").splitlines():
        screen.row(line)
    screen.say()
    for sentence in text:
        screen.say(f"  {sentence}")
    screen.say()


def second_window(screen, weirctl, switch, kinds, private):
    """The commands that show the same switch, from another terminal."""
    if private:
        screen.say("A second window cannot reach this switch: an outer scripts/contain hides it.")
        return
    screen.say("As root in a second window, in this folder, while an act runs:")
    for kind in kinds:
        screen.command(f"{weirctl} -s {switch} show {kind}")


# ---- the live table


def drops_of(sample, port, cls):
    return sum(d["packets"] for d in sample["drops"] if d["port"] == port and d["class"] == cls)


def rate(gbps):
    text = f"{gbps:.1f}"
    return "-" if text == "0.0" else text


def short(n):
    """A count that fits its column; nothing counted is a dash."""
    if n == 0:
        return "-"
    return count(n) if n < MILLION else f"{n / MILLION:,.1f}M"


class LiveRow:
    """A class at a port: rates since the sample before, levels now, counts since the start."""

    def __init__(self, now, before, port, cls):
        seconds = max(now["t"] - before["t"], 1e-9)
        self.port, self.cls = port, cls
        pg, pg0 = (pick(s["pgs"], port=port, **{"class": cls}) for s in (now, before))
        q, q0 = (pick(s["queues"], port=port, **{"class": cls}) for s in (now, before))
        pfc, pfc0 = (pick(s["pfc"], port=port, **{"class": cls}) for s in (now, before))
        self.into = (pg["rx_bytes"] - pg0["rx_bytes"]) * 8 / seconds / 1e9
        self.out = (q["tx_bytes"] - q0["tx_bytes"]) * 8 / seconds / 1e9
        self.held = sum(pg[k] for k in ("shared_bytes", "headroom_bytes", "skid_bytes")) / 1e3
        self.length = q["length_bytes"] / 1e3
        self.marked, self.marks = q["ecn_marked"], q["ecn_marked"] - q0["ecn_marked"]
        self.pauses = pfc.get("tx_pause", 0)
        self.pausing = self.pauses > pfc0.get("tx_pause", 0)
        self.drops = drops_of(now, port, cls)
        self.losing = self.drops > drops_of(before, port, cls)

    def cells(self, receiver, sending):
        """All classes of the table are lossless, so each drop is an alarm."""
        rates = [rate(self.into), rate(self.out)]
        carries = int(self.port == receiver) # frames leave there, and enter at the others
        still = sending and rates[carries] == "-"
        if still:
            rates[carries] = "0.0"
        word, colour = next((w for w in ((("LOSS", ALARM), self.losing), (("STILL", ALARM), still),
                                         (("PAUSE", YELLOW), self.pausing),
                                         (("marks", None), self.marks)) if w[1]), (("", None),))[0]
        texts = aligned((f"  {self.port}", self.cls, word, *rates, short(round(self.held)),
                         short(round(self.length)), short(self.marked), short(self.pauses),
                         short(self.drops)), WIDTHS, 3)
        colours = [None, None, colour] + [None] * 7
        if still:
            colours[3 + carries] = ALARM
        if self.drops:
            colours[9] = ALARM
        return list(zip(texts, colours))


def live_table(text, now, before, classes, receiver, sending):
    lines = [[(f"  {text}", DIM)],
             [(c, BOLD) for c in aligned(HEADS, WIDTHS, 3)]]
    for port in sorted({q["port"] for q in now["queues"]}):
        lines += [LiveRow(now, before, port, c).cells(receiver, sending) for c in classes]
    return lines


# ---- the end


def at_rest(screen, balance):
    queued = balance["queued"]
    screen.say(f"  at rest: {count(queued) if queued else 'no'} frames wait in the switch",
               ALARM if queued else DIM)


def show_checks(screen, checks):
    """Every check of an act, with its figures beside it or below it."""
    screen.say()
    for c in checks:
        mark, colour = ("✓", GREEN) if c["ok"] else ("✗", ALARM)
        rest = f" {c['check']:<{NAME_COLUMNS}} {c['figures']}"
        if len(rest) + 3 <= screen.size()[0]:
            screen.row(["  ", (mark, colour), rest])
            continue
        name, *more = wrapped(c["check"], screen.size()[0] - 4)
        screen.row(["  ", (mark, colour), f" {name}"])
        for line in more:
            screen.row(f"    {line}")
        screen.say(f"      {c['figures']}", None if c["ok"] else ALARM)


def report(screen, acts, seen, read_on):
    """How many checks hold, what was seen, and where to go next. Returns whether all hold."""
    checks = [c["ok"] for act in acts for c in act["checks"]]
    held, total = sum(checks), len(checks)
    screen.say()
    screen.say(f"{held} of {total} checks hold", GREEN if held == total else ALARM)
    screen.say()
    screen.say("What you saw", BOLD)
    for line in seen:
        screen.say(f"  {line}", indent=4)
    screen.say()
    screen.say("Where to go next", BOLD)
    for line in read_on:
        screen.say(f"  {line}", indent=4)
    return held == total and total > 0
