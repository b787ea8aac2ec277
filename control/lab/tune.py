# SPDX-License-Identifier: Apache-2.0
"""`weir-lab tune`: the values of some keys that are best for scenarios, by a search that prints what
it does: a coarse grid over the ranges, then steps around the best point, halved each round.

A point is one combination of values. Each point is run in each scenario with each seed. A point is
allowed if no run of it fails, its throughput reaches the floor, and its pauses do not exceed those
of the scenario as it is. The best point is the allowed one with the least objective.

weir-lab starts this module with its own path, and the options as it has read them."""
import argparse
import itertools
import math
import os
import re
import sys
from decimal import Decimal

from plot import NAN, Plot, cut, page, printed, quantity
from sweep import (DONE, FAILED, MAX_VARIES, Number, Point, Table, Vary, begin, complain,
                   csv_field, fold, pretty, publish, resume_hint, run_of, start_engine,
                   terminal_width, watched)

WRED = 'policy.profiles.{}.classes.{}.wred.'
USUAL = ('kmin=5KB..200KB:log', 'kmax=50KB..800KB:log', 'pmax=0.5%..50%:log')
GRID = {1: 4, 2: 4} # values of a range in the grid, by the number of ranges; else 3
LEAST_STEP, LEAST_AT_LIMIT = 1 / 12, 1 / 48 # of a range: the search ends below them
MAX_GRID, MAX_ROUNDS, MAX_SEEDS = 1024, 64, 64
EQUAL = 1e-9
FAR = 2 # times the worst point of the front, or the scenario as it is


# ---- what is varied

class Range:
    """One --vary: KEY=LO..HI, then `:log` and the number of values in the grid if wanted; or
    KEY=A,B,C, values that have no order: all of them are in the grid, and no step is taken."""

    def __init__(self, text, wred):
        self.key, _, rest = text.partition('=')
        self.name, self.path = self.key.rpartition('.')[2], self.key
        if self.key in ('kmin', 'kmax', 'pmax'):
            self.path = wred + self.key
        found = re.fullmatch(r'([^:]+)\.\.([^:]+?)(:log)?(?::(\d+))?', rest)
        self.values = None if found else Vary(text).values
        if not found:
            return
        self.ends, self.log = found.group(1, 2), found.group(3) is not None
        ends = [quantity(t) for t in self.ends]
        if None in ends or not ends[0][0] < ends[1][0] or \
                (ends[0][1] != ends[1][1] and ends[0][0] != 0):
            complain(f'--vary {self.key} needs two quantities of one unit, the lesser first, such as '
                  f'5KB..200KB, not {rest}')
        (self.lo, _), (self.hi, self.unit) = ends
        if self.log and self.lo <= 0:
            complain(f'--vary {self.key}: a logarithmic range begins above 0, not at {self.ends[0]}')
        self.whole = self.unit == '' and not any('.' in t for t in self.ends)
        self.n = int(found.group(4) or 0)
        if found.group(4) and not 2 <= self.n <= 64:
            complain(f'--vary {self.key}: a grid has 2 to 64 values of a range, not {found.group(4)}')

    def text(self, at):
        """The value at a place from 0 to 1 of the range, with two digits. Of a list: at an index."""
        if self.values:
            return self.values[at]
        if at in (0, 1):
            return self.ends[int(at)]
        v = self.lo * (self.hi / self.lo) ** at if self.log else self.lo + (self.hi - self.lo) * at
        if self.whole:
            return str(round(v))
        if self.unit in ('', 'share'): # policies know no exponents
            part = 100 if self.unit else 1
            text = f'{Decimal(f"{v * part:.1e}").normalize():f}'
            return text + '%' if self.unit else text
        return printed(self.unit, float(f'{v:.1e}'))

    def grid(self, n_ranges):
        if self.values:
            return range(len(self.values))
        n = self.n or GRID.get(n_ranges, 3)
        return [i / (n - 1) for i in range(n)]


# ---- the search: pure, it runs nothing

