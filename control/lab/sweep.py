# SPDX-License-Identifier: Apache-2.0
"""`weir-lab sweep`: one scenario with every combination of some values, each in a process of its own
(`weir-lab run --json --set ...`), several at a time; then one table, one CSV and one page of what
each run measured. A run that fails is shown as such and stops no other run.

weir-lab starts this module with its own path, and the options as it has read them."""
import argparse
import contextlib
import fcntl
import json
import os
import re
import signal
import struct
import sys
import termios

from plot import NAN, cut, known, page, printed, quantity, size
from runs import Engine, Job, Refused, write_whole

DONE, FAILED, MISUSED = range(3) # exit codes
MAX_VARIES, MAX_VALUES, MAX_POINTS, MAX_PAGES = 8, 256, 4096, 100
COLUMNS, MAX_CELL, GAP, LEAST_WORDS = 16, 511, 2, 24 # of tables
FOLD, FOLD_LEAST, LOG_FROM = 80, 20, 20


# ---- text in the width of a terminal (control/base/terminal.h)

def terminal_width(out):
    """0: no terminal."""
    if not out.isatty():
        return 0
    columns = re.match(r'\s*\+?(\d+)', os.environ.get('COLUMNS', ''))
    if columns and 0 < int(columns.group(1)) <= 65535:
        return int(columns.group(1))
    with contextlib.suppress(OSError):
        return struct.unpack('4H', fcntl.ioctl(out, termios.TIOCGWINSZ, bytes(8)))[1]
    return 0


def fit_text(text, width):
    """How much of the text fits into `width` characters: up to a blank, if it has one there."""
    if len(text) <= width:
        return len(text)
    indent = len(text) - len(text.lstrip(' '))
    blank = text.rfind(' ', indent + 1, width + 1)
    return blank if blank >= 0 else width


def fold(text, width):
    """Lines of at most `width` characters. The rest of a broken line is indented."""
    out = []
    for line in text.split('\n'):
        indent, room = len(line) - len(line.lstrip(' ')) + GAP, width
        while width != 0 and (n := fit_text(line, room)) < len(line):
            keep = line[:n].rstrip(' ') if n > 1 else line[:n]
            out.append(f'{keep or line[:1]}\n{"":{indent}}')
            line = line[n + (line[n] == ' '):]
            room = width - indent if width > indent + FOLD_LEAST else FOLD_LEAST
        out.append(line + '\n')
    return ''.join(out)[:-1]


def complain(text, code=MISUSED):
    """A line about what is wrong, and the end of the program."""
    width = terminal_width(sys.stderr)
    command = os.path.basename(sys.argv[0]).removesuffix('.py')
    print(fold(f'weir-lab {command}: {text}', min(width or FOLD, FOLD)), file=sys.stderr)
    sys.exit(code)


