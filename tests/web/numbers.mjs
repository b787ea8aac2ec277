// SPDX-License-Identifier: Apache-2.0
// What an engineer reads off the page: numbers that go together, words, addresses, and room in the
// drawing.
//
// usage: node numbers.mjs PAGE WEIR_LAB ROOT
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { end, eventually, folder, go, open, slide, table, text, withData } from './harness.mjs';
import { page, root, run } from './runs.mjs';

after(end);

const incast = run('incast'),
  storm = run('storm-clos');

/** The value of every column at a frame, by its name. */
function valuesAt({ columns, frames }, k) {
  const last = new Map();
  for (const f of frames.slice(0, k + 1))
    for (let i = 1; i < f.length; i += 2) last.set(columns[f[i]].join(), f[i + 1]);
  return (name) => last.get(name) ?? 0;
}

/** The legends of a chart with the slider at frames: {name: bytes} each, of text such as "83.2 KB". */
async function legends(tab, chart, frames) {
  const all = await tab.$eval(
    'input[type=range]',
    (slider, [selector, list]) =>
      list.map((k) => {
        slider.value = k;
        slider.dispatchEvent(new Event('input'));
        return [...document.querySelectorAll(selector)].map((b) => [
          b.querySelector('span').textContent,
          b.querySelector('output').textContent,
        ]);
      }),
    [`[data-chart=${chart}] .legend button`, frames]
  );
  const size = { B: 1, KB: 1e3, MB: 1e6, 'b/s': 1, 'Kb/s': 1e3, 'Mb/s': 1e6, 'Gb/s': 1e9 };
  return all.map((rows) =>
    Object.fromEntries(
      rows.map(([name, v]) => {
        const [n, unit] = v.split(' ');
        return [name, unit in size ? Number(n.replaceAll(',', '')) * size[unit] : v];
      })
    )
  );
}
const near = (got, want, what) =>
  assert.ok(Math.abs(got - want) <= Math.abs(want) * 0.006 + 1, `${what}: ${got}, not ${want}`);

test('a group is compared with its thresholds by min and shared together', async () => {
  const { timeline } = incast.data;
  const tab = await open(`${incast.address}#/port/s1/p1/3`);
  const k = timeline.frames.findIndex((_, n) => {
    const v = valuesAt(timeline, n);
    return n > 100 && v('s1,pgs,p1,3,min_bytes') > 0 && v('s1,pgs,p1,3,xoff') > 0;
  });
  const v = (fact) => valuesAt(timeline, k)(`s1,pgs,p1,3,${fact}`);
  const [shown] = await legends(tab, 'group', [k]);
  near(shown['min + shared'], v('min_bytes') + v('shared_bytes'), 'min + shared');
  near(shown['XOFF at'], v('xoff_at_bytes'), 'XOFF at');
  assert.equal(shown.shared, undefined, 'shared alone is not beside the threshold');
  assert.match(await text(tab, '[data-chart=group]'), /enters XOFF when min \+ shared reaches/);
  const dashes = await tab.$$eval('[data-chart=group] .legend button', (list) =>
    Object.fromEntries(
      list.map((b) => [
        b.querySelector('span').textContent,
        b.querySelector('line').getAttribute('stroke-dasharray'),
      ])
    )
  );
  assert.notEqual(dashes.min, dashes['watermark of shared alone']);
  const [row] = await table(tab, 'pgs');
  const own = incast.data.report.switches[0].pgs.find((r) => r.port === 'p1');
  const [n, unit] = row.counted_bytes.split(' ');
  near(Number(n) * { KB: 1e3 }[unit], own.min_bytes + own.shared_bytes, 'the table');
  assert.match(await text(tab, '[data-table=pgs] h3'), /at the end of the run/);
  await tab.leave();
});

