# SPDX-License-Identifier: Apache-2.0
"""Quantities as people write them, and the page with plots as data.

Units are those of the JSON of `weir-lab run`: '', 'share', 'bps', 'bytes', 'ns'. Texts are str with
surrogateescape; their lengths are those of UTF-8.
"""
import json
import math
import os
import re
import subprocess

NAN, INF = math.nan, math.inf
# Of one unit the largest first. The last column: the program prints the unit.
UNITS = (('T', 'bps', 1e12, True), ('G', 'bps', 1e9, True), ('M', 'bps', 1e6, True),
         ('K', 'bps', 1e3, True), ('bps', 'bps', 1, True), ('GB', 'bytes', 1e9, True),
         ('MB', 'bytes', 1e6, True), ('KB', 'bytes', 1e3, True), ('GiB', 'bytes', 2**30, False),
         ('MiB', 'bytes', 2**20, False), ('KiB', 'bytes', 2**10, False), ('B', 'bytes', 1, True),
         ('s', 'ns', 1e9, True), ('ms', 'ns', 1e6, True), ('us', 'ns', 1e3, True),
         ('ns', 'ns', 1, True), ('%', 'share', 0.01, True))
DIGITS, MAX_DIGITS, LEAST_SHARE = 4, 15, 0.00001
MAX_SERIES = 14


def size(text):
    return len(os.fsencode(text))


def cut(text, first, last=None):
    """The bytes of a text from `first` to before `last`."""
    return os.fsdecode(os.fsencode(text)[first:last])


# ---- quantities

def quantity(text):
    """The value of '100KB' and its unit; None: the text is no quantity."""
    found = re.fullmatch(r'([0-9]+)(?:\.([0-9]+))?(?: ?([A-Za-z]+|%))?', text)
    if not found:
        return None
    whole, part, name = found.group(1), found.group(2) or '', found.group(3)
    if len(whole + part) > MAX_DIGITS:
        return None
    digits, scale = float(whole + part), 10.0 ** len(part)
    if name is None:
        return digits / scale, ''
    for known, unit, factor, _ in UNITS:
        if known == name:
            return digits / (scale * 100) if unit == 'share' else digits * factor / scale, unit
    return None


def printed(unit, v, digits=DIGITS):
    """A short text: '9.812G', '12.4us', '0.92%', '17'. A count keeps the digits before the point."""
    if v != v:
        return 'no value'
    if unit == '' or v == 0:
        text = '%.*g' % (digits + 1, v)
        return '%.0f' % v if 'e+' in text or (abs(v) < 9e15 and v == int(v)) else text
    if unit == 'share' and abs(v) < LEAST_SHARE and digits <= DIGITS:
        return '> -0.001%' if v < 0 else '< 0.001%'
    rows = [(name, factor) for name, u, factor, shown in UNITS if shown and u == unit]
    # Four digits would make 999.96M of the next unit 1000M.
    half = 0.5
    for _ in range(digits):
        half /= 10
    name, factor = next(((n, f) for n, f in rows
                         if abs(v) >= f * (1 - half) and digits <= MAX_DIGITS), rows[-1])
    return '%.*g%s' % (digits, v / factor, name)


# ---- pages

def page(program, data):
    """The page of docs/web.md with the data; program: weir-lab, which has it."""
    text = json.dumps(data, ensure_ascii=False, separators=(',', ':'))
    done = subprocess.run([program, 'page'], input=os.fsencode(text), capture_output=True)
    if done.returncode != 0:
        raise OSError(done.returncode, os.fsdecode(done.stderr).strip())
    return os.fsdecode(done.stdout)


def known(v):
    """A number as JSON has it: none for NaN."""
    return None if v != v else float(v)


class Plot:
    """A line for each (name, xs, ys) of `series`; y NaN breaks the line. A unit is one of JSON.
    A series of dots may have a fourth list: the text of each dot."""

    def __init__(self, title, x, y, series):
        self.title, self.x, self.y, self.series = title, x, y, series[:MAX_SERIES]

    def data(self):
        return {'title': self.title, 'x': self.x, 'y': self.y,
                'series': [{'name': name, 'x': list(xs), 'y': [known(v) for v in ys],
                            **({'texts': texts[0]} if texts else {})}
                           for name, xs, ys, *texts in self.series]}