class Table:
    """Columns of texts. The first n_left hold words, the first n_keys name a row."""

    def __init__(self, title, heads, n_left, n_keys):
        self.title, self.heads, self.n_left, self.n_keys = title, heads[:COLUMNS], n_left, n_keys
        self.rows = []

    def put(self, cells):
        cells = [cut(c, 0, MAX_CELL) for c in cells][:len(self.heads)]
        self.rows.append(cells + [''] * (len(self.heads) - len(cells)))

    def width(self, column):
        """0: nothing stands in it."""
        sizes = [size(row[column]) for row in self.rows]
        return max(*sizes, size(self.heads[column])) if any(sizes) else 0

    def text(self, limit):
        """Blocks of columns that fit the limit, where there is one; the keys begin each block."""
        out, c = [fold(f'\n{self.title}\n', limit)], self.n_keys
        while c < len(self.heads):
            if c > self.n_keys:
                out.append('\n')
            columns, c = self.take(c, limit)
            self.narrow(columns, limit)
            for row in [self.heads, *self.rows]:
                out += self.lines(row, columns)
        return ''.join(out)

    def take(self, first, limit):
        """The key columns and, from `first` on, those that fit, with their widths; the next one."""
        columns, total, n_keys = {}, -GAP, 0
        for c in range(len(self.heads)):
            width = self.width(c)
            if width == 0 or self.n_keys <= c < first:
                continue
            total += GAP + (min(width, LEAST_WORDS) if c < self.n_left else width)
            if limit != 0 and total > limit and len(columns) > n_keys:
                return columns, c
            n_keys += c < self.n_keys
            columns[c] = width
        return columns, len(self.heads)

    def narrow(self, columns, limit):
        """Cells of words may take several lines: the widest column of words gives way first."""
        while limit != 0 and (excess := sum(w + GAP for w in columns.values()) - GAP - limit) > 0:
            words = [c for c in columns if c < self.n_left]
            widest = max(words, key=columns.get, default=None)
            if widest is None or columns[widest] <= LEAST_WORDS:
                return
            columns[widest] = max(columns[widest] - excess, LEAST_WORDS)

    def lines(self, row, columns):
        rest = {c: row[c] for c in columns}
        while True:
            line, pending = '', 0
            for c, width in columns.items():
                now = rest[c][:fit_text(rest[c], width)]
                blanks = width - size(now)
                pending += 0 if c < self.n_left else blanks
                if now: # blanks at the end of a line are never printed
                    line += ' ' * pending + now
                    pending = 0
                pending += GAP + (blanks if c < self.n_left else 0)
                rest[c] = rest[c][len(now):].lstrip(' ')
            yield line + '\n'
            if not any(rest.values()):
                return

    def data(self):
        """As the page has it."""
        shown = [c for c in range(len(self.heads)) if self.width(c)]
        return {'title': self.title, 'heads': [self.heads[c] for c in shown],
                'n_left': sum(c < self.n_left for c in shown),
                'rows': [[row[c] for c in shown] for row in self.rows], 'note': None}


# ---- what is varied

class Vary:
    """"kmin=100KB,200KB"; commas inside brackets and quotes do not part values."""

    def __init__(self, text):
        self.key, _, rest = text.partition('=')
        if not self.key or not rest:
            complain(f'--vary needs key=a,b,c, not {text}')
        self.values, value, quote, depth = [], '', '', 0
        for c in rest + ',':
            if c == ',' and not quote and depth <= 0:
                if not value or len(self.values) == MAX_VALUES:
                    complain(f'--vary {self.key}: ' +
                            ('too many values' if value else 'a value is empty'))
                self.values.append(value)
                value, depth = '', 0
                continue
            value += c
            if quote:
                quote = '' if c == quote else quote
            elif c in '"\'':
                quote = c
            else:
                depth += (c in '[{(') - (c in ']})')
        if value: # what is open at the end is a value
            self.values.append(value[:-1])

    def name(self, others):
        """The last part of the key where that says which one it is: kmin."""
        head, dot, last = self.key.rpartition('.')
        same = [o for o in others if o is not self and o.key.rpartition('.')[1:] == (dot, last)]
        return last if head + dot and not same else self.key


class Number(float):
    """A number of the JSON and the CSV files: a whole one, or nine digits; '' for none."""

    def number(self):
        if self != self:
            return ''
        return str(int(self)) if abs(self) < 1e15 and self == int(self) else '%.9g' % self


class Value:
    """What a run said of one expectation or metric."""

    def __init__(self, row, key):
        # As the file has it, with the params that the runs differ in.
        self.name = row.get('written') or row.get(key) or ''
        self.unit = row.get('unit') or ''
        text = row.get('measured') or ''
        self.text = '' if ' to ' in text else text # of a list: the one value that decides is shown
        self.value = Number(NAN if row.get('value') is None else row['value'])
        self.passed = row.get('passed') # None: no expectation
        self.limit = self.limit_of(row.get('expected') or '')

    def limit_of(self, text):
        """The number of '<= 400KB', in the unit of the value; None: none, or 0."""
        found = re.fullmatch('[<>]=? (.*)', text)
        number = quantity(found.group(1)) if found else None
        return number[0] if number and number[0] and number[1] == self.unit else None

    def printed(self, digits):
        return self.text or printed(self.unit, self.value, digits)

    def shown(self, digits):
        return self.printed(digits) + (' !' if self.passed is False else '')