class Search:
    """Chooses the places of the next round. `best` is the best place so far."""

    def __init__(self, ranges, allowed=lambda texts: True):
        self.ranges, self.allowed, self.tried = ranges, allowed, set()
        self.moving = [i for i, r in enumerate(ranges) if not r.values]
        self.step = {i: None for i in self.moving}
        self.before = None

    def texts(self, place):
        return tuple(r.text(at) for r, at in zip(self.ranges, place))

    def new(self, places):
        """Those that no round had."""
        out = {}
        for place in places:
            texts = self.texts(place)
            if texts not in self.tried and self.allowed(texts):
                out.setdefault(texts, place)
        self.tried.update(out)
        return list(out.values())

    def grid(self):
        axes = [r.grid(len(self.moving)) for r in self.ranges]
        self.step = {i: axes[i][1] for i in self.moving}
        return self.new(itertools.product(*axes))

    def sides(self, best, trials, i):
        """The sides of the best trial on which a better one of range i can be: both; or one, if the
        nearest trial on this side has a better score and is not allowed, and the other side has a
        worse score. Then a limit stops the search, not the objective."""
        near = {}
        for t in trials:
            if t.place is None or t.score != t.score or \
                    any(a != b for k, (a, b) in enumerate(zip(t.place, best.place)) if k != i):
                continue
            d = (t.place[i] > best.place[i]) - (t.place[i] < best.place[i])
            if d != 0 and (d not in near or abs(t.place[i] - best.place[i]) <
                           abs(near[d].place[i] - best.place[i])):
                near[d] = t
        for d in (-1, 1):
            if best.excess == 0 and len(near) == 2 and near[d].excess > 0 and \
                    near[d].score < best.score < near[-d].score:
                return (d,), LEAST_AT_LIMIT
        return (-1, 1), LEAST_STEP

    def around(self, best, trials):
        """(places, why); no places: the search is over. With several ranges a best point that has
        moved is looked around with the same step again; else the step is halved."""
        moved = len(self.moving) > 1 and self.before not in (None, best.place)
        self.before = best.place
        sides = {i: self.sides(best, trials, i) for i in self.moving}
        while self.moving:
            if not moved:
                self.step = {i: s / 2 for i, s in self.step.items()}
            steps = {i: s for i, s in self.step.items() if s >= sides[i][1]}
            if not steps:
                return [], f'the steps are below 1/{round(1 / LEAST_STEP)} of each range, at a ' \
                    f'limit 1/{round(1 / LEAST_AT_LIMIT)}'
            places = self.new((*best.place[:i], min(max(best.place[i] + d * s, 0), 1),
                               *best.place[i + 1:])
                              for i, s in steps.items() for d in sides[i][0])
            if places:
                limits = [self.ranges[i].name for i in steps if len(sides[i][0]) == 1]
                return places, ('the same' if moved else 'half the') + \
                    ' step around the best point' + \
                    (f'; {", ".join(limits)}: towards the limit' if limits else '')
            moved = False
        return [], 'no key has a range'


# ---- what a point measured

class Measured:
    """One point in one scenario: the means over the seeds."""

    def __init__(self, points):
        self.failed = next((p.error or 'a run of this point fails' for p in points
                            if p.code != DONE), None)
        values = [[v.value for v in p.values[-3:]] for p in points if len(p.values) >= 3]
        means = [sum(column) / len(points) for column in zip(*values)] \
            if len(values) == len(points) else [NAN] * 3
        self.units = [v.unit for v in points[0].values[-3:]] or [''] * 3
        self.objective, self.throughput, self.pauses = means


class Trial:
    """One point in all scenarios. place None: the scenarios as they are."""

    def __init__(self, place, texts, measured):
        self.place, self.texts, self.measured = place, texts, measured
        self.score, self.share, self.pauses = NAN, NAN, sum(m.pauses for m in measured)
        self.verdict, self.excess = '', math.inf

    def judge(self, tune):
        """`throughput` relates to the best one so far: a verdict can change with each round."""
        self.verdict, self.excess = 'ok', 0
        shares, ratios = [], []
        for m, start, most in zip(self.measured, tune.start.measured, tune.most):
            if m.failed or m.objective != m.objective or m.throughput != m.throughput:
                self.verdict, self.excess = 'failed' if m.failed else 'no value', math.inf
                return
            shares.append(m.throughput / most if most > 0 else 1)
            ratios.append(self.ratio(m.objective, start.objective, tune.maximise))
            over = max(m.pauses - start.pauses, 0) / max(start.pauses, 1)
            short = max(tune.floor - shares[-1], 0)
            if short > EQUAL or over > EQUAL:
                self.excess += short + over
                self.verdict = 'throughput' if short > EQUAL else 'pauses'
        self.share = min(shares)
        self.score = math.exp(sum(map(math.log, ratios)) / len(ratios))

    @staticmethod
    def ratio(value, start, maximise):
        """The objective as a multiple of the scenario's as it is: each scenario counts alike."""
        least = 1e-12
        value, start = max(value, least), max(start, least)
        return start / value if maximise else value / start

    def order(self):
        return self.excess, self.score if self.score == self.score else math.inf


