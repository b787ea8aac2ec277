#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same random schedules of bursts with the dataplane's quick ways and without them: every frame
that is sent, every event and every counter must be the same.

    quick_ways.py WITH WITHOUT [--seeds FROM-TO] [--events N] [--jobs N]

WITH and WITHOUT are the two programs of burst_schedule.c. Where a seed differs, its first event
that does is named. Exit 0 all alike, 1 not, 2 misused.
"""
import argparse
import concurrent.futures
import subprocess
import sys

CHUNK = 50


def lines(program, seeds, events, *more):
    run = subprocess.run([program, '--seeds', '%d-%d' % seeds, '--events', str(events), *more],
                         check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f'{program}: exit {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-2000:]}')
    return [row for row in run.stdout.splitlines() if row.startswith(('seed', '  event'))]


def first_difference(args, seed):
    a, b = (lines(p, (seed, seed), args.events, '--trace') for p in (args.quick, args.slow))
    for x, y in zip(a, b):
        if x != y:
            return f'seed {seed} differs: with {x.strip()}, without {y.strip()}'
    return f'seed {seed} differs, and not when it is traced'


def main():
    p = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1].strip())
    p.add_argument('quick')
    p.add_argument('slow')
    p.add_argument('--seeds', default='1-60')
    p.add_argument('--events', type=int, default=400)
    p.add_argument('--jobs', type=int, default=1)
    args = p.parse_args()
    first, last = (int(n) for n in args.seeds.split('-'))
    chunks = [(n, min(n + CHUNK - 1, last)) for n in range(first, last + 1, CHUNK)]
    sent = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for a, b in zip(pool.map(lambda c: lines(args.quick, c, args.events), chunks),
                        pool.map(lambda c: lines(args.slow, c, args.events), chunks)):
            for x, y in zip(a, b, strict=True):
                if x != y:
                    sys.exit(first_difference(args, int(x.split()[1].rstrip(':'))))
                sent += int(x.split()[2])
    n = last - first + 1
    print(f'{n} schedules alike, {sent} frames sent')
    if sent < 500 * n:
        sys.exit('too few frames were sent to say anything')


if __name__ == '__main__':
    main()
