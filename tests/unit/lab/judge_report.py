#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges what weir-lab leaves behind: the same bytes from the same scenario, files that other
programs can read and that agree with each other, verdicts and exit codes, partial reports, sweeps.
judge_report.py WEIR_LAB SOURCE_ROOT"""
import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
DATA = re.compile(r'<script type="application/json" id="weir-data">(.*?)</script>', re.S)


def must(ok, why):
    if not ok:
        print(f'judge_report: {why}')
        sys.exit(1)


class Lab:
    def __init__(self, program, root, folder):
        self.program, self.folder = program, folder
        here = os.path.join(root, 'tests/unit/lab/windows.yaml')
        with open(here, encoding='utf-8') as f:
            self.text = f.read().replace('../../../conf', os.path.join(root, 'conf'))
        self.scenario = self.write('windows.yaml', self.text)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, *args, code=0):
        p = subprocess.run([self.program, *args], capture_output=True, text=True, timeout=TIMEOUT_S)
        must(p.returncode == code, f'{args}: code {p.returncode}, not {code}\n{p.stdout}{p.stderr}')
        return p

    # Runs until the program shows progress on its terminal, then asks it to stop.
    def stopped(self, *args):
        ours, theirs = pty.openpty()
        p = subprocess.Popen([self.program, *args], stdout=subprocess.PIPE, stderr=theirs,
                             text=True)
        os.close(theirs)
        os.read(ours, 1)
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=TIMEOUT_S)
        os.close(ours)
        return p.returncode, out


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def same_bytes(lab):
    a = lab.run('run', '--json', '--quiet', '--out', lab.path('a'), lab.scenario)
    b = lab.run('run', '--json', '--quiet', '--out', lab.path('b'), lab.scenario)
    files = sorted(os.listdir(lab.path('a')))
    must(a.stdout == b.stdout, 'two runs print different reports')
    must(files == sorted(os.listdir(lab.path('b'))), 'two runs leave different files')
    for f in files:
        must(read(lab.path('a', f)) == read(lab.path('b', f)), f'two runs differ in {f}')
    must(read(lab.path('a', 'report.json')).decode() == a.stdout,
         'report.json is not what --json prints')
    lab.run('run', '--quiet', '--seed', '8', '--out', lab.path('c'), lab.scenario)
    must(read(lab.path('a', 'series.csv')) != read(lab.path('c', 'series.csv')),
         'another seed differs nowhere')
    return files


def page_data(lab, *names):
    """What the page of a run shows."""
    page = read(lab.path(*names)).decode()
    found = DATA.findall(page)
    must(len(found) == 1 and '@WEIR_DATA@' not in page, 'the page has its data once')
    return json.loads(found[0])


def timeline_of(timeline):
    """The value of each column at each frame."""
    columns, values, frames = [tuple(c) for c in timeline['columns']], {}, []
    must(len(set(columns)) == len(columns), 'a column is there twice')
    for t, *changes in timeline['frames']:
        must(not frames or t > frames[-1][0], 'the frames are not in order')
        for i, v in zip(changes[::2], changes[1::2]):
            values[columns[i]] = v
        frames.append((t, dict(values)))
    return frames


def well_formed(lab, files):
    must(set(files) == {'report.json', 'report.html', 'timeline.json', 'series.csv', 'flows.csv'},
         f'files: {files}')
    report = json.loads(read(lab.path('a', 'report.json')))
    timeline = json.loads(read(lab.path('a', 'timeline.json')))
    data = page_data(lab, 'a', 'report.html')
    must(data['kind'] == 'weir-lab' and data['report'] == report, 'the page has another report')
    must(data['timeline'] == timeline, 'the page has other numbers over time')
    with open(lab.path('a', 'series.csv'), encoding='utf-8', newline='') as f:
        rows = list(csv.reader(f))
    series = data['series']
    units = {'bps': ' bps', 'bytes': ' bytes', 'ns': ' ns'}
    must([c['name'] + units.get(c['unit'], '') for c in series['columns']] == rows[0][1:],
         f'columns of the series: {rows[0]}')
    must([int(r[0]) for r in rows[1:]] == series['time_ns'], 'times of the series')
    must([[None if v == '' else float(v) for v in r[1:]] for r in rows[1:]] ==
         [list(v) for v in zip(*(c['values'] for c in series['columns']))], 'values of the series')
    frames = timeline_of(timeline)
    must(frames[-1][0] == report['end_ns'] and 100 <= len(frames) <= 1000, f'{len(frames)} frames')
    check_last(report, frames[-1][1])
    longest = max(v.get(('s1', 'queues', 'p3', 3, 'length_bytes'), 0) for _, v in frames)
    most = next(q['max_bytes'] for q in report['switches'][0]['queues']
                if (q['port'], q['queue']) == ('p3', 3))
    must(0.9 * most < longest <= most, f'the longest queue: {longest}, and {most}')
    switches = {n['name'] for n in data['topology']['nodes'] if n['kind'] == 'switch'}
    must(switches == set(data['settings']) == {'s1'}, f'switches: {switches}')
    must(['h1', None] in [end for k in data['topology']['links'] for end in (k['a'], k['b'])],
         'h1 is on no link')
    ecn = data['settings']['s1']['ecn']
    must(any(r['kmin_bytes'] for r in ecn), f'no ECN thresholds: {ecn}')
    for o in data['operations']['fct_ns']:
        must(o['values'] == sorted(o['values']), 'times of operations are not sorted')


def check_last(report, last):
    """Counters of the last frame are those of the report."""
    for sw in report['switches']:
        for q in sw['queues']:
            for fact in ('tx_bytes', 'ecn_marked', 'dropped_packets', 'length_bytes'):
                got = last.get((sw['name'], 'queues', q['port'], q['queue'], fact), 0)
                must(got == q[fact], f'{sw["name"]} {q["port"]}.{q["queue"]} {fact}: {got}')
        for p in sw['pfc']:
            for fact in ('rx_pause', 'tx_pause', 'rx_pause_duration_us'):
                got = last.get((sw['name'], 'pfc', p['port'], p['class'], fact), 0)
                must(got == p[fact], f'{sw["name"]} {p["port"]}.{p["class"]} {fact}: {got}')
    for h in report['hosts']:
        for fact in ('tx_bytes', 'tx_packets', 'goodput_bytes', 'cnps_received', 'ce_marked'):
            must(last.get(('', 'hosts', h['name'], None, fact), 0) == h[fact],
                 f'{h["name"]} {fact}')
    for f in report['flows']:
        must(last.get(('', 'flows', f['name'], None, 'bytes'), 0) == f['goodput_bytes'],
             f'bytes of {f["name"]}')


# The name of a scenario can end no element of the page, and is the same text in it.
def hostile(lab):
    title = '</script><img src=x onerror=alert(1)><!--'
    text = lab.text.replace('scenario:', f'title: "{title}"\nscenario:', 1)
    path = lab.write('hostile.yaml', text)
    lab.run('run', '--quiet', '--set', 'expect=[]', '--out',
            lab.path('h'), path)
    must(page_data(lab, 'h', 'report.html')['title'] == title, 'the title is another one')
    must(title not in read(lab.path('h', 'report.html')).decode(), 'the title is not escaped')


def numbers_agree(lab):
    report = json.loads(read(lab.path('a', 'report.json')))
    hosts = {h['name']: h for h in report['hosts']}
    with open(lab.path('a', 'series.csv'), encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    with open(lab.path('a', 'flows.csv'), encoding='utf-8', newline='') as f:
        flows = list(csv.DictReader(f))
    must([int(r['time_ns']) for r in rows] == list(range(100000, 4000001, 100000)),
         'times of the series')
    must(list(rows[0])[1:4] == ['rate(h1) bps', 'rate(h2) bps', 'queue(s1.p3.3, max) bytes'],
         'columns')
    must(sum(int(r['messages(rpc)']) for r in rows) == len(flows) ==
         report['flows'][1]['operations'] ==
         hosts['h2']['messages_completed'], 'operations are counted differently')
    sent = sum(float(r['rate(h1) bps']) for r in rows) / len(rows)
    must(abs(sent - hosts['h1']['tx_bps']) <= 1, f'rate of h1: {sent} and {hosts["h1"]["tx_bps"]}')
    must(max(int(r['queue(s1.p3.3, max) bytes']) for r in rows) <=
         next(q for q in report['switches'][0]['queues'] if q['port'] == 'p3' and q['queue'] ==
              3)['max_bytes'],
         'the longest queue')
    must(all(int(f['fct_ns']) == int(f['done_ns']) - int(f['posted_ns']) >=
             int(f['ideal_ns']) for f in flows),
         'times of operations')
    must(report['passed'] and report['balanced'] and report['complete'] and
         report['lossless_drops'] == 0 and
         all(e['passed'] and e['known'] for e in report['expectations']), 'the verdict')
    balance = report['switches'][0]['balance']
    must(balance['received'] + balance['generated'] + balance['replicated'] ==
         balance['transmitted'] + balance['consumed'] + balance['dropped'] + balance['queued'],
         'the balance')


def verdicts(lab):
    bad = lab.write('bad.yaml', lab.text + '  - rate(h1) within 1% of 1G\n')
    p = lab.run('run', '--quiet', bad, code=1)
    line = next(x for x in p.stdout.split('\n') if x.startswith('FAIL  rate(h1)'))
    must(line.split()[-3:] == ['1G', '40G', '+-1%'], f'the failing line: {line}')
    must(p.stdout.rstrip().split('\n')[-1].startswith('FAIL: 19 of 20'), 'the last line')
    p = lab.run('run', '--quiet', '--metric', 'rate(h3)', lab.scenario)
    must('rate(h3)' in p.stdout and '\nmetrics\n' in p.stdout, 'no metric in the table')
    p = lab.run('run', lab.write('wrong.yaml', lab.text + '  - rat(h1) > 5G\n'), code=2)
    place = f'wrong.yaml:{lab.text.count(chr(10)) + 1}:5: expect[19]: '
    must(p.stdout == '' and
         p.stderr.rstrip().endswith(place + 'there is no function rat: did you mean rate?'),
         f'the mistake: {p.stderr}')
    p = lab.run('run', '--metric', 'rate(h9)', lab.scenario, code=2)
    must('did you mean h1?' in p.stderr, f'the mistake: {p.stderr}')
    p = lab.run('run', '--metric', 'rate(h*) / 2', lab.scenario, code=2)
    must('is a list' in p.stderr and p.stdout == '', f'a list as a metric: {p.stderr}')
    lab.run('run', '--quiet', '--metric', 'max(rate(h*)) / 2', lab.scenario)
    for f in ('rate(', 'jain(', 'fct('):
        must('\n  ' + f in lab.run('help', 'functions').stdout, f'no help about {f}')


def partial(lab):
    code, out = lab.stopped('run', '--set=duration=1000s', lab.scenario)
    must(code == 1 and 'PARTIAL: broken off at' in out, f'a run that was stopped: {code}\n{out}')
    must('\nopen  ' in out and ' open\n' in out, f'no expectation is open\n{out}')
    must('\nFAIL  ' not in out, f'an expectation failed that is open\n{out}')


def sweep(lab):
    plain = lab.text[:lab.text.index('expect:')] + 'expect:\n  - rate(h1) > 2K\n'
    path = lab.write('plain.yaml', plain)
    p = lab.run('sweep', path, '--vary', 'duration=3ms,2ms,x', '--vary', 'flows[0].class=3,0',
                '--metric',
                'rate(h1)', '--jobs', '2', '--out', lab.path('s'), code=1)
    must(p.stdout.count('PASS') == 4 and p.stdout.count('  ERROR\n') == 2, p.stdout)
    must('\nERROR: --set \'duration=x\': duration: "x": expected a time' in p.stdout, p.stdout)
    with open(lab.path('s', 'sweep.csv'), encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    must([(r['duration'], r['flows[0].class']) for r in rows] ==
         [(d, c) for d in ('3ms', '2ms', 'x') for c in ('3', '0')], 'the order of the runs')
    alone = json.loads(lab.run('run', '--json', '--quiet', '--set=duration=2ms', '--metric',
                               'rate(h1)', path).stdout)
    must(float(rows[2]['rate(h1) bps']) == alone['metrics'][0]['value'],
         'a run of the sweep is not as alone')
    data = page_data(lab, 's', 'sweep.html')
    axes = data['axes']
    must(data['kind'] == 'weir-sweep' and [a['name'] for a in axes] == ['duration', 'class'] and
         axes[0]['numbers'] is axes[1]['numbers'] is None, f'the axes: {axes}')
    must([c['limit'] for c in data['columns']] == [2000, None], f'limits: {data["columns"]}')
    for r, row in zip(data['runs'], rows):
        keys = [a['values'][i] for a, i in zip(axes, r['at'])]
        must(keys == [row['duration'], row['flows[0].class']], f'a run at {keys}')
        must((r['report'] is None) == (r['word'] == 'ERROR'), f'the page of a run: {r}')
    page = page_data(lab, 's', data['runs'][2]['report'])
    must(page['report']['metrics'] == alone['metrics'], 'the page of a run is not that of its run')
    first = os.path.getmtime(lab.path('s', data['runs'][2]['report']))
    again = lab.run('sweep', path, '--vary', 'duration=3ms,2ms,x', '--vary', 'flows[0].class=3,0',
                    '--metric', 'rate(h1)', '--jobs', '2', '--out', lab.path('s'), code=1)
    must(again.stdout == p.stdout and
         os.path.getmtime(lab.path('s', data['runs'][2]['report'])) == first,
         'a run whose page is there runs again')
    lab.run('sweep', path, code=2)
    code, out = lab.stopped('sweep', lab.scenario, '--vary', 'duration=1000s,1001s,1002s',
                            '--jobs', '2')
    must(code == 1 and out.count('not run') >= 1, f'a sweep that was stopped: {code}\n{out}')


# The policy warns of this scenario before it says what is wrong.
def sweep_reasons(lab, root):
    path = os.path.join(root, 'conf/lab/kmin-above-xoff.yaml')
    listed = "--metric 'rate(h*)':1:1: is a list, and a metric is one value: write max(rate(h*)),"
    p = lab.run('sweep', path, '--vary', 'seed=1,2,x', '--vary', 'sample=10us,y', '--metric',
                'rate(h*)', '--out', lab.path('r'), code=2)
    rows = [r.split() for r in p.stdout.splitlines() if 'ERROR' in r and ': ' not in r]
    must([r[-1] for r in rows] == ['1', '2', '1', '2', '3', '4'], f'the cells: {p.stdout}')
    foot = p.stdout[p.stdout.index('ERROR 1: '):]
    must(f'ERROR 1: {listed}' in foot, f'the metric: {foot}')
    must('sample: "y": expected a time' in foot and 'seed: "x": expected a whole' in foot, foot)
    must('warning' not in foot and foot.count('ERROR') == 4, foot)
    runs = json.loads(read(lab.path('r', 'sweep.json')))['runs']
    must(listed in runs[0]['error'], f'in JSON: {runs[0]}')
    must('seed: "x"' in runs[5]['error'] and 'sample: "y"' in runs[5]['error'], runs[5])
    must(b'write max(rate(h*))' in read(lab.path('r', 'sweep.html')), 'in the page')
    p = lab.run('sweep', path, '--vary', 'seed=1,2', '--metric', 'rate(h*)', code=2)
    must(p.stdout.count('ERROR') == 3 and f'\nERROR: {listed}' in p.stdout, p.stdout)
    p = lab.run('sweep', path, '--vary', 'seed=1,2', '--quiet', '--metric', 'max(rate(h*))')
    must('ERROR' not in p.stdout, p.stdout)


# Each notification with what it was decided by, the latest first.
def notifications(lab, root):
    path = os.path.join(root, 'conf/lab/ipcc-incast.yaml')
    lab.run('run', '--quiet', '--set', 'duration=3ms', '--set', 'expect=[wrong_cnps == 0]', '--out',
            lab.path('n'), path)
    data = page_data(lab, 'n', 'report.html')
    sent = sum(n['cnps_sent'] for n in data['report']['notifications'])
    must(0 < len(data['cnps']) == min(sent, 500), f'{len(data["cnps"])} of {sent}')
    must([c['seq'] for c in data['cnps']] == list(range(sent, sent - len(data['cnps']), -1)) and
         all(c['switch'] == 's1' and c['length_bytes'] > c['kmin_bytes'] and c['sender_qp'] and
             'time' not in c for c in data['cnps']), f'a notification: {data["cnps"][0]}')


def why(lab, root):
    with open(os.path.join(root, 'tests/unit/lab/storms.yaml'), encoding='utf-8') as f:
        text = f.read().replace('../../../conf', os.path.join(root, 'conf'))
    path = lab.write('storms.yaml', text)
    p = lab.run('run', '--quiet', '--out', lab.path('w'), path)
    report = json.loads(read(lab.path('w', 'report.json')))
    must(len(report['why']) == 1 and len(report['storms']) == 1, f'why: {report["why"]}')
    cause, storm = report['why'][0], report['storms'][0]
    must((cause['kind'], cause['reason'], cause['host'], cause['class'], cause['times'],
          cause['at_the_end']) == ('root', 'storm', 'h2', 3, 2, False), f'the cause: {cause}')
    must(cause['queues'] == [{'switch': 's1', 'port': 'p2', 'class': 3}], 'its queues')
    must(50e6 < cause['first_ns'] < cause['last_ns'] <= 501e6 and
         50e6 < cause['longest_ns'] < 60e6, f'its times: {cause}')
    must((storm['switch'], storm['port'], storm['class'], storm['detected'], storm['restored'],
          storm['escalated']) == ('s1', 'p2', 3, 2, 2, 1), f'the storm: {storm}')
    drops = [d for d in report['switches'][0]['drops'] if d['reason'] == 'watchdog']
    must(sum(d['packets'] for d in drops) == storm['tx_dropped'] + storm['rx_dropped'] > 0,
         'what the storm cost')
    line = next(x for x in p.stdout.split('\n') if x.startswith('storm '))
    must(cause['chain'] == 's1.p2.3 <- host h2 (storm since 50ms)' and cause['chain'] in line,
         f'the line: {line}')
    events = page_data(lab, 'w', 'report.html')['events']
    must(any('s1.p2.3 <- host h2' in e['text'] for e in events), f'events: {events}')
    must([e['time_ns'] for e in events] == sorted(e['time_ns'] for e in events), 'their order')
    must(sum('PFC storm at s1.p2, class 3: found' in e['text'] and e['severity'] == 'alarm'
             for e in events) == 2, f'storms: {events}')
    healthy = json.loads(lab.run('run', '--json', '--quiet', lab.scenario).stdout)
    must(healthy['why'] == [] and healthy['storms'] == [], 'a healthy run has a cause')


# Three of four flows share 40G; the fourth has the rest of a1's line, unless a1 delays it.
def ideal_rates(lab, root):
    args = ('run', '--json', '--quiet', '--set', 'duration=40ms', '--set',
            'expect=[lossless_drops == 0]', os.path.join(root, 'conf/lab/generations-leak.yaml'))
    leaky = json.loads(lab.run(*args).stdout)
    sound = json.loads(lab.run(*args, '--set', 'hosts.a1.nic.cc.leak=off').stdout)
    ideal = {f['name']: f['ideal_bps'] for f in leaky['flows']}
    must(abs(ideal['leak'] / ideal['leak-free'] - 40 / 30) < 1e-6, f'ideal rates: {ideal}')
    must(ideal['leak'] == ideal['apart'] and ideal['leak-free'] == ideal['apart-free'] and
         ideal['leak'] < 40e9, f'ideal rates: {ideal}')
    found = [w for w in leaky['warnings'] if w.startswith('leak-free from a1 to a6 had ')]
    must(len(leaky['warnings']) == len(found) == 1, f'warnings: {leaky["warnings"]}')
    must(sound['warnings'] == [], f'warnings without the leak: {sound["warnings"]}')
    # PFC gives three of four connections two thirds of the ideal: PAUSE is the reason.
    unfair = json.loads(lab.run('run', '--json', '--quiet',
                                os.path.join(root, 'conf/lab/unfairness-pfc.yaml')).stdout)
    must(unfair['warnings'] == [], f'warnings under PAUSE: {unfair["warnings"]}')


def main(program, root):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(os.path.abspath(program), os.path.abspath(root), folder)
        well_formed(lab, same_bytes(lab))
        hostile(lab)
        numbers_agree(lab)
        verdicts(lab)
        partial(lab)
        sweep(lab)
        sweep_reasons(lab, root)
        why(lab, root)
        notifications(lab, root)
        ideal_rates(lab, root)
    print('reports judged')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