class Tune:
    def __init__(self, o):
        self.o, self.engine = o, None
        if not o.files:
            complain('needs a scenario')
        profile, _, cls = o.queue.rpartition('.')
        if not profile or not re.fullmatch('[0-7]', cls):
            complain(f'--class needs PROFILE.CLASS such as roce.3, not {o.queue}')
        self.maximise = o.objective.startswith('max ')
        self.expr = re.sub('^(max|min) ', '', o.objective)
        self.ranges = [Range(text, WRED.format(profile, cls)) for text in o.vary or USUAL]
        if len(self.ranges) > MAX_VARIES:
            complain(f'at most {MAX_VARIES} keys can be varied')
        if len({r.path for r in self.ranges}) < len(self.ranges):
            complain('a key is varied twice')
        self.search = Search(self.ranges, self.allowed)
        grid = math.prod(len(r.grid(len(self.search.moving))) for r in self.ranges)
        if grid > MAX_GRID:
            complain(f'the grid has {grid} points, more than {MAX_GRID}: vary fewer keys, or give '
                  'ranges fewer values (KEY=LO..HI:3)')
        floor = quantity(o.floor)
        if floor is None or floor[1] not in ('share', '') or not 0 <= floor[0] <= 1:
            complain(f'--floor needs a share from 0% to 100%, not {o.floor}')
        self.floor = floor[0]
        self.seeds = [None] if o.seeds is None else range(1, o.seeds + 1)
        self.trials, self.rounds, self.n_runs, self.start = [], [], 0, None
        self.most = [0.0] * len(o.files)

    def allowed(self, texts):
        """Whether the policy can have these values: kmin is not above kmax."""
        of = {r.path: quantity(t) for r, t in zip(self.ranges, texts)}
        pairs = [(v, of.get(path[:-4] + 'kmax')) for path, v in of.items()
                 if path.endswith('.kmin')]
        return all(None in pair or pair[0][0] <= pair[1][0] for pair in pairs)

    # ---- runs

    def job(self, texts, file, seed):
        sets = [*self.o.set, 'expect=[]', *(f'{r.path}={t}' for r, t in zip(self.ranges, texts))]
        sets += [] if seed is None else [f'seed={seed}']
        return run_of(self.o, [f'--metric={m}' for m in
                               (self.expr, self.o.throughput, self.o.pauses)], sets, file)

    def run(self, places):
        """Runs the places in all scenarios. Returns why the search was stopped, or None."""
        all_texts = [() if p is None else self.search.texts(p) for p in places]
        jobs = [(t, f, s) for t in all_texts for f in self.o.files for s in self.seeds]
        points = {job: Point(list(job[0])) for job in jobs}
        stopped = watched(self.engine, [self.job(*j) for j in jobs],
                          lambda i, *result: points[jobs[i]].end(*result), self.o.quiet,
                          lambda: f'tune: round {len(self.rounds)}, '
                          f'{sum(p.code is not None for p in points.values())} of {len(jobs)} '
                          f'runs done, {self.n_runs} before')
        if stopped is not None:
            return stopped
        self.n_runs += len(jobs)
        for place, texts in zip(places, all_texts):
            measured = [Measured([points[texts, f, s] for s in self.seeds]) for f in self.o.files]
            self.trials.append(Trial(place, texts, measured))
        self.start = self.start or self.trials[0]
        for trial in self.trials:
            for i, m in enumerate(trial.measured):
                if m.failed is None and m.throughput == m.throughput:
                    self.most[i] = max(self.most[i], m.throughput)
        for trial in self.trials:
            trial.judge(self)
        return None

    def best(self, placed=False):
        return min((t for t in self.trials if t.place is not None or not placed), key=Trial.order)

    def tune(self):
        """Why the search was stopped, or None."""
        if (stopped := self.run([None])) is not None:
            return stopped
        for file, m in zip(self.o.files, self.start.measured):
            if m.failed:
                complain(f'{file} cannot be tuned: as it is, its run fails: {m.failed}', FAILED)
            for value, what, option in ((m.objective, self.expr, 'objective'),
                                        (m.throughput, self.o.throughput, 'throughput'),
                                        (m.pauses, self.o.pauses, 'pauses')):
                if value != value:
                    complain(f'{file} has no value of {what}: name another one with --{option}',
                             FAILED)
        self.say_round('the scenario as it is' if len(self.o.files) == 1 else
                       'the scenarios as they are', self.trials[:])
        places, why = self.search.grid(), 'a coarse grid'
        while places and len(self.rounds) <= self.o.rounds:
            if (stopped := self.run(places)) is not None:
                return stopped
            self.say_round(why, self.trials[-len(places):])
            places, why = self.search.around(self.best(placed=True), self.trials)
        self.say(f'end: {why}\n' if not places else
                 f'end: {self.o.rounds} rounds (--rounds)\n')
        return None

    # ---- text

    def say(self, text):
        if not self.o.json:
            print(fold(text, terminal_width(sys.stdout)), end='', flush=True)

    def setting(self, trial):
        if trial.place is None:
            return 'as it is' if len(self.o.files) == 1 else 'as they are'
        return ' '.join(f'{r.name}={t}' for r, t in zip(self.ranges, trial.texts))

    def shown(self, trial):
        """The objective: its value, of several scenarios its share of that of the scenarios."""
        m = trial.measured[0]
        return printed('share', trial.score) if len(trial.measured) > 1 else \
            printed(m.units[0], m.objective)

    def row(self, trial):
        cells = list(trial.texts) or ['as is'] + [''] * (len(self.ranges) - 1)
        return [*cells, self.shown(trial), printed('share', trial.share), printed('', trial.pauses),
                trial.verdict]

    def table(self, title, trials):
        t = Table(title, [*(r.name for r in self.ranges), 'objective', 'of best', 'pauses',
                          'verdict'], len(self.ranges), len(self.ranges))
        for trial in trials:
            t.put(self.row(trial))
        return t

    def say_round(self, why, trials):
        title = f'round {len(self.rounds)}: {why}'
        self.rounds.append((why, trials))
        if not self.o.json:
            print(self.table(title, trials).text(terminal_width(sys.stdout)), end='')
        self.say(f'best: {self.setting(self.best())}\n')

    def legend(self):
        what = 'objective: ' + ('the greatest ' if self.maximise else 'the least ') + self.expr
        if len(self.o.files) > 1:
            what += '; the mean over the scenarios, as a share of the scenarios as they are'
        return [what, f'of best: {self.o.throughput}, as a share of the best one, at least '
                f'{printed("share", self.floor)}', f'pauses: {self.o.pauses}, not above those of the '
                'scenario as it is']

    def edges(self):
        """Ranges at whose end the best point lies."""
        best = self.best()
        for r, at in zip(self.ranges, best.place or ()):
            if not r.values and at in (0, 1):
                yield f'{r.name}={r.text(at)} is an end of its range: a wider range may have better'

    def summary(self):
        best, lines = self.best(), []
        if best.verdict != 'ok':
            lines.append('no point is allowed')
        else:
            lines.append(f'best of {len(self.trials)} points, {self.n_runs} runs: '
                         f'{self.setting(best)}: objective {self.shown(best)} (as it is '
                         f'{self.shown(self.start)}), throughput {printed("share", best.share)} of '
                         f'the best, pauses {printed("", best.pauses)}')
            lines += self.edges()
        return lines

    def snippet(self):
        """The best values as keys of a policy; other keys as comments."""
        best, tree, others = self.best(), {}, []
        for r, t in zip(self.ranges, best.texts):
            if not r.path.startswith('policy.'):
                others.append(f'# of the scenario: --set {r.path}={t}\n')
                continue
            at, path = tree, r.path.split('.')[1:]
            for part in path[:-1]:
                at = at.setdefault(part, {})
            at[path[-1]] = t
        return ''.join(others) + yaml(tree)

    # ---- files

    def fields(self, trial):
        return {'set': {r.path: t for r, t in zip(self.ranges, trial.texts)},
                'verdict': trial.verdict, 'score': Number(trial.score),
                'throughput_share': Number(trial.share), 'scenarios': [
                    {'scenario': f, 'objective': Number(m.objective),
                     'throughput': Number(m.throughput), 'pauses': Number(m.pauses),
                     'error': m.failed} for f, m in zip(self.o.files, trial.measured)]}

    def json(self):
        best = self.best()
        return pretty({
            'objective': self.o.objective, 'throughput': self.o.throughput,
            'floor': Number(self.floor), 'pauses': self.o.pauses, 'seeds': len(self.seeds),
            'n_runs': self.n_runs, 'best': self.fields(best) if best.verdict == 'ok' else None,
            'policy': self.snippet() if best.verdict == 'ok' else None,
            'rounds': [{'why': why, 'points': [self.fields(t) for t in trials]}
                       for why, trials in self.rounds]}) + '\n'

    def csv(self):
        rows = [['round', 'scenario', *(r.path for r in self.ranges), 'objective', 'throughput',
                 'pauses', 'verdict']]
        for n, (_, trials) in enumerate(self.rounds):
            for t in trials:
                for f, m in zip(self.o.files, t.measured):
                    rows.append([str(n), f, *(t.texts or [''] * len(self.ranges)),
                                 *(Number(v).number() for v in (m.objective, m.throughput,
                                                                m.pauses)), t.verdict])
        return ''.join(','.join(map(csv_field, row)) + '\n' for row in rows)

    def plot(self):
        """Objective by throughput: all points, and those that no other point surpasses in both."""
        shown = sorted((t for t in self.trials if t.score == t.score),
                       key=lambda t: (-t.share, t.score))
        front, least = [], math.inf
        for t in shown:
            if t.verdict != 'pauses' and t.score < least:
                front.append(t)
                least = t.score

        def dots(name, trials):
            # NaN between two points: no line joins them
            return (name, [x for t in trials for x in (t.share, t.share)],
                    [y for t in trials for y in (t.score, NAN)],
                    [text for t in trials for text in ('' if self.setting(t) == name else self.setting(t), '')])

        best = self.best()
        # One point far above the others would flatten them.
        most = FAR * max([1, *(t.score for t in front)])
        near = [t for t in shown if t.score <= most]
        far = len(shown) - len(near)
        left_out = f', {far} above {printed("share", most)} left out' if far else ''
        return Plot(cut(f'{self.o.objective} by throughput', 0, 110),
                    {'what': 'throughput, of the best', 'unit': 'share'},
                    {'what': 'objective, of the scenario as it is', 'unit': 'share'},
                    [('Pareto front', [t.share for t in front[::-1]],
                      [t.score for t in front[::-1]]),
                     dots(f'not allowed{left_out}', [t for t in near if t.verdict != 'ok']),
                     dots('allowed', [t for t in near if t.verdict == 'ok']),
                     dots('as it is', [self.start]),
                     dots(self.setting(best), [best] if best.verdict == 'ok' else [])])

    def data(self):
        text = self.summary() + self.legend()
        if self.best().verdict == 'ok':
            text += ['', self.snippet()]
        return {'kind': 'weir-plots', 'title': ', '.join(map(os.path.basename, self.o.files)),
                'text': '\n'.join(text), 'plots': [self.plot().data()],
                'tables': [self.table(f'round {n}: {why}', trials).data()
                           for n, (why, trials) in enumerate(self.rounds)]}

    def files(self):
        out = {'tune.csv': self.csv(), 'tune.json': self.json(), 'tune.html': page(self.o.program, self.data())}
        if self.best().verdict == 'ok':
            out['policy.yaml'] = self.snippet()
        return out

    def text(self):
        width = terminal_width(sys.stdout)
        lines = self.summary() + self.legend()
        out = '\n' + ''.join(fold(line + '\n', width) for line in lines)
        return out + (f'\n{self.snippet()}' if self.best().verdict == 'ok' else '')


