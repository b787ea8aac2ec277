# SPDX-License-Identifier: Apache-2.0
"""Quantities as people write them, line charts as SVG 1.1, and pages of HTML.

The same values give the same bytes. Units are those of the JSON of `weir-lab run`: '', 'share',
'bps', 'bytes', 'ns'. Texts are str with surrogateescape; their lengths are those of UTF-8.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; further lines
are dashed. A line with more points than the picture has columns is the range of each column.
"""
import math
import os
import re

NAN, INF = math.nan, math.inf
# Of one unit the largest first. The last column: the program prints the unit.
UNITS = (('T', 'bps', 1e12, True), ('G', 'bps', 1e9, True), ('M', 'bps', 1e6, True),
         ('K', 'bps', 1e3, True), ('bps', 'bps', 1, True), ('GB', 'bytes', 1e9, True),
         ('MB', 'bytes', 1e6, True), ('KB', 'bytes', 1e3, True), ('GiB', 'bytes', 2**30, False),
         ('MiB', 'bytes', 2**20, False), ('KiB', 'bytes', 2**10, False), ('B', 'bytes', 1, True),
         ('s', 'ns', 1e9, True), ('ms', 'ns', 1e6, True), ('us', 'ns', 1e3, True),
         ('ns', 'ns', 1, True), ('%', 'share', 0.01, True))
# Of the axes of plots.
AXIS_UNITS = {'bps': ((1e9, 'Gb/s'), (1e6, 'Mb/s'), (1e3, 'kb/s'), (1, 'b/s')),
              'bytes': ((1e9, 'GB'), (1e6, 'MB'), (1e3, 'KB'), (1, 'B')),
              'ns': ((1e9, 's'), (1e6, 'ms'), (1e3, 'us'), (1, 'ns')),
              'share': ((0.01, '%'),), '': ((1, ''),)}
DIGITS, MAX_DIGITS, LEAST_SHARE = 4, 15, 0.00001
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000')
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 420, 74, 18, 42, 56
MAX_SERIES, N_TICKS = 14, 8
CHAR, LEGEND_LINE, LEGEND_KEY, LEGEND_CHARS = 7, 18, 30, 40 # CHAR: a letter's width, generously
SVG_STYLE = ('text{font:12px sans-serif;fill:#222}.t{font-size:15px;font-weight:bold}'
             '.g{stroke:#ddd;fill:none}.a{stroke:#444;fill:none}'
             '.l{fill:none;stroke-width:1.6;stroke-linejoin:round}')
HTML_STYLE = (
    'body{font:14px/1.45 sans-serif;color:#222;max-width:1100px;margin:2em auto;padding:0 1em}'
    'h1{font-size:22px}h2{font-size:16px;margin:1.6em 0 .4em}'
    'table{border-collapse:collapse}td,th{padding:2px 10px;border-bottom:1px solid #ddd;'
    'text-align:left;white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:'
    'tabular-nums}svg{max-width:100%;height:auto;margin:.6em 0}pre{background:#f6f6f6;padding:8px;'
    'overflow:auto}')


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

def escape(text):
    """Text for the content of elements and attributes. Other control characters are none of XML's."""
    for a, b in (('&', '&amp;'), ('<', '&lt;'), ('>', '&gt;'), ('"', '&quot;')):
        text = text.replace(a, b)
    return re.sub('[\x00-\x1f]', ' ', text)


def page(title, parts):
    return ''.join([f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/><title>'
                    f'{escape(title)}</title>\n<style>{HTML_STYLE}</style></head><body>\n<h1>'
                    f'{escape(title)}</h1>\n', *parts, '</body></html>\n'])


def block(text):
    """Text that is kept as it is."""
    return f'<pre>{chr(10).join(map(escape, text.split(chr(10))))}</pre>\n' if text else ''


# ---- axes

def step_of(lo, hi, n):
    """The least step of 1, 2 or 5 times a power of ten with which n ticks reach from lo to hi."""
    least, power = (hi - lo) / n, 1.0
    if not least > 0:
        return 1.0
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next((power * m for m in (1, 2, 5) if power * m >= least * (1 - 1e-9)), power * 10)