test('goodput by flow is never above the speed of the links', async () => {
  for (const [{ data, address }, speed] of [
    [storm, 1e9],
    [incast, 40e9],
  ]) {
    const tab = await open(`${address}#/flows`);
    assert.match(await text(tab, '[data-chart=flows] .chart-note'), /acknowledged.*mean over \d/);
    const total = {};
    const frames = data.timeline.frames.flatMap((_, k) => (k % 8 === 2 ? [k] : []));
    for (const [i, shown] of (await legends(tab, 'flows', frames)).entries())
      for (const [name, v] of Object.entries(shown)) {
        assert.ok(v <= speed * 1.005, `${name} ${v} b/s in frame ${frames[i]}`);
        total[name] = (total[name] ?? 0) + v;
      }
    assert.ok(Object.keys(total).length > 0);
    const [first, last] = [data.timeline.frames[0][0], data.timeline.frames.at(-1)[0]];
    for (const [name, sum] of Object.entries(total)) {
      const bytes = valuesAt(data.timeline, 1e9)(`,flows,${name},,bytes`);
      const mean = (bytes * 8e9) / (last - first);
      const got = sum / frames.length;
      assert.ok(Math.abs(got - mean) < mean * 0.1, `mean of ${name}: ${got}, not ${mean}`);
    }
    assert.match(await text(tab, '[data-table=flows]'), /Flows, at the end of the run/);
    assert.match(await text(tab, '[data-table=flows]'), /goodput \(mean of the run\)/);
    await tab.leave();
  }
});

test('the stack of the buffer is what the egress pools use, with the min cells in it', async () => {
  const { timeline } = storm.data;
  const tab = await open(`${storm.address}#/buffer/t4`);
  const [shown] = await legends(tab, 'buffer', [500]);
  const of = (name) => valuesAt(timeline, 500)(`t4,pools,${name},,used_bytes`);
  const stack = shown.ingress + shown.headroom + shown['min cells of the groups'];
  assert.ok(shown['min cells of the groups'] > 30000);
  near(stack, of('egress_lossless') + of('egress_lossy'), 'the stack');
  near(shown['size of the buffer'], storm.data.settings.t4.buffer.size_bytes, 'the size');
  assert.match(await text(tab, '[data-chart=buffer] .chart-note'), /sizes: the buffer 399\.9 KB/);
  for (const id of ['pools', 'pgs'])
    assert.match(await text(tab, `[data-table=${id}] h3`), /at the end of the run/);
  await tab.leave();
});

test('names of ports, steps of a chain and boxes do not cover each other', async () => {
  for (const [width, least] of [
    [1280, 32],
    [1000, 28],
    [390, 20],
  ]) {
    const tab = await open(`${storm.address}#/fabric`, { viewport: { width, height: 800 } });
    const boxes = await tab.$$eval('.port-label, .step, .node .body, .arrow[d]', (list) =>
      list.map((e) => {
        const r = e.getBoundingClientRect();
        const what = `${e.getAttribute('class')} ${e.textContent}`;
        return { what, l: r.left + 1, r: r.right - 1, t: r.top + 1, b: r.bottom - 1 };
      })
    );
    const drawn = boxes.filter((b) => b.what.startsWith('port-label'));
    assert.ok(drawn.length >= least, `${drawn.length} names at ${width}`);
    assert.equal(boxes.filter((b) => b.what.startsWith('step')).length, 5);
    for (const [i, a] of boxes.entries())
      for (const b of boxes.slice(i + 1)) {
        if (a.what.startsWith('arrow') && b.what.startsWith('arrow')) continue;
        assert.ok(
          a.r <= b.l || b.r <= a.l || a.b <= b.t || b.b <= a.t,
          `${width}: ${JSON.stringify([a, b])}`
        );
      }
    await tab.leave();
  }
});

test('the legend of a fabric has the signs that are drawn; a link names the paused class', async () => {
  const tab = await open(`${storm.address}#/fabric`);
  const keys = await text(tab, '.keys');
  assert.match(keys, /the way the PAUSE goes.*step of the chain/s);
  assert.doesNotMatch(keys, /in a host/);
  const b = await tab.$eval('.line.paused', (e) => {
    const at = e.getPointAtLength(e.getTotalLength() * 0.3);
    const p = new DOMPoint(at.x, at.y).matrixTransform(e.getScreenCTM());
    return [p.x, p.y];
  });
  await tab.mouse.move(...b);
  await tab.waitForSelector('.fabric-box .tip');
  assert.match(await text(tab, '.fabric-box .tip'), /class 3 paused by/);
  await tab.leave();
  const calm = { ...storm.data, timeline: { columns: [], frames: [[0], [1000]] } };
  calm.report = { ...calm.report, why: [] };
  const other = await open(`${withData(page, 'calm', calm)}#/fabric`);
  const few = (await text(other, '.keys')).trim().replace(/\s+/g, ' ');
  assert.equal(few, 'link traffic (thicker: more)');
  await other.leave();
});

