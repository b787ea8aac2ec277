# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a terminal of a given size, and says what a reader could not read there."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

ESCAPE = re.compile(r"\033\[[0-9;]*[A-Za-z]")
FIGURE = re.compile(r"[+-]?[\d,]*\.?\d+[M%]?|-")
NAMES = 2 # the first words of a row are no figures
LEAST_FIGURES = 3 # of a row


def on_terminal(command, columns, rows, **env):
    """(exit status, all that the program wrote on a terminal of its own)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs,
                          env={**os.environ, "TERM": "xterm", **env}) as p:
        os.close(theirs)
        out = b""
        while chunk := read(ours):
            out += chunk
    os.close(ours)
    return p.returncode, out.decode().replace("\r\n", "\n")


def read(fd):
    try:
        return os.read(fd, 65536)
    except OSError: # the last process has closed its end
        return b""


def lines_of(text):
    """Lines as a terminal shows them, without colours; a line drawn over is a line, too."""
    return re.split(r"[\n\r]", ESCAPE.sub("", text))


def too_wide(text, columns):
    return [line for line in lines_of(text) if len(line) > columns]


def figures(line):
    return [w for w in line.split()[NAMES:] if FIGURE.fullmatch(w)]


def zero_tables(text):
    """Rows of figures that follow each other, all of them zero, and none with a word of alarm."""
    found, table = [], []
    for line in [*lines_of(text), ""]:
        row = figures(line)
        if len(row) >= LEAST_FIGURES:
            table.append(line)
            continue
        if len(table) > 1 and not any(
                "STILL" in t or re.search("[1-9]", f) for t in table for f in figures(t)):
            found.append("\n".join(table))
        table = []
    return found