class Axis:
    """What is on it, its unit, whether it is logarithmic; then its scale for the values of a plot."""

    def __init__(self, what, unit='', log=False):
        self.what, self.unit, self.log = what, unit, log
        self.lo, self.hi, self.step, self.factor, self.decimals, self.name = 0, 1, 1, 1, 0, ''

    def fit(self, values, is_x):
        values = [v for v in values if v == v and not (self.log and v <= 0)]
        if values:
            self.lo, self.hi = min(values), max(values)
        else:
            self.lo, self.hi = (1, 10) if self.log else (0, 1)
        if self.log:
            self.fit_log()
            return
        units = AXIS_UNITS[self.unit]
        self.factor, self.name = next((u for u in units if self.hi >= u[0]), units[-1])
        # An axis of values that never come near 0 does not begin there, when they are no rates or
        # bytes: of an index between 0.98 and 1 the rest is of no use.
        if not is_x and self.lo >= 0 and (self.unit in ('bps', 'bytes') or
                                          self.lo < self.hi * 0.8):
            self.lo = 0
        if self.hi <= self.lo:
            self.hi = self.lo + self.factor
        # The time axis ends where time does, and begins with it where that is near.
        ends = 0 if 0 < self.lo < self.hi * 0.2 else self.lo, self.hi
        self.step = step_of(self.lo / self.factor, self.hi / self.factor, N_TICKS)
        step = self.step
        while step < 0.999 and self.decimals < 9:
            step *= 10
            self.decimals += 1
        self.step *= self.factor
        self.lo = math.floor(self.lo / self.step + 1e-9) * self.step
        self.hi = math.ceil(self.hi / self.step - 1e-9) * self.step
        if is_x:
            self.lo, self.hi = ends

    def fit_log(self):
        """From the last of 1, 2, 5 times a power of ten that is not above all values to the first
        that is not below. Each tick has its own unit."""
        low, high = (math.pow(10, math.floor(math.log10(v) + 1e-9)) for v in (self.lo, self.hi))
        lo, hi = low, high * 10
        for m in (5, 2, 1):
            if lo == low and low * m <= self.lo * 1.000001:
                lo = low * m
            if high * m >= self.hi * 0.999999:
                hi = high * m
        self.lo, self.hi = lo, hi if hi > lo else lo * 10

    def shows(self, v):
        return v == v and not (self.log and v <= 0)

    def at(self, v, begin, end):
        share = math.log10(v / self.lo) / math.log10(self.hi / self.lo) if self.log else \
            (v - self.lo) / (self.hi - self.lo)
        return begin + share * (end - begin)

    def ticks(self):
        if not self.log:
            # Adding 0 makes of -0 what people write.
            k = math.ceil(self.lo / self.step - 1e-9) + 0.0
            while k * self.step <= self.hi + self.step * 1e-6:
                yield k * self.step, '%.*f' % (self.decimals, k * self.step / self.factor)
                k += 1
            return
        # Powers of ten, and where they are few also 2 and 5 times those.
        power = math.pow(10, math.floor(math.log10(self.lo) + 1e-9))
        while power <= self.hi:
            for m in (1, 2, 5) if self.hi / self.lo < 2000 else (1,):
                if self.lo * 0.999999 <= power * m <= self.hi * 1.000001:
                    yield power * m, printed(self.unit, power * m)
            power *= 10

    def title(self):
        return escape(self.what) + (f' ({self.name})' if self.name else '')


# ---- plots

