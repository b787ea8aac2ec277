# SPDX-License-Identifier: Apache-2.0
"""Where a story is shown: a terminal of any width, or a pipe.

No line is wider than the terminal. Text breaks between words, a row of a table loses its last
columns. A pipe gets plain lines of 80 columns. NO_COLOR and TERM=dumb turn colours off; only a
terminal that can move its cursor is drawn in place.
"""
import os
import sys
import textwrap
import time

BLOCK_EVERY_S = 2
COLUMNS, ROWS, LEAST_COLUMNS, PROSE_COLUMNS = 80, 24, 20, 100
BOLD, DIM, GREEN, YELLOW, PLAIN = "\033[1m", "\033[2m", "\033[32m", "\033[33m", "\033[0m"
ALARM = "\033[1;31m"
CLEAR_LINE = "\r\033[K"


def wrapped(text, columns, indent=None):
    """Lines of a text; further lines are indented as the first one, or by `indent` blanks."""
    if indent is None:
        indent = len(text) - len(text.lstrip())
    further = " " * min(indent, columns // 2)
    return [line for part in text.split("\n")
            for line in textwrap.wrap(part, columns, subsequent_indent=further,
                                      break_on_hyphens=False) or [""]]


class Screen:
    def __init__(self, out=None):
        self.out = out or sys.stdout
        self.redraws = self.out.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.colours = self.redraws and not os.environ.get("NO_COLOR")
        self.drawn = 0 # lines that the next draw() replaces
        self.drawn_columns = 0
        self.block_at = 0
        self.has_status = False
        self.blank = False # the last line

    def size(self):
        """Columns and rows; a terminal may change both at any time."""
        try:
            columns, rows = os.get_terminal_size(self.out.fileno())
        except (OSError, ValueError):
            columns = rows = 0
        return max(columns or COLUMNS, LEAST_COLUMNS), rows or ROWS

    def paint(self, text, colour):
        return f"{colour}{text}{PLAIN}" if colour and self.colours else text

    def write(self, line):
        """A line that stays; a drawing before it stays too. Of two empty lines one is written."""
        self.clear_status()
        self.drawn = 0
        if line or not self.blank:
            print(line, file=self.out, flush=True)
        self.blank = not line

    def say(self, text="", colour=None, indent=None):
        """Text in lines as wide as the screen."""
        for line in wrapped(text, min(self.size()[0], PROSE_COLUMNS), indent):
            self.write(self.paint(line, colour))

    def command(self, text):
        """A command to copy: a shell reads its lines as one."""
        lines = wrapped(f"  {text}", self.size()[0] - 2, 6)
        for line in lines[:-1]:
            self.write(line + " \\")
        self.write(lines[-1])

    def row(self, cells):
        self.write(self.fit(cells))

    def fit(self, cells):
        """A line of cells, each a text or (text, colour), without those that do not fit."""
        left, out = self.size()[0], []
        for cell in [cells] if isinstance(cells, str) else cells:
            text, colour = (cell, None) if isinstance(cell, str) else cell
            if len(text.rstrip()) > left:
                return "".join(out) or text[:left]
            text = text[:left]
            left -= len(text)
            out.append(self.paint(text, colour))
        return "".join(out)

    def draw(self, lines, last=False):
        """Replaces the lines drawn before. Where that cannot be, prints them every two seconds."""
        columns, rows = self.size()
        if not self.redraws or len(lines) >= rows:
            now = time.monotonic()
            if now < self.block_at and not last:
                return
            self.block_at = now + BLOCK_EVERY_S
        elif self.drawn and self.drawn_columns == columns:
            self.out.write(f"\033[{self.drawn}A")
        self.blank = False
        for line in lines:
            self.out.write(self.fit(line) + ("\033[K\n" if self.redraws else "\n"))
        self.out.flush()
        in_place = self.redraws and not last and len(lines) < rows
        self.drawn, self.drawn_columns = len(lines) if in_place else 0, columns

    def status(self, text):
        """A last line that the next one replaces; only where the screen can be drawn in place."""
        if self.redraws:
            line = text[:self.size()[0] - 1]
            self.out.write(CLEAR_LINE + self.paint(line, DIM))
            self.out.flush()
            self.has_status = True

    def clear_status(self):
        if self.has_status:
            self.out.write(CLEAR_LINE)
            self.out.flush()
            self.has_status = False