class Point:
    """One combination of values, and its run."""

    def __init__(self, settings):
        self.settings, self.code, self.passed, self.values = settings, None, False, []
        self.error = None # of a run that could not report
        self.reason = 0 # which of the sweep's reasons, from 1
        self.report = None # its page, from the folder of the sweep on

    def end(self, status, out, err):
        """status: of subprocess."""
        self.code = status if status >= 0 else 128 - status
        with contextlib.suppress(ValueError):
            report = json.loads(out)
            self.passed = bool(report.get('passed'))
            self.values = [Value(row, key[:-1]) for key in ('expectations', 'metrics')
                           for row in report.get(key) or ()]
        if self.values or self.code == DONE:
            return
        # The lines that say why a run did not start. Warnings do not.
        lines = [line for line in err.split('\n') if line and ': warning: ' not in line]
        self.error = '\n'.join(lines) or (
            f'ended with code {status}' if status >= 0 else
            f'ended by signal {-status} ({signal.strsignal(-status)})')

    def word(self):
        if self.code is None:
            return 'not run'
        if not self.values and self.code != DONE:
            return 'ERROR'
        return 'PASS' if self.code == DONE else 'FAIL'


def run_of(o, options, sets, file, pages=None):
    """The job of one run of a scenario."""
    sets = [f'--set={s}' for s in sets]
    return Job([o.program, 'run', '--json', '--quiet', *options, *sets, file],
               [o.program, 'check', '--files', *sets, file], pages)


def watched(engine, jobs, ended, quiet, progress):
    """Runs the jobs with a line of progress on a terminal. Returns why they were stopped, or
    None."""
    on_terminal = sys.stderr.isatty()

    def show():
        if on_terminal and not quiet:
            print(f'\r{progress()}{engine.where()} \033[K', end='', file=sys.stderr, flush=True)

    if not on_terminal and not quiet and (place := engine.waits()) is not None:
        print(f'no worker is at {place} yet: the runs wait for one', file=sys.stderr, flush=True)
    try:
        return 'stopped' if engine.run(jobs, ended, show) else None
    except Refused as e:
        return str(e)
    except OSError as e:
        complain(f'cannot start a process: {e.strerror}', FAILED)
    finally:
        if on_terminal and not quiet:
            print('\r\033[K', end='', file=sys.stderr, flush=True)


