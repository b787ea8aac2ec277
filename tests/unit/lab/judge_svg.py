#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the plots of draw_plots as a reader would: well-formed XML, nothing outside the picture,
no text over another one. judge_svg.py DRAW_PLOTS"""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

WIDTH, HEIGHT, CHAR, LINE = 900, 420, 6.4, 12
SVG = '{http://www.w3.org/2000/svg}'


def fail(why):
    print(why)
    sys.exit(1)


def boxes(root):
    """(left, top, right, bottom, text) of every text that is not turned."""
    for t in root.iter(SVG + 'text'):
        if 'transform' in t.attrib:
            continue
        text = t.text or ''
        big = 1.35 if t.get('class') == 't' else 1
        x, y, width = float(t.get('x')), float(t.get('y')), len(text) * CHAR * big
        left = {'end': x - width, 'middle': x - width / 2}.get(t.get('text-anchor'), x)
        yield left, y - LINE * big, left + width, y, text


def judge(path):
    name = os.path.basename(path)
    with open(path, encoding='utf-8') as f:
        text = f.read()
    root = xml.fromstring(text)
    if re.search(r'\b(nan|inf|-0)\b', re.sub(r'<text.*?</text>', '', text)) or '>-0<' in text:
        fail(f'{name}: a number that is none')
    found = list(boxes(root))
    for i, a in enumerate(found):
        if a[0] < 0 or a[2] > WIDTH + 1 or a[3] > HEIGHT:
            fail(f'{name}: "{a[4]}" leaves the picture')
        for b in found[:i]:
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 2 and b[1] < a[3] - 2:
                fail(f'{name}: "{a[4]}" lies over "{b[4]}"')
    for p in root.iter(SVG + 'path'):
        if 'stroke' not in p.attrib:
            continue
        for x, y in re.findall(r'[ML](-?[\d.]+) (-?[\d.]+)', p.get('d')):
            if not (0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT):
                fail(f'{name}: a line leaves the picture at {x} {y}')
    ticks = [b for b in found if re.match(r'-?[\d.]+', b[4])]
    if len(ticks) < 4:
        fail(f'{name}: axes without numbers')
    return text


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True, timeout=60)
        texts = {f: judge(os.path.join(folder, f)) for f in sorted(os.listdir(folder))}
    want = {'few.svg': ['a &lt; b &amp; c', 'Gb/s', 'virtual time (us)', '<circle'],
            'sixteen.svg': ['and 2 not shown', 'stroke-dasharray'],
            'many.svg': ['KB', 'virtual time (s)'], 'log.svg': ['>1ms<', '>10s<', '%'],
            'one.svg': ['5B'], 'none.svg': ['nothing']}
    if set(want) != set(texts):
        fail(f'plots: {sorted(texts)}')
    for name, words in want.items():
        for word in words:
            if word not in texts[name]:
                fail(f'{name}: no {word}')
    if len(texts['many.svg']) > 200000:
        fail(f'many.svg: {len(texts["many.svg"])} bytes for 40000 points')
    print(f'{len(texts)} plots judged')


if __name__ == '__main__':
    main(sys.argv[1])