class Plot:
    """A line for each (name, xs, ys) of `series`; x ascending; y NaN breaks the line."""

    def __init__(self, title, x, y, series, steps=False, marks=False):
        self.caption, self.x, self.y, self.steps, self.marks = title, x, y, steps, marks
        self.series, self.n_more = series[:MAX_SERIES], len(series[MAX_SERIES:])
        longest = max((size(name) for name, _, _ in self.series), default=0)
        if self.n_more:
            longest = max(longest, 16) # and 500 not shown
        legend = LEGEND_KEY + 12 + min(longest, LEGEND_CHARS) * CHAR if self.series else 0
        self.right, self.bottom = WIDTH - RIGHT - legend, HEIGHT - BOTTOM
        x.fit([v for _, xs, _ in self.series for v in xs], True)
        y.fit([v for _, _, ys in self.series for v in ys], False)

    def svg(self):
        return ''.join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}">\n<style>{SVG_STYLE}</style>\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n'
            f'<text class="t" x="{LEFT}" y="24">{escape(self.caption)}</text>\n',
            *self.axes(), *(self.line(i, xs, ys) for i, (_, xs, ys) in enumerate(self.series)),
            *self.legend(), '</svg>\n'])

    def at_x(self, v):
        return self.x.at(v, LEFT, self.right)

    def at_y(self, v):
        return self.y.at(v, self.bottom, TOP)

    def axes(self):
        for v, text in self.x.ticks():
            x = self.at_x(v)
            yield (f'<path class="g" d="M{x:.1f} {TOP:.1f}V{self.bottom:.1f}"/><text x="{x:.1f}" '
                   f'y="{self.bottom + 18:.1f}" text-anchor="middle">{text}</text>\n')
        for v, text in self.y.ticks():
            y = self.at_y(v)
            yield (f'<path class="g" d="M{LEFT:.1f} {y:.1f}H{self.right:.1f}"/><text '
                   f'x="{LEFT - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{text}</text>\n')
        yield (f'<path class="a" d="M{LEFT:.1f} {TOP:.1f}V{self.bottom:.1f}H{self.right:.1f}"/>\n'
               f'<text x="{(LEFT + self.right) / 2:.1f}" y="{HEIGHT - 14}" text-anchor="middle">'
               f'{self.x.title()}</text>\n<text transform="translate(18 '
               f'{(TOP + self.bottom) / 2:.1f}) rotate(-90)" text-anchor="middle">'
               f'{self.y.title()}</text>\n')

    @staticmethod
    def stroke(i):
        dash = '' if i < len(COLOURS) else ' stroke-dasharray="6 3"'
        return f'stroke="{COLOURS[i % len(COLOURS)]}"{dash}'

    def line(self, i, xs, ys):
        dense = len(xs) > 2 * int(self.right - LEFT) and not self.x.log
        points = self.dense(xs, ys) if dense else [
            (self.at_x(x), self.at_y(y)) if self.x.shows(x) and self.y.shows(y) else None
            for x, y in zip(xs, ys)]
        path, down = [], False
        for p in points:
            if p is not None:
                path.append(('M%.1f %.1f' if not down else
                             'H%.1fV%.1f' if self.steps else 'L%.1f %.1f') % p)
            down = p is not None
        marks = [f'<circle cx="{self.at_x(x):.1f}" cy="{self.at_y(y):.1f}" r="3" '
                 f'fill="{COLOURS[i % len(COLOURS)]}"/>\n' for x, y in zip(xs, ys)
                 if self.marks and self.x.shows(x) and self.y.shows(y)]
        return f'<path class="l" {self.stroke(i)} d="{"".join(path)}"/>\n' + ''.join(marks)

    def dense(self, xs, ys):
        """Of each column of the picture the first, the least, the greatest and the last value."""
        columns = {}
        for x, y in zip(xs, ys):
            column = columns.setdefault(math.floor(self.at_x(x)), [])
            if self.x.shows(x) and self.y.shows(y):
                column.append(y)
        for x, values in columns.items():
            if not values:
                yield None
                continue
            some = values[:1] if min(values) == max(values) else \
                (values[0], min(values), max(values), values[-1])
            yield from ((x, self.at_y(v)) for v in some)

    def legend(self):
        x, y = self.right + 14, TOP + 8
        for i, (name, _, _) in enumerate(self.series):
            # What differs between long names is often at their ends.
            if size(name) > LEGEND_CHARS:
                half = LEGEND_CHARS // 2
                name = f'{cut(name, 0, half - 2)}...{cut(name, size(name) - (half - 1))}'
            yield (f'<path class="l" {self.stroke(i)} d="M{x:.1f} {y:.1f}h22"/><text '
                   f'x="{x + LEGEND_KEY:.1f}" y="{y + 4:.1f}">{escape(name)}</text>\n')
            y += LEGEND_LINE
        if self.n_more:
            yield (f'<text x="{x + LEGEND_KEY:.1f}" y="{y + 4:.1f}">and {self.n_more} not shown'
                   '</text>\n')
