// SPDX-License-Identifier: Apache-2.0
// The parts of the page that need no browser, and the rules for its files.
//
// usage: node pieces.mjs PAGE
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { decimate, nearest } from '../../web/src/decimate.js';
import { cell, fine, fitted, ticks, time, value, words } from '../../web/src/format.js';
import { layout } from '../../web/src/layout.js';
import { addressesOf } from '../../web/src/model.js';
import { Places } from '../../web/src/places.js';
import { Broken, Timeline } from '../../web/src/timeline.js';

const page = readFileSync(process.argv[2], 'utf8');
const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the page is one file: two hashes, no address of another machine, the marker once', () => {
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)[1];
  const sha = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const script = /<script>([\s\S]*?)<\/script>/.exec(page)[1];
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)[1];
  assert.equal(
    policy,
    `default-src 'none'; script-src ${sha(script)}; style-src ${sha(style)}; connect-src 'self'; ` +
      "img-src data:; base-uri 'none'; form-action 'none'"
  );
  assert.equal(page.split('@WEIR_DATA@').length, 2);
  assert.ok(page.includes('The MIT License'), 'the licence of uPlot is in the page');
  const addresses = page.match(/https?:\/\/[^\s"'`)]+/g) ?? [];
  assert.deepEqual(
    [...new Set(addresses)].filter((a) => !a.includes('www.w3.org/2000/svg')),
    []
  );
  assert.doesNotMatch(page, /innerHTML|insertAdjacentHTML|document\.write|eval\(/);
});

test('the build knows every file of the page: a change of one makes the page anew', () => {
  const known = read('web/meson.build').match(/src\/[\w/]+\.\w+/g);
  const there = readdirSync(new URL('../../web/src', import.meta.url), { recursive: true })
    .filter((name) => name.includes('.'))
    .map((name) => `src/${name}`);
  assert.deepEqual(known.sort(), there.sort());
});

test('the lock file pins every package by its hash, and names no registry', () => {
  const lock = JSON.parse(read('web/package-lock.json'));
  assert.doesNotMatch(read('web/package-lock.json'), /https?:|resolved/);
  for (const [name, entry] of Object.entries(lock.packages))
    if (name) assert.match(entry.integrity, /^sha512-/, name);
  const own = JSON.parse(read('web/package.json'));
  for (const version of Object.values({ ...own.dependencies, ...own.devDependencies }))
    assert.match(version, /^\d+\.\d+\.\d+$/, 'a version is exact');
});

const small = () =>
  Timeline.from({
    columns: [
      ['s1', 'ports', 'p1', null, 'tx_bytes'],
      ['s1', 'queues', 'p1', 3, 'length_bytes'],
    ],
    frames: [[0], [1000, 0, 125], [3000, 0, 375, 1, 7], [4000, 1, 0]],
  });

test('a column keeps its value until a frame changes it', () => {
  const t = small();
  assert.deepEqual([...t.gauge(1)], [0, 0, 7, 0]);
  assert.deepEqual(
    [0, 1, 2, 3].map((k) => t.at(1, k)),
    [0, 0, 7, 0]
  );
  assert.equal(t.at(undefined, 2), 0, 'a column that is not there was 0 all the time');
  assert.equal(t.find('s1', 'queues', 'p1', 3, 'length_bytes'), 1);
  assert.deepEqual(
    [-5, 0, 999, 1000, 3999, 9999].map((x) => t.frameAt(x)),
    [0, 0, 0, 1, 2, 3]
  );
});

test('a rate is the growth of the interval by its length; a counter that begins anew has none', () => {
  const t = small();
  assert.deepEqual([...t.rate(0, 8e9)].slice(1), [1e9, 1e9, 0]);
  assert.ok(Number.isNaN(t.rate(0, 8e9)[0]));
  t.addFrame([5000, 0, 10]);
  assert.equal(t.growth(0).at(-1), 0);
});

test('a rate on the line has 24 bytes for each frame, and fills the speed', () => {
  const columns = ['tx_bytes', 'tx_packets'].map((fact) => ['s1', 'ports', 'p1', null, fact]);
  const t = Timeline.from({ columns, frames: [[0], [1000, 0, 77, 1, 2], [2000]] });
  assert.deepEqual([...t.lineRate('s1', 'ports', 'p1', 'tx')].slice(1), [1e9, 0]);
  assert.deepEqual([...t.lineRate('s1', 'ports', 'p1', 'tx', 2)], [5e8, 5e8, 5e8], 'the mean');
  assert.equal(t.lineRateAt(0, 1, 1), 1e9);
  assert.deepEqual([...t.lineRate('s1', 'ports', 'p2', 'tx')].slice(1), [0, 0]);
});

test('a mean rate covers steps: it counts each byte once, and is level where the steps are', () => {
  const frames = [[0]];
  for (let k = 1; k <= 400; k++) frames.push(k % 10 ? [k * 1000] : [k * 1000, 0, k * 125]);
  const t = Timeline.from({ columns: [['', 'flows', 'f', null, 'bytes']], frames });
  assert.equal(t.stepFrames(0), 40, 'four steps of ten frames');
  const rates = [...t.meanRate(0, 8e9)];
  assert.ok(rates.slice(40, -50).every((r) => Math.abs(r - 1e9) < 1e-3), `${rates[100]}`);
  assert.ok(Math.max(...t.rate(0, 8e9).slice(1)) > 9e9, 'frame by frame it is ten times that');
  const few = Timeline.from({ columns: [['', 'flows', 'f', null, 'bytes']], frames: [[5]] });
  assert.equal(few.meanRate(0, 8e9).length, 1);
});

test('a place is free of boxes, and of lines where that is possible', () => {
  const p = new Places();
  p.take(0, 0, 10, 10);
  p.lines = [[20, -50, 20, 50]];
  assert.equal(p.free(9, 0, 10, 10), false);
  assert.equal(p.free(10, 0, 10, 10), true);
  assert.equal(p.clear(10, 0, 10, 10), true);
  assert.equal(p.clear(16, 0, 10, 10), false);
  const at = [
    [0, 0],
    [18, 0],
    [0, 12],
  ];
  assert.deepEqual(p.copy().first(at, 10, 10), [18, 0], 'a copy has no lines');
  assert.deepEqual(p.first(at, 10, 10), [0, 12]);
  assert.deepEqual(p.first(at, 10, 10), [18, 0], 'a line is better than nothing');
  assert.equal(p.first(at, 10, 10), null);
});

test('a ring keeps the latest frames and the values that hold at its first', () => {
  const t = new Timeline(10);
  t.addColumns(0, [
    ['s', 'ports', 'p', null, 'up'],
    ['s', 'ports', 'p', null, 'rx_bytes'],
  ]);
  t.addFrame([0, 0, 1, 1, 0]);
  for (let k = 1; k <= 1000; k++) t.addFrame([k, 1, k]);
  assert.ok(t.length <= 310 && t.length >= 10, `${t.length} frames`);
  assert.equal(t.times.at(-1), 1000);
  assert.equal(t.at(0, 0), 1, 'its change is older than the ring');
  assert.equal(t.gauge(1).at(-1), 1000);
  assert.ok(t.columns[1].frames.length <= 311);
});

test('columns from 0 on forget the earlier ones', () => {
  const t = small();
  t.addColumns(0, [['s1', 'ports', 'p9', null, 'up']]);
  assert.equal(t.length, 0);
  assert.equal(t.find('s1', 'queues', 'p1', 3, 'length_bytes'), undefined);
});

test('broken timelines are refused with what is wrong', () => {
  const column = ['s', 'ports', 'p', null, 'up'];
  for (const [data, text] of [
    [{}, /columns.*frames/],
    [{ columns: [['s', 'ports']], frames: [] }, /column 0 is not/],
    [{ columns: [column], frames: [[0, 1, 5]] }, /no column 1/],
    [{ columns: [column], frames: [[0, 0]] }, /frame 0 is not/],
    [{ columns: [column], frames: [['x']] }, /frame 0 is not/],
    [{ columns: [column], frames: [[0, 0, null]] }, /no number/],
    [{ columns: [column], frames: [[5], [4]] }, /goes back in time/],
  ])
    assert.throws(
      () => Timeline.from(data),
      (e) => e instanceof Broken && text.test(e.message),
      JSON.stringify(data)
    );
});

test('decimation keeps every peak, in order, and the ends', () => {
  const n = 100000;
  const xs = Float64Array.from({ length: n }, (_, i) => i);
  const ys = Float64Array.from({ length: n }, (_, i) => Math.sin(i / 1000));
  ys[54321] = 99;
  ys[20000] = 98;
  ys[54322] = -99;
  const [x, y] = decimate(xs, [ys], 0, n, 500);
  assert.equal(x.length, 1000);
  assert.ok(y.includes(99) && y.includes(98) && y.includes(-99));
  assert.ok(y.indexOf(99) < y.indexOf(-99));
  assert.equal(x[0], 0);
  assert.equal(x.at(-1), n - 1);
  for (let i = 1; i < x.length; i++) assert.ok(x[i] >= x[i - 1]);
  const few = decimate(xs, [ys], 10, 20, 500);
  assert.deepEqual([...few[0]], [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  const gaps = decimate(xs, [new Array(n).fill(null)], 0, n, 500);
  assert.ok(
    gaps[1].every((v) => v === null),
    'no value stays none'
  );
});

test('the nearest sample, at the ends as well', () => {
  assert.deepEqual(
    [-9, 0, 4, 6, 99].map((x) => nearest([0, 5, 10], x)),
    [0, 0, 1, 1, 2]
  );
  assert.equal(nearest([], 3), -1);
});

test('numbers have the units of the programs', () => {
  for (const [got, text] of [
    [value(308224, 'bytes'), '308 KB'],
    [value(40e9, 'bps'), '40 Gb/s'],
    [value(0, 'bps'), '0 b/s'],
    [value(27540728, 'ns', 4), '27.54 ms'],
    [value(1079, 'us'), '1.08 ms'],
    [value(0.1234, 'share'), '12.3 %'],
    [value(1234567, ''), '1.23 M'],
    [value(16762, ''), '16,762'],
    [value(null, 'bytes'), '–'],
    [fine(308224, 'bytes'), '308,224 B'],
    [fine(0.5, 'share'), '50 %'],
    [fine(11236960000, 'bps'), '11.237 Gb/s'],
    [fine(1015123456, 'ns'), '1.01512 s'],
    [fine(75200000000, 'ns'), '75.2 s'],
    [fine(12345678, ''), '12,345,678'],
    [fine(null, 'bytes'), '–'],
    [time(125e9), '2:05 min'],
    [cell('sender_qp', 11460614)[0], '0xaee006'],
    [cell('seq', 11460614)[0], '11460614'],
    [words('rate_bps'), 'rate'],
    [words('flow_bps'), 'flow rate'],
    [cell('up', true)[0], 'yes'],
  ])
    assert.equal(got, text);
  assert.deepEqual(ticks([0, 250e3, 500e3], 'bytes'), ['0 KB', '250 KB', '500 KB']);
  assert.deepEqual(ticks([0, 0.25e6, 1.5e6], 'bytes'), ['0.00 MB', '0.25 MB', '1.50 MB']);
});

test('a name keeps the part that differs from its neighbours', () => {
  for (const [name, most, want] of [
    ['node12', 6, 'node12'],
    ['node12.rack3.example.com', 10, 'node12'],
    ['gpu-cluster-node-17', 9, 'gpu-…e-17'],
    ['10.0.0.1', 7, '10.…0.1'],
    ['p12', 1, 'p…'],
  ])
    assert.equal(fitted(name, most), want);
});

test('a port has the address of its flows, or their number', () => {
  const flow = (from, in_port, to, out_port) => ({ from, in_port, to, out_port });
  const got = addressesOf([
    flow('10.0.0.1', 'p1', '10.0.0.3', 'p3'),
    flow('10.0.0.2', 'p2', '10.0.0.3', 'p3'),
    flow('10.0.0.4', 'p2', '10.0.0.5', null),
  ]);
  assert.deepEqual(
    [...got],
    [
      ['p1', '10.0.0.1'],
      ['p3', '10.0.0.3'],
      ['p2', '2 addresses'],
    ]
  );
});

function clos(tors, spines, hosts) {
  const nodes = [],
    links = [];
  for (let s = 1; s <= spines; s++) nodes.push({ name: `s${s}`, kind: 'switch' });
  for (let t = 1; t <= tors; t++) {
    nodes.push({ name: `t${t}`, kind: 'switch' });
    for (let i = 1; i <= hosts; i++) {
      const name = `h${(t - 1) * hosts + i}`;
      nodes.push({ name, kind: 'host' });
      links.push({ a: [name, null], b: [`t${t}`, `p${i}`] });
    }
    for (let s = 1; s <= spines; s++)
      links.push({ a: [`t${t}`, `p${hosts + s}`], b: [`s${s}`, `p${t}`] });
  }
  return { nodes, links };
}

test('a fabric is drawn by tiers: hosts below, nothing on top of another, all inside', () => {
  for (const [topology, width] of [
    [clos(4, 2, 2), 900],
    [clos(20, 16, 16), 900],
    [clos(1, 0, 33), 880],
    [clos(2, 1, 4), 350],
    [clos(8, 4, 40), 1800],
  ]) {
    const l = layout(topology, width);
    const at = (n) => l.nodes.get(n);
    assert.equal(l.nodes.size, topology.nodes.length);
    assert.ok(at('h1').y > at('t1').y);
    if (at('s1')) assert.ok(at('t1').y > at('s1').y);
    const places = [...l.nodes.values()];
    for (const p of places)
      assert.ok(
        p.x - p.w / 2 >= 0 && p.x + p.w / 2 <= l.width && p.y + p.h / 2 <= l.height,
        JSON.stringify(p)
      );
    for (let i = 0; i < places.length; i++)
      for (let k = i + 1; k < places.length; k++) {
        const [a, b] = [places[i], places[k]];
        assert.ok(
          Math.abs(a.x - b.x) >= (a.w + b.w) / 2 - 0.01 ||
            Math.abs(a.y - b.y) >= (a.h + b.h) / 2 - 0.01,
          `${width}: ${JSON.stringify([a, b])}`
        );
      }
  }
});

test('a ring, a line, one switch alone, and nothing can be drawn', () => {
  const sw = (n) => ({ name: n, kind: 'switch' });
  const ring = {
    nodes: ['a', 'b', 'c', 'd'].map(sw),
    links: [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
      ['d', 'a'],
    ].map(([x, y]) => ({ a: [x, 'p1'], b: [y, 'p2'] })),
  };
  const l = layout(ring, 800);
  assert.equal(l.nodes.size, 4);
  assert.equal(l.ends.filter((e) => e[4] > 0).length, 1, 'one link closes the ring by an arc');
  assert.equal(layout({ nodes: [sw('x')], links: [] }, 300).nodes.size, 1);
  assert.equal(layout({ nodes: [], links: [] }, 300).nodes.size, 0);
});