test('the slider counts links that are paused, and says why it begins where it does', async () => {
  const { timeline, topology } = storm.data;
  const tab = await open(`${storm.address}#/port/t4`);
  assert.match(await text(tab, '.time-words'), /opened at the moment of most PAUSE/);
  const ends = topology.links.map((l) => (l.a[1] !== null ? l.a : l.b).slice(0, 2).join());
  const paused = (k) => {
    const [was, is] = [valuesAt(timeline, k - 1), valuesAt(timeline, k)];
    const grew = (c) => c[4].endsWith('_pause_duration_us') && is(c.join()) > was(c.join());
    const own = new Set(
      timeline.columns.filter((c) => c[1] === 'pfc' && grew(c)).map((c) => `${c[0]},${c[2]}`)
    );
    return ends.filter((e) => own.has(e)).length;
  };
  for (const k of [110, 400]) {
    await slide(tab, k);
    const want = new RegExp(`^links paused now: ${paused(k)}, up to \\d+$`);
    assert.match(await text(tab, '.time-words'), want);
  }
  assert.ok(paused(400) >= 10);
  await go(tab, '#/run');
  assert.match(await text(tab), /times a switch paused a peer/);
  assert.match(await text(tab), /Head and foot, as weir-lab prints them/);
  await go(tab, '#/distributions');
  assert.match(await text(tab), /endless flows have no operations/);
  await tab.leave();
});