class Sweep:
    def __init__(self, o):
        self.o = o
        if not 1 <= len(o.vary) <= MAX_VARIES or len(o.files) != 1:
            complain(f'needs one scenario and 1 to {MAX_VARIES} times --vary key=a,b,c')
        self.varies, n = [], 1
        for text in o.vary:
            self.varies.append(Vary(text))
            n *= len(self.varies[-1].values)
            if n > MAX_POINTS:
                complain(f'more than {MAX_POINTS} combinations')
        # The last key changes fastest.
        settings = [[]]
        for v in self.varies:
            settings = [[*s, value] for s in settings for value in v.values]
        self.points = [Point(s) for s in settings]
        self.reasons = []

    def job(self, point):
        sets = self.o.set + [f'{v.key}={value}' for v, value in zip(self.varies, point.settings)]
        return run_of(self.o, [f'--digits={self.o.digits}',
                               *(f'--metric={m}' for m in self.o.metric)], sets, self.o.files[0],
                      self.pages())

    def pages(self):
        """Where the pages of the runs go. Those of other machines, and of very many, are left
        out."""
        few = self.o.out is not None and self.o.on is None and len(self.points) <= MAX_PAGES
        return os.path.join(self.o.out, 'runs') if few else None

    def run(self, engine):
        """Why the sweep was stopped, or None."""
        done = []

        def ended(i, *result):
            self.points[i].end(*result)
            done.append(self.points[i])

        jobs = [self.job(p) for p in self.points]
        if self.pages():
            with contextlib.suppress(OSError): # then no run has a page
                os.makedirs(self.pages(), exist_ok=True)
        stopped = watched(engine, jobs, ended, self.o.quiet,
                          lambda: f'sweep: {len(done)} of {len(self.points)} runs done, '
                          f'{sum(p.code != DONE for p in done)} failed')
        for p, job in zip(self.points, jobs):
            if job.page() and os.path.exists(job.page()):
                p.report = os.path.relpath(job.page(), self.o.out)
            if p.error is not None:
                self.reasons += [p.error] if p.error not in self.reasons else []
                p.reason = self.reasons.index(p.error) + 1
        return stopped

    def verdict(self):
        codes = {p.code for p in self.points}
        return MISUSED if codes == {MISUSED} else DONE if codes == {DONE} else FAILED

    def columns(self):
        """The first run that reported says what there is; all others have the same."""
        return next((p.values for p in self.points if p.values), [])

    # ---- text and page

    def table(self):
        n = min(len(self.columns()), COLUMNS - len(self.varies) - 1)
        t = Table('sweep', [*(cut(v.name(self.varies), 0, 60) for v in self.varies), 'run',
                            *(f'[{i + 1}]' for i in range(n))],
                  len(self.varies) + 1, len(self.varies))
        for p in self.points:
            word = f'{p.word()} {p.reason}' if p.reason and len(self.reasons) > 1 else p.word()
            t.put([*p.settings, word, *(v.shown(self.o.digits) for v in p.values[:n])])
        return t

    def legend(self, width):
        lines = [fold(f'[{i + 1}] {v.name}\n', width) for i, v in enumerate(self.columns())]
        if any(v.passed is False for p in self.points for v in p.values):
            lines.append('! the expectation does not hold\n')
        return ''.join(lines)

    def errors(self, width):
        return ''.join(fold(f'ERROR{f" {i + 1}" if len(self.reasons) > 1 else ""}: {text}\n', width)
                       for i, text in enumerate(self.reasons))

    def text(self):
        width = terminal_width(sys.stdout)
        return self.table().text(width) + self.legend(width) + self.errors(width)

    # ---- the page

    def limit(self, column):
        """What the expectation allows, the same in all runs; else None."""
        limits = {p.values[column].limit for p in self.points if column < len(p.values)}
        return limits.pop() if len(limits) == 1 else None

    def axis(self, v):
        """Quantities of one unit in ascending order have their places on an axis, words none."""
        xs = [quantity(text) for text in v.values]
        if None in xs or not all(unit == xs[0][1] or x == 0 for x, unit in xs) or \
                not all(a[0] < b[0] for a, b in zip(xs, xs[1:])):
            xs = None
        return {'key': v.key, 'name': v.name(self.varies), 'values': v.values,
                'numbers': xs and [x for x, _ in xs], 'unit': xs[0][1] if xs else ''}

    def data(self):
        n = len(self.columns())
        return {'kind': 'weir-sweep', 'title': f'{os.path.basename(self.o.files[0])}: '
                f'{", ".join(v.name(self.varies) for v in self.varies)}',
                'scenario': self.o.files[0], 'axes': [self.axis(v) for v in self.varies],
                'columns': [{'name': v.name, 'unit': v.unit, 'limit': self.limit(i)}
                            for i, v in enumerate(self.columns())],
                'runs': [{'at': [v.values.index(s) for v, s in zip(self.varies, p.settings)],
                          'word': p.word(), 'passed': p.passed, 'error': p.error,
                          'report': p.report, 'set': dict(zip((v.key for v in self.varies),
                                                              p.settings)),
                          'values': [{'value': known(v.value), 'text': v.printed(self.o.digits),
                                      'passed': v.passed} for v in p.values[:n]]}
                         for p in self.points]}

    # ---- JSON and CSV

    def json(self):
        def value(v):
            row = {'name': v.name, 'unit': v.unit, 'value': v.value}
            return row if v.passed is None else {**row, 'passed': bool(v.passed)}

        return pretty({'scenario': self.o.files[0], 'runs': [
            {'set': {v.key: s for v, s in zip(self.varies, p.settings)},
             'ran': p.code is not None, 'exit': p.code or 0, 'passed': p.passed, 'error': p.error,
             'values': [value(v) for v in p.values]} for p in self.points]}) + '\n'

    def csv(self):
        columns = self.columns()
        rows = [[*(v.key for v in self.varies), 'run',
                 *(f'{v.name} {v.unit}' if v.unit else v.name for v in columns)]]
        for p in self.points:
            numbers = [v.value.number() for v in p.values[:len(columns)]]
            rows.append([*p.settings, p.word(), *numbers,
                         *[''] * (len(columns) - len(numbers))])
        return ''.join(','.join(map(csv_field, row)) + '\n' for row in rows)

    def files(self):
        return {'sweep.csv': self.csv(), 'sweep.json': self.json(),
                'sweep.html': page(self.o.program, self.data())}