def yaml(tree, indent=0):
    """A map of maps. Maps of values alone stand in one line."""
    out = []
    for key, v in tree.items():
        if not isinstance(v, dict):
            out.append(f'{"":{indent}}{key}: {v}\n')
        elif any(isinstance(x, dict) for x in v.values()):
            out.append(f'{"":{indent}}{key}:\n{yaml(v, indent + 2)}')
        else:
            pairs = ', '.join(f'{k}: {x}' for k, x in v.items())
            out.append(f'{"":{indent}}{key}: {{{pairs}}}\n')
    return ''.join(out)


# ---- the command

def options():
    p = argparse.ArgumentParser()
    p.add_argument('program') # weir-lab
    for name in ('set', 'vary'):
        p.add_argument(f'--{name}', action='append', default=[])
    p.add_argument('--out')
    p.add_argument('--objective', default='slowdown(p99, size < 100KB)')
    p.add_argument('--throughput', default='sum(goodput(h*))')
    p.add_argument('--floor', default='95%')
    p.add_argument('--pauses', default='xoffs')
    p.add_argument('--class', dest='queue', default='roce.3')
    p.add_argument('--seeds', type=int)
    p.add_argument('--rounds', type=int, default=8)
    p.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument('--on')
    p.add_argument('--json', action='store_true')
    p.add_argument('--quiet', action='store_true')
    p.add_argument('files', nargs='*')
    return p.parse_args()


def main():
    begin()
    o = options()
    t = Tune(o)
    t.engine = start_engine(o)
    stopped = t.tune()
    if stopped is not None:
        complain(stopped + resume_hint(o), FAILED)
    code = DONE if t.best().verdict == 'ok' else FAILED
    return publish(t, o, code, 'tune', t.engine)


if __name__ == '__main__':
    sys.exit(main())