test('the address has the time; the slider changes it without a step of the history', async () => {
  const tab = await open(`${storm.address}#/fabric?at=50`);
  assert.match(await text(tab, '.time output'), /^49\.\d+ ms of/, 'the frame at or before it');
  const entry = () => tab.evaluate(() => navigation.currentEntry.key);
  const before = await entry();
  await slide(tab, 400);
  await tab.waitForFunction(() => /at=38\d/.test(location.hash));
  await tab.click('.node.switch');
  const hash = () => tab.evaluate(() => location.hash);
  assert.match(await hash(), /^#\/fabric\/\w+\?at=38\d/);
  assert.equal(await entry(), before);
  for (const view of ['port', 'pools', 'flows', 'policy']) {
    await go(tab, `#/${view}`);
    assert.match(await hash(), new RegExp(`^#/${view}\\?at=38\\d`));
  }
  await tab.reload();
  await go(tab, '#/port/t4?at=nonsense');
  assert.match(await text(tab, '.banner'), /at=nonsense.*no time in ms/);
  await go(tab, '#/port/t3');
  assert.equal(await tab.$eval('.banner', (e) => e.hidden), true);
  await tab.leave();
});

test('a view, a switch, a port, a class and a plot that are not there are said', async () => {
  const wrong = {
    '#/nope': /no view nope/,
    '#/fabric/zz': /no switch zz/,
    '#/port/zz/p1': /no switch zz/,
    '#/port/t1/p77': /no port p77 at t1/,
    '#/port/t1/p1/9': /no class 9/,
    '#/pools/zz': /no switch zz/,
    '#/policy/zz': /no switch zz/,
    '#/plot/nope': /no plot nope/,
    '#/plot/queue?switch=zz': /no switch zz/,
    '#/plot/buffer?switch=zz': /no switch zz/,
    '#/plot/queue?port=p77': /no port p77/,
    '#/plot/queue?class=x': /no class x/,
    '#/plot/series?names=zz': /no series zz/,
  };
  const tab = await open(storm.address);
  for (const [hash, pattern] of Object.entries(wrong)) {
    await go(tab, hash); // a plot replaces the page, so the plots are the last
    assert.match(await text(tab, '[data-wrong]'), pattern, hash);
  }
  await tab.leave();
  // No picture is made of [data-wrong], whether it is in a view or in a plot.
  const refused = ['#/port/t1/p77', '#/plot/queue?port=p77'];
  const list = join(folder, 'wrong-list');
  const pictures = refused.map((_, i) => join(folder, `wrong-${i}.png`));
  writeFileSync(
    list,
    refused.map((hash, i) => `${storm.path} ${hash} ${pictures[i]} --scale 1`).join('\n')
  );
  const { status, stderr } = spawnSync('node', [join(root, 'web/shot.mjs'), '--list', list], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  const lines = stderr.trim().split('\n');
  assert.equal(lines.length, refused.length, stderr);
  refused.forEach((hash, i) => assert.match(lines[i], wrong[hash]));
  assert.deepEqual(pictures.filter(existsSync), []);
});

test('the policy has XOFF and XON at rest, and no curve of a queue without WRED', async () => {
  const tab = await open(`${incast.address}#/policy`);
  const { timeline } = incast.data;
  const rows = await table(tab, 'pg_config');
  const row = rows.find((r) => r.pg === 3);
  const i = timeline.columns.findIndex((c) => c.join() === 's1,pgs,p1,3,xoff_at_bytes');
  let most = 0;
  for (const f of timeline.frames)
    for (let k = 1; k < f.length; k += 2) if (f[k] === i) most = Math.max(most, f[k + 1]);
  assert.equal(row.xoff_at_rest_bytes, most);
  assert.ok(row.xon_at_rest_bytes > 0 && row.xon_at_rest_bytes < most);
  assert.match(await text(tab), /at rest are the highest thresholds of the run/);
  const ecn = await table(tab, 'ecn');
  assert.ok(ecn.length > 0 && ecn.every((r) => r.wred === 'no'));
  for (const key of ['kmin_bytes', 'pmax_percent', 'weight', 'mark_at', 'not_ect'])
    assert.equal(ecn[0][key], undefined, key);
  const space = await tab.$eval('td[data-key=ports]', (e) => getComputedStyle(e).whiteSpace);
  assert.equal(space, 'nowrap');
  await go(tab, '#/port/s1/p33/3');
  assert.match(await text(tab, '[data-chart=queue]'), /the policy has no WRED for this queue/);
  await tab.leave();
  const bare = { ...incast.data, settings: undefined };
  const other = await open(`${withData(page, 'bare-incast', bare)}#/port/s1/p33/3`);
  assert.match(await text(other, '[data-chart=queue]'), /this file has no settings/);
  await other.leave();
});

const sweep = () => {
  const values = ['2', '4', '8', '16', '32'];
  const fct = ['fct(incast, p50)', 'fct(incast, p99)'];
  const names = ['same', 'slowdown', 'queue', ...fct, 'jain(incast)'];
  return {
    kind: 'weir-sweep',
    title: 'incast',
    axes: [{ key: 'n', name: 'n', values, numbers: values.map(Number), unit: '' }],
    columns: [...names, ...names.map((n) => `${n}, of the second flow`)].map((name) => ({
      name,
      unit: '',
    })),
    runs: values.map((_, i) => ({
      at: [i],
      word: i === 4 ? 'FAIL' : 'PASS',
      passed: i < 4,
      error: null,
      report: i === 2 ? null : `runs/${i}/report.html`,
      values: Array.from({ length: 12 }, (_, c) => ({
        value: c % 6 ? i * 1000 + c : 7,
        text: null,
        passed: null,
      })),
    })),
  };
};

test('runs that cannot report are told, and make no column vary', async () => {
  const data = sweep();
  const error = 'incast.yaml:27:5: 60ms is after the end of the run, which is of 20ms';
  data.runs[1] = { ...data.runs[1], word: 'ERROR', passed: false, error, report: null, values: [] };
  const tab = await open(withData(page, 'sweep-error', data));
  assert.match(await text(tab, 'details summary'), /columns that do not vary \(2\)/);
  assert.match(await text(tab, '.pill'), /3 of 5 runs pass/);
  const wide = await tab.$eval('td.long', (e) => e.getBoundingClientRect().width);
  assert.ok(wide >= 300, `its reason has ${wide} pixels`);
  await tab.leave();
});

test('a sweep: its verdict, what varies before what does not, points that open a run', async () => {
  const tab = await open(withData(page, 'sweep-order', sweep()));
  assert.match(await text(tab, '.pill'), /4 of 5 runs pass/);
  assert.match(await text(tab), /A point of a line, or a cell, opens the page of its run/);
  const charts = () => tab.$$eval('.chart', (e) => e.map((x) => x.dataset.chart));
  assert.deepEqual((await charts()).slice(-2), ['sweep-0', 'sweep-6']);
  assert.match(await text(tab, 'details summary'), /columns that do not vary \(2\)/);
  const points = await tab.$$eval('[data-chart=sweep-1] a.point', (e) =>
    e.map((a) => [a.getAttribute('href'), a.title, getComputedStyle(a).cursor])
  );
  assert.equal(points.length, 4, 'the run without a page has no link');
  assert.equal(points[1][0], 'runs/1/report.html');
  assert.match(points[1][1], /^n=4: .*PASS; opens the page of the run$/);
  assert.equal(points[1][2], 'pointer');
  await tab.focus('[data-chart=sweep-1] .plot');
  await tab.keyboard.press('Enter'); // no time to pick here
  await tab.keyboard.press('Tab');
  assert.equal(await tab.evaluate(() => document.activeElement.className), 'point');
  const on = await tab.$eval('[data-chart=sweep-1] a.point', (a) => {
    const r = a.getBoundingClientRect(),
      over = a.parentElement.getBoundingClientRect();
    return [r.x + r.width / 2 - over.x, over.bottom - r.y - r.height / 2];
  });
  assert.ok(Math.abs(on[0]) < 3 && on[1] < 12, `the first point is at ${on}`);
  await tab.click('summary');
  await tab.waitForSelector('details .chart canvas');
  await tab.leave();
});

test('what scrolls sideways says so', async () => {
  for (const width of [1280, 390]) {
    const tab = await open(withData(page, 'sweep-wide', sweep()), {
      viewport: { width, height: 800 },
    });
    const scroll = '[data-table=runs] .scroll';
    const state = () =>
      tab.$eval(scroll, (e) => [
        getComputedStyle(e.nextElementSibling).display,
        getComputedStyle(e).maskImage.includes('gradient'),
      ]);
    assert.deepEqual(await state(), ['block', true]);
    await tab.click('text=to the table of runs');
    const top = await tab.$eval(scroll, (e) => e.getBoundingClientRect().top);
    assert.ok(top > 0 && top < 800, `the table is at ${top}`);
    await tab.$eval(scroll, (e) => e.scrollTo(99999, 0));
    await eventually(async () => assert.equal((await state())[0], 'none'));
    const last = await tab.$eval(`${scroll} th:last-child`, (e) => e.getBoundingClientRect().right);
    assert.ok(last <= width, `the last column ends at ${last}`);
    await tab.leave();
  }
  const tab = await open(incast.address, { viewport: { width: 390, height: 800 } });
  const mask = () => tab.$eval('nav', (e) => getComputedStyle(e).maskImage);
  assert.match(await mask(), /gradient/);
  await tab.leave();
});

test('plots: the name of the y axis, dots without a line, dashes of the first series', async () => {
  const line = (name, y) => ({ name, x: [0, 1, 2], y });
  const plots = [
    {
      title: 'lengths',
      x: { what: 'time', unit: 'ns' },
      y: { what: 'queue length', unit: 'bytes' },
      series: [
        ...[1, 2, 3, 4, 5].map((n) => line(`model ${n}`, [n, 2 * n, 3 * n])),
        { name: 'measured', x: [0.5, 1, 1.5], y: [1, null, 2] },
      ],
    },
  ];
  const address = withData(page, 'plots', { kind: 'weir-plots', title: 'a model', plots });
  const tab = await open(address);
  const keys = await tab.$$eval('.legend button', (list) =>
    list.map((b) => [
      b.querySelector('circle') !== null,
      b.querySelector('line')?.getAttribute('stroke-dasharray') ?? '',
      b.querySelector('output').textContent,
    ])
  );
  assert.deepEqual(
    keys.map(([dot]) => dot),
    [false, false, false, false, false, true]
  );
  assert.equal(new Set(keys.slice(0, 5).map(([, dash]) => dash)).size, 5);
  assert.equal(keys[5][2], '');
  // uPlot draws the label into its canvas: without it the plot has more room.
  const left = async (t) => t.$eval('.u-over', (e) => parseFloat(e.style.left));
  const without = JSON.parse(JSON.stringify(plots));
  delete without[0].y.what;
  const other = await open(
    withData(page, 'plots-bare', { kind: 'weir-plots', title: 'a model', plots: without })
  );
  assert.ok((await left(tab)) > (await left(other)) + 10);
  await other.leave();
  await go(tab, '#/plot/nope');
  assert.match(await text(tab, '.picture'), /no plot nope/);
  await tab.leave();
});

test('the choice of colours has a name, and a link in the dark can be seen', async () => {
  const tab = await open(`${storm.address}#/fabric`, { colorScheme: 'dark' });
  assert.match(await text(tab, '.push label'), /colours:/);
  const ratio = await tab.evaluate(() => {
    const light = (text) => {
      const [r, g, b] = text.match(/[\d.]+/g).map((v) => {
        const c = v / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const line = light(getComputedStyle(document.querySelector('.keys .line')).stroke);
    const panel = light(getComputedStyle(document.querySelector('.panel')).backgroundColor);
    return (line + 0.05) / (panel + 0.05);
  });
  assert.ok(ratio >= 3, `contrast ${ratio}`);
  await tab.leave();
});