def csv_field(text):
    if not re.search('[,"\n\r]', text):
        return text
    return '"' + text.replace('"', '""') + '"'


def pretty(v, indent='\n'):
    """JSON as the C programs write it."""
    inner = indent + '  '
    if isinstance(v, Number):
        return v.number() or 'null'
    if isinstance(v, dict) and v:
        rows = (f'{inner}{json.dumps(k, ensure_ascii=False)}:{pretty(x, inner)}'
                for k, x in v.items())
        return '{' + ','.join(rows) + indent + '}'
    if isinstance(v, list):
        return '[' + ','.join(inner + pretty(x, inner) for x in v) + indent + ']'
    return json.dumps(v, ensure_ascii=False)


# ---- the command

def options():
    p = argparse.ArgumentParser()
    p.add_argument('program') # weir-lab
    for name in ('set', 'vary', 'metric'):
        p.add_argument(f'--{name}', action='append', default=[])
    p.add_argument('--out')
    p.add_argument('--digits', type=int)
    p.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument('--on')
    p.add_argument('--json', action='store_true')
    p.add_argument('--quiet', action='store_true')
    p.add_argument('files', nargs='*')
    return p.parse_args()


def make_folder(path):
    """The folder of --out, which is made with those on the way to it, must take files."""
    if path is None:
        return
    try:
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))
    except OSError as e:
        print(f'weir-lab: --out {path}: cannot write there: {e.strerror}', file=sys.stderr)
        sys.exit(MISUSED)


def begin():
    for name in ('SIGINT', 'SIGPIPE'):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    for out in (sys.stdout, sys.stderr):
        out.reconfigure(encoding='utf-8', errors='surrogateescape')


def start_engine(o):
    make_folder(o.out)
    try:
        return Engine(o.jobs, o.on, o.out)
    except Refused as e:
        complain(str(e), MISUSED)
    except OSError as e:
        complain(f'{o.out}: cannot keep results there: {e.strerror}')


def resume_hint(o):
    return '; the same command goes on with what is done' if o.out is not None else ''


def publish(what, o, code, command, engine, stopped=None):
    """Prints the results and writes their files. Returns the exit code."""
    try:
        print(what.json() if o.json else what.text(), end='', flush=True)
    except OSError:
        print('weir-lab: the output could not be written', file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()) # for the rest of it
        code = code or FAILED
    width = min(terminal_width(sys.stderr) or FOLD, FOLD)
    if stopped is not None:
        print(fold(f'weir-lab {command}: {stopped}; what had ended is above{resume_hint(o)}',
                   width), file=sys.stderr)
    if engine.trouble() is not None:
        print(fold(f'weir-lab {command}: {engine.trouble()}', width), file=sys.stderr)
        code = code or FAILED
    if o.out is None:
        return code
    try:
        for name, text in what.files().items():
            write_whole(os.path.join(o.out, name), text)
    except OSError as e:
        print(f'weir-lab {command}: {o.out}: cannot write the results: {e.strerror}',
              file=sys.stderr)
        return FAILED
    if not o.quiet:
        print(f'report: {os.path.realpath(os.path.join(o.out, command + ".html"))}',
              file=sys.stderr)
    return code


def main():
    begin()
    o = options()
    s = Sweep(o)
    engine = start_engine(o)
    stopped = s.run(engine)
    return publish(s, o, s.verdict(), 'sweep', engine, stopped)


if __name__ == '__main__':
    sys.exit(main())
