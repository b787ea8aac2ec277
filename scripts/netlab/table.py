# SPDX-License-Identifier: Apache-2.0
"""The live table, drawn in place on a terminal and in blocks elsewhere, and the final report."""
import sys
import time

from switch import pick

BLOCK_EVERY_S = 2
BOLD, DIM, RED, GREEN, PLAIN = "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[0m"
HEAD = (f"  {'port':<5}{'class':<6}{'in Gb/s':>9}{'out Gb/s':>10}{'buffer KB':>11}{'queue KB':>10}"
        f"{'ECN marks':>11}{'PFC sent':>10}{'PFC rcvd':>10}{'drops':>9}")


def count(n):
    return f"{n:,}"


def kb(n):
    return f"{n / 1000:,.0f} KB"


class Screen:
    def __init__(self, out=sys.stdout):
        self.out = out
        self.tty = out.isatty()
        self.drawn = 0
        self.block_at = 0

    def paint(self, text, colour):
        return f"{colour}{text}{PLAIN}" if self.tty else text

    def say(self, text=""):
        """A line that stays; what was drawn before it stays too."""
        self.drawn = 0
        print(text, file=self.out, flush=True)

    def draw(self, lines, last=False):
        """Replaces what was drawn last; where that cannot be, prints every other second or so."""
        if not self.tty:
            now = time.monotonic()
            if now < self.block_at and not last:
                return
            self.block_at = now + BLOCK_EVERY_S
        elif self.drawn:
            self.out.write(f"\033[{self.drawn}A")
        for line in lines:
            self.out.write(f"{line}\033[K\n" if self.tty else line + "\n")
        self.out.flush()
        self.drawn = 0 if last else len(lines)


def drops_of(sample, port, cls):
    return sum(d["packets"] for d in sample["drops"] if d["port"] == port and d["class"] == cls)


def live_row(now, before, seconds, port, cls):
    """One line: rates since the sample before, levels now, counts since the start."""
    pg, pg0 = (pick(s["pgs"], port=port, **{"class": cls}) for s in (now, before))
    q, q0 = (pick(s["queues"], port=port, **{"class": cls}) for s in (now, before))
    pfc = pick(now["pfc"], port=port, **{"class": cls})
    into = (pg["rx_bytes"] - pg0["rx_bytes"]) * 8 / seconds / 1e9
    out = (q["tx_bytes"] - q0["tx_bytes"]) * 8 / seconds / 1e9
    held = sum(pg[k] for k in ("shared_bytes", "headroom_bytes", "skid_bytes")) / 1e3
    length = q["length_bytes"] / 1e3
    return (f"  {port:<5}{cls:<6}{into:>9.1f}{out:>10.1f}{held:>11.0f}{length:>10.0f}"
            f"{count(q['ecn_marked']):>11}{count(pfc.get('tx_pause', 0)):>10}"
            f"{count(pfc.get('rx_pause', 0)):>10}{count(drops_of(now, port, cls)):>9}")


def live_table(screen, text, now, before, classes):
    seconds = max(now["t"] - before["t"], 1e-9)
    lines = [screen.paint(f"  {text}", DIM), screen.paint(HEAD, BOLD)]
    for port in sorted({q["port"] for q in now["queues"]}):
        lines += [live_row(now, before, seconds, port, c) for c in classes]
    return lines


def report(screen, acts):
    """Every check of every act with its figures. Returns whether all hold."""
    held = total = 0
    screen.say()
    for act in acts:
        screen.say(screen.paint(f"act {act['act']}: {act['title']}", BOLD))
        for c in act["checks"]:
            mark = screen.paint("✓", GREEN) if c["ok"] else screen.paint("✗", RED)
            screen.say(f"  {mark} {c['check']:<52} {c['figures']}")
            held += c["ok"]
            total += 1
    screen.say()
    verdict = f"{held} of {total} checks hold"
    screen.say(screen.paint(verdict, GREEN if held == total else RED))
    return held == total and total > 0
