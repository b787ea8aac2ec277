// SPDX-License-Identifier: Apache-2.0
// The page with runs of the lab, in a real browser.
//
// usage: node page.mjs PAGE WEIR_LAB ROOT
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, statSync, truncateSync, writeFileSync, closeSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { end, eventually, folder, go, open, slide, table, text, withData } from './harness.mjs';
import { page, root, run } from './runs.mjs';

after(end);

const incast = run('incast'),
  storm = run('storm-clos'),
  auto = run('auto-incast');
const VIEWS = [
  'run',
  'fabric',
  'port',
  'pools',
  'flows',
  'series',
  'distributions',
  'cnps',
  'events',
  'policy',
];

const box = (tab, selector) =>
  tab.$eval(selector, (e) => {
    e.scrollIntoView({ block: 'center' });
    const { x, y, width, height } = e.getBoundingClientRect();
    return { x, y, width, height };
  });

test('report.html is the page with the data in its place', () => {
  const [before, behind] = page.split('@WEIR_DATA@');
  const report = readFileSync(incast.path, 'utf8');
  assert.ok(report.startsWith(before) && report.endsWith(behind));
  assert.deepEqual(incast.data.report, incast.report);
});

test('every view shows something, at 1280, 1920 and 360 pixels, light and dark, without an error', async () => {
  for (const { address } of [incast, storm, auto])
    for (const [width, colorScheme] of [
      [1280, 'light'],
      [1920, 'dark'],
      [360, 'light'],
    ]) {
      const tab = await open(address, { viewport: { width, height: 800 }, colorScheme });
      for (const view of VIEWS) {
        await go(tab, `#/${view}`);
        const [said, wide, current] = await tab.$eval('main', (e) => [
          e.innerText,
          document.documentElement.scrollWidth - innerWidth,
          document.querySelector('nav [aria-current]').dataset.view,
        ]);
        assert.ok(said.trim().length > 20, `${view} is blank`);
        assert.doesNotMatch(said, /cannot be shown|undefined|NaN|\[object/, view);
        assert.ok(wide <= 0, `${view} at ${width} is ${wide} pixels too wide`);
        assert.equal(current, view);
      }
      await tab.leave();
    }
});

test('on a phone the title is whole, and of the header only the tabs stay', async () => {
  const tab = await open(`${storm.address}#/run`, { viewport: { width: 360, height: 640 } });
  const [cut, bar, wide] = await tab.$eval('h1', (e) => [
    e.scrollWidth > e.clientWidth,
    e.parentElement.getBoundingClientRect(),
    [...e.parentElement.querySelectorAll('*')].filter(
      (x) => x.getBoundingClientRect().right > innerWidth
    ).length,
  ]);
  assert.ok(!cut, 'the title is cut');
  assert.equal(wide, 0);
  assert.ok(bar.height < 90, `the header is ${bar.height} pixels high`);
  const after = await tab.$eval('nav', (e) => {
    scrollTo(0, 500);
    return [e, document.querySelector('.bar')].map((x) => x.getBoundingClientRect());
  });
  assert.equal(after[0].top, 0);
  assert.ok(after[1].bottom < 0, `the bar ends at ${after[1].bottom}`);
  await tab.leave();
});

test('the verdict and the expectations are those of report.json', async () => {
  const tab = await open(incast.address);
  await go(tab, '#/run');
  const { report } = incast;
  assert.match(
    await text(tab, '.pill'),
    new RegExp(`PASS ${report.expectations.length} of ${report.expectations.length}`)
  );
  const rows = await table(tab, 'expectations');
  assert.deepEqual(
    rows.map((r) => [r.expectation, r.expected, r.measured]),
    report.expectations.map((e) => [e.expectation, e.expected, e.measured])
  );
  for (const t of incast.data.tables)
    if (t.title !== 'expectations')
      assert.ok((await text(tab)).includes(t.rows[0].find((c) => c)), t.title);
  await tab.leave();
});

test('the tables of a port are the rows of report.json', async () => {
  const tab = await open(incast.address);
  await go(tab, '#/port/s1/p3');
  const [sw] = incast.report.switches;
  for (const [id, list] of [
    ['queues', sw.queues],
    ['pgs', sw.pgs],
    ['pfc', sw.pfc],
  ]) {
    const want = list.filter((r) => r.port === 'p3'),
      got = await table(tab, id);
    assert.equal(got.length, want.length, id);
    got.forEach((row, i) => {
      for (const [k, v] of Object.entries(row))
        if (typeof want[i][k] === 'number') assert.equal(v, want[i][k], `${id} ${k}`);
    });
  }
  await tab.leave();
});

test('the values of a chart at the slider are those of the timeline', async () => {
  const { timeline } = incast.data;
  const tab = await open(incast.address);
  await go(tab, '#/port/s1/p33/3');
  const k = 200;
  await slide(tab, k);
  const column = timeline.columns.findIndex((c) => c.join() === 's1,queues,p33,3,length_bytes');
  let v = 0;
  for (const f of timeline.frames.slice(0, k + 1))
    for (let i = 1; i < f.length; i += 2) if (f[i] === column) v = f[i + 1];
  assert.ok(v > 100000, `the queue holds ${v}`);
  const shown = await tab.$eval('[data-chart=queue] .legend button', (e) => e.innerText);
  assert.equal(shown.replace(/\s+/g, ' ').trim(), `queue 3 ${Number((v / 1e6).toPrecision(3))} MB`);
  const at = await tab.$eval('.time output', (e) => e.textContent);
  assert.equal(Number(at.split(' ')[0]), Number((timeline.frames[k][0] / 1e6).toPrecision(4)), at);
  await tab.leave();
});

test('a hover shows the exact values of the sample', async () => {
  const tab = await open(incast.address);
  await go(tab, '#/port/s1/p33/3');
  const b = await box(tab, '[data-chart=queue] .u-over');
  await tab.mouse.move(b.x + b.width * 0.3, b.y + b.height / 2);
  await tab.waitForSelector('[data-chart=queue] .tip');
  const tip = await text(tab, '[data-chart=queue] .tip');
  const [, ms] = /^([\d.]+) ms/.exec(tip),
    [, bytes] = /queue 3\s+([\d,]+) B/.exec(tip);
  const { timeline } = incast.data;
  const k = timeline.frames.findIndex((f) => f[0] === Math.round(Number(ms) * 1e6));
  assert.ok(k > 0, `${ms} ms is a frame`);
  const column = timeline.columns.findIndex((c) => c.join() === 's1,queues,p33,3,length_bytes');
  let v = 0;
  for (const f of timeline.frames.slice(0, k + 1))
    for (let i = 1; i < f.length; i += 2) if (f[i] === column) v = f[i + 1];
  assert.equal(Number(bytes.replaceAll(',', '')), v);
  assert.ok(
    !(await tab.$eval('[data-chart=rate] .u-cursor-x', (e) => e.classList.contains('u-off'))),
    'the other charts show the same moment'
  );
  await tab.leave();
});

test('the legend names PAUSE where there was PAUSE', async () => {
  const tab = await open(incast.address);
  const keys = (chart) =>
    tab.$$eval(`[data-chart=${chart}] .lane-key`, (list) => list.map((e) => e.innerText.trim()));
  await go(tab, '#/port/s1/p33/3');
  assert.deepEqual(await keys('rate'), []);
  await go(tab, '#/port/s1/p1/3');
  assert.deepEqual(await keys('rate'), ['PAUSE sent, class 3: this port stops the peer']);
  await tab.leave();
});

test('dots of a plot say what they are, also two at one place', async () => {
  const dots = (name, kmin, x, y) => ({ name, x: [x, x], y: [y, null], texts: [kmin, ''] });
  const series = [
    { name: 'front', x: [1, 2], y: [10, 20] },
    dots('allowed', 'kmin=9KB', 2, 20),
    dots('as it is', '', 2, 30),
  ];
  const plots = [{ title: 'tune', x: { what: 'share' }, y: { what: 'slowdown' }, series }];
  const tab = await open(withData(page, 'dots', { kind: 'weir-plots', title: 'tune', plots }));
  const b = await box(tab, '.u-over');
  await tab.mouse.move(b.x + b.width - 2, b.y + b.height / 2);
  await tab.waitForSelector('.chart .tip');
  assert.deepEqual((await text(tab, '.chart .tip')).split(/\n+/).slice(1), [
    'front',
    '20',
    'allowed kmin=9KB',
    '20',
    'as it is',
    '30',
  ]);
  await tab.leave();
});

test('the fabric has the links that the timeline says are paused, and the chain of the cause', async () => {
  const { data, report } = storm;
  const tab = await open(storm.address);
  const k = 400;
  await go(tab, '#/fabric');
  await slide(tab, k);
  const last = data.timeline.columns.map(() => 0);
  let before = [];
  data.timeline.frames.slice(0, k + 1).forEach((f, n) => {
    if (n === k) before = [...last];
    for (let i = 1; i < f.length; i += 2) last[f[i]] = f[i + 1];
  });
  const own = new Set(data.topology.links.map((l) => (l.a[1] !== null ? l.a : l.b).join()));
  const paused = new Set();
  data.timeline.columns.forEach(([sw, list, port, , fact], i) => {
    if (
      list === 'pfc' &&
      fact.endsWith('duration_us') &&
      own.has(`${sw},${port}`) &&
      last[i] > before[i]
    )
      paused.add(`${sw} ${port} ${fact[0]}`);
  });
  assert.ok(paused.size >= 10, `${paused.size} directions`);
  assert.equal(await tab.$$eval('.fabric .line.paused', (e) => e.length), paused.size);
  assert.equal(
    await tab.$$eval('.arrow[d]', (e) => e.length),
    paused.size,
    'an arrow on each: not by colour alone'
  );
  assert.equal(await tab.$$eval('.chain .step-no', (e) => e.length), report.why[0].queues.length);
  // The table has the direction: h8 stops t4, and t4 stops its leaves.
  assert.match(await text(tab, '[data-table=ports] h3'), /Ports of t4/);
  // It follows the drawing four times a second.
  const ports = (want) =>
    eventually(async () =>
      assert.deepEqual(
        (await table(tab, 'ports')).map((r) => [r.port, r.paused > 0, r.pausing > 0]),
        want
      )
    );
  await ports([
    ['p1', false, false],
    ['p2', true, false],
    ['p3', false, true],
    ['p4', false, true],
  ]);
  assert.match(await text(tab, '.causes'), /t1\.p4\.3 <- .*host h8/);
  assert.equal(await tab.$eval('.root-label', (e) => e.textContent), 'root: storm');
  await slide(tab, 1);
  assert.equal(await tab.$$eval('.fabric .line.paused', (e) => e.length), 0, 'before the storm');
  await ports(['p1', 'p2', 'p3', 'p4'].map((p) => [p, false, false]));
  await tab.leave();
});

test('play moves the time, pause stops it, arrow keys step', async () => {
  const tab = await open(storm.address);
  await go(tab, '#/fabric');
  await tab.focus('input[type=range]');
  await tab.keyboard.press('Home');
  assert.equal(await tab.$eval('input[type=range]', (e) => e.value), '0');
  await tab.keyboard.press('ArrowRight');
  assert.equal(await tab.$eval('input[type=range]', (e) => e.value), '1');
  await tab.click('.play');
  await tab.waitForFunction(() => Number(document.querySelector('input[type=range]').value) > 5);
  await tab.click('.play');
  const stopped = await tab.$eval('input[type=range]', (e) => e.value);
  assert.equal(await tab.$eval('input[type=range]', (e) => e.value), stopped);
  await tab.leave();
});

test('charts of a view zoom together by a drag and by keys; a double click shows all', async () => {
  const tab = await open(incast.address);
  await go(tab, '#/port/s1/p3/3');
  const spans = () => tab.$$eval('.plot', (e) => e.map((x) => x.dataset.range));
  const [all] = await spans();
  const b = await box(tab, '[data-chart=rate] .u-over');
  await tab.mouse.move(b.x + b.width * 0.25, b.y + 50);
  await tab.mouse.down();
  await tab.mouse.move(b.x + b.width * 0.5, b.y + 60, { steps: 4 });
  await tab.mouse.up();
  const zoomed = await spans();
  assert.equal(new Set(zoomed).size, 1, `all charts have one range: ${zoomed}`);
  const [from, to] = zoomed[0].split(' ').map(Number);
  assert.ok(Math.abs(from - 15e6) < 1e6 && Math.abs(to - 30e6) < 1e6, zoomed[0]);
  await tab.mouse.dblclick(b.x + b.width / 2, b.y + 50);
  assert.deepEqual([...new Set(await spans())], [all]);
  await tab.focus('[data-chart=queue] .plot');
  await tab.keyboard.press('+');
  assert.notEqual((await spans())[0], all);
  await tab.keyboard.press('0');
  assert.equal((await spans())[0], all);
  await tab.keyboard.press('ArrowRight');
  assert.match(await text(tab, '[data-chart=queue] .tip'), /ms/);
  await tab.leave();
});

test('the legend hides a series, and a view that is opened again remembers it', async () => {
  const tab = await open(incast.address);
  await go(tab, '#/port/s1/p3/3');
  const pressed = () =>
    tab.$eval('[data-chart=group] .legend button', (e) => e.getAttribute('aria-pressed'));
  const pixels = () => tab.$eval('[data-chart=group] canvas', (c) => c.toDataURL());
  const before = await pixels();
  await tab.click('[data-chart=group] .legend button');
  assert.equal(await pressed(), 'false');
  assert.notEqual(await pixels(), before);
  await go(tab, '#/run');
  await go(tab, '#/port/s1/p3/3');
  assert.equal(await pressed(), 'false');
  await tab.leave();
});

test('the keyboard reaches the tabs, the nodes of the fabric and the charts, and focus is visible', async () => {
  const tab = await open(storm.address);
  await tab.focus('nav a');
  await tab.keyboard.press('ArrowRight');
  await tab.waitForSelector('nav [data-view=fabric][aria-current]');
  assert.equal(await tab.evaluate(() => location.hash), '#/fabric');
  assert.equal(await tab.evaluate(() => document.activeElement.dataset.view), 'fabric');
  const outline = await tab.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid');
  await tab.focus('.node.switch');
  await tab.keyboard.press('Enter');
  assert.match(await text(tab, '[data-table=ports] h3'), /Ports of (s1|l1|t1)/);
  const reached = new Set();
  await tab.focus('nav a[aria-current]');
  for (let i = 0; i < 40; i++) {
    await tab.keyboard.press('Tab');
    reached.add(
      await tab.evaluate(() => {
        const c = document.activeElement.getAttribute('class') ?? document.activeElement.tagName;
        return c.split(' ')[0];
      })
    );
  }
  for (const c of ['node', 'cause']) assert.ok(reached.has(c), `${c} in ${[...reached]}`);
  await tab.leave();
});

test('colours follow the system, and the switch overrules it', async () => {
  const tab = await open(incast.address, { colorScheme: 'dark' });
  const back = () => tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await back();
  await tab.selectOption('[aria-label=colours]', 'light');
  const light = await back();
  assert.notEqual(light, dark);
  await tab.emulateMedia({ colorScheme: 'light' });
  assert.equal(await back(), light);
  await tab.selectOption('[aria-label=colours]', 'dark');
  assert.equal(await back(), dark);
  await tab.leave();
});

test('text of the data stays text', async () => {
  const evil = '</script><img src=x onerror="window.owned=1">';
  const data = JSON.parse(
    JSON.stringify(storm.data)
      .replaceAll('"h8"', JSON.stringify(evil))
      .replaceAll('"t4"', JSON.stringify(`t4${evil}`))
  );
  data.title = data.description = data.report.expectations[0].expectation = evil;
  data.events = [{ time_ns: 1, severity: 'alarm', text: evil }];
  data.series.columns[0].name = evil;
  data.tables[0].rows[0][0] = data.tables[0].title = evil;
  data.text = { head: evil, foot: evil };
  const tab = await open(withData(page, 'evil', data));
  for (const view of VIEWS) await go(tab, `#/${view}`);
  await go(tab, `#/port/${encodeURIComponent(`t4${evil}`)}`);
  await go(tab, `#/${encodeURIComponent(evil)}`);
  assert.equal(await tab.evaluate(() => window.owned), undefined);
  assert.equal(await tab.$$eval('img', (e) => e.length), 0);
  assert.ok((await text(tab, 'h1')).includes('<img'));
  await tab.leave();
});

test('what is missing is said', async () => {
  const bare = {
    kind: 'weir-lab',
    report: {
      scenario: 'bare',
      passed: true,
      expectations: [],
      switches: [{ name: 's1', ports: [], queues: [], pgs: [], pfc: [], drops: [], pools: [] }],
    },
  };
  const tab = await open(withData(page, 'bare', bare));
  const said = {
    fabric: /no topology/,
    port: /no timeline/i,
    pools: /no timeline/i,
    flows: /No flow table: switch.flows is off/,
    series: /recorded no series/,
    distributions: /no distributions/,
    cnps: /No switch sent a CNP/,
    events: /no list of events/,
    policy: /no settings/,
  };
  for (const [view, pattern] of Object.entries(said)) {
    await go(tab, `#/${view}`);
    assert.match(await text(tab), pattern, view);
  }
  await go(tab, '#/port/s1/p77');
  assert.match(await text(tab), /no timeline/);
  await tab.leave();
  const other = await open(`${incast.address}#/port/s1/p77`);
  assert.match(await text(other), /There is no port p77 at s1. It has p1, p2,/);
  await other.leave();
});

test('broken data give a message and a way to open another file', async () => {
  const good = storm.data;
  const timeline = (t) => ({ ...good, timeline: { ...good.timeline, ...t } });
  for (const [name, data, pattern] of [
    ['none', '', /has no data/],
    ['cut', JSON.stringify(good).slice(0, 5000), /no JSON/],
    ['list', '[1, 2]', /no object/],
    ['other', { a: 1 }, /neither a report nor a timeline/],
    ['no-report', { kind: 'weir-lab' }, /no report/],
    ['column', timeline({ columns: [1] }), /column 0 is not/],
    ['frame', timeline({ frames: [[0, 99999, 1]] }), /no column 99999/],
    ['switches', { kind: 'weir-lab', report: { switches: 5 } }, /not a list/],
    [
      'link',
      { ...good, topology: { nodes: [], links: [{ a: ['x', null], b: ['y', null] }] } },
      /joins what is no node/,
    ],
    ['sweep', { kind: 'weir-sweep', axes: [] }, /needs "columns"/],
    [
      'million',
      timeline({
        columns: new Array(1000001).fill(0),
        frames: [],
      }),
      /more than 1000000 columns/,
    ],
  ]) {
    const tab = await open(withData(page, name, data));
    assert.match(await text(tab, '.open'), pattern, name);
    assert.ok(await tab.$('input[type=file]'));
    await tab.leave();
  }
});

test('a file can be opened: a report, its data alone, a timeline; others are refused', async () => {
  const tab = await open(withData(page, 'empty', ''));
  const put = (name, content) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const refused = async (path, pattern) => {
    await tab.setInputFiles('input[type=file]', path);
    await tab.waitForFunction(
      (p) => new RegExp(p).test(document.querySelector('.why')?.textContent),
      pattern.source
    );
  };
  await refused(put('a.json', '{"x": '), /a.json is no JSON/);
  await refused(put('a.html', '<p>hello'), /page without data/);
  const huge = join(folder, 'huge.json');
  closeSync(openSync(huge, 'w'));
  truncateSync(huge, 450e6);
  await refused(huge, /450 MB; 400 MB are the most/);
  await tab.setInputFiles('input[type=file]', put('report.json', JSON.stringify(incast.report)));
  await tab.waitForSelector('.pill');
  assert.match(await text(tab, '.pill'), /PASS/);
  await tab.click('text=Open …');
  await tab.setInputFiles(
    'input[type=file]',
    put('timeline.json', JSON.stringify(incast.data.timeline))
  );
  await tab.waitForSelector('nav');
  await go(tab, '#/port/s1/p33');
  assert.ok(await tab.$('[data-chart=queue] canvas'));
  await tab.leave();
});

test('a sweep of one key is lines, of two keys a heat map; a run is a click away', async () => {
  const sweep = (axes, runs) => ({
    kind: 'weir-sweep',
    title: 'incast',
    axes,
    columns: [
      { name: 'slowdown', unit: '' },
      { name: 'queue', unit: 'bytes' },
    ],
    runs,
  });
  const n = { key: 'params.n', name: 'n', values: ['2', '4', '8'], numbers: [2, 4, 8], unit: '' };
  const size = {
    key: 'size',
    name: 'size',
    values: ['1MB', '4MB'],
    numbers: [1e6, 4e6],
    unit: 'bytes',
  };
  const runOf = (at, v) => ({
    at,
    word: v > 7 ? 'FAIL' : 'PASS',
    passed: v <= 7,
    error: null,
    report: `runs/${at.join('-')}/report.html`,
    values: [
      { value: v, text: `${v}x`, passed: v <= 7 },
      { value: v * 1000, text: null, passed: null },
    ],
  });
  let tab = await open(
    withData(
      page,
      'one',
      sweep(
        [n],
        [0, 1, 2].map((i) => runOf([i], 2 + i))
      )
    )
  );
  assert.equal(await tab.$$eval('.chart canvas', (e) => e.length), 2);
  assert.equal(await tab.$('.heat'), null);
  assert.equal(
    await tab.$eval('[data-table=runs] a', (e) => e.getAttribute('href')),
    'runs/0/report.html'
  );
  await tab.leave();
  const runs = [0, 1, 2].flatMap((i) => [0, 1].map((k) => runOf([i, k], i + 4 * k)));
  runs[5].report = 'javascript:alert(1)';
  runs[4].report = '//stranger/report.html';
  runs[3].report = '../../report.html';
  runs[5].values[0] = { value: 9, text: '9x', passed: false };
  tab = await open(withData(page, 'two', sweep([n, size], runs)));
  const cells = await tab.$$eval('.heat tbody td', (e) =>
    e.map((td) => [td.innerText, td.querySelector('a')?.getAttribute('href') ?? null])
  );
  assert.deepEqual(cells, [
    ['0x', 'runs/0-0/report.html'],
    ['1x', 'runs/1-0/report.html'],
    ['2x', null],
    ['4x', 'runs/0-1/report.html'],
    ['5x', null],
    ['9x ✗', null],
  ]);
  await tab.leave();
});

test('a sweep of which no run could report shows why', async () => {
  const axes = ['a', 'b'].map((key) => ({
    key,
    name: key,
    values: ['1'],
    numbers: null,
    unit: '',
  }));
  const error = 'a.yaml:3: no key nonsense';
  const run = { at: [0, 0], word: 'ERROR', passed: false, error, report: null, values: [] };
  const data = { kind: 'weir-sweep', title: 'none', axes, columns: [], runs: [run] };
  const tab = await open(withData(page, 'none-ran', data));
  assert.match(await text(tab), /ERROR: a\.yaml:3: no key nonsense/);
  await tab.leave();
});

test('pictures: one chart alone on white, of the size that was asked for', async () => {
  const shot = join(root, 'web/shot.mjs');
  const list = join(folder, 'list');
  const report = join(folder, 'incast/report.html');
  writeFileSync(
    list,
    [
      `${report} #/plot/queue?width=600&height=300 ${folder}/queue.png`,
      `${report} #/plot/series?unit=bytes&width=500&height=240 ${folder}/series.png --scale 1`,
      `${report} #/plot/fct?width=500 ${folder}/fct.png`,
      `${report} /fabric ${folder}/fabric.png --width 800 --height 500 --dark --scale 1`,
    ].join('\n')
  );
  execFileSync('node', [shot, '--list', list]);
  const size = (name) => {
    const png = readFileSync(join(folder, name));
    return [png.readUInt32BE(16), png.readUInt32BE(20)];
  };
  assert.equal(size('queue.png')[0], 1200);
  assert.ok(Math.abs(size('queue.png')[1] - 600) <= 80, `${size('queue.png')}`);
  assert.equal(size('series.png')[0], 500);
  assert.deepEqual(size('fabric.png'), [800, 500]);
  for (const name of ['queue', 'series', 'fct', 'fabric'])
    assert.ok(statSync(join(folder, `${name}.png`)).size > 3000, name);
  assert.throws(
    () => execFileSync('node', [shot, report], { stdio: 'pipe' }),
    (e) => e.status === 2
  );
  const tab = await open(`${incast.address}#/plot/queue?width=600&height=300`);
  assert.equal(await tab.$('nav'), null);
  assert.equal(
    await tab.evaluate(() => getComputedStyle(document.body).backgroundColor),
    'rgb(255, 255, 255)'
  );
  await tab.leave();
});

test('a live page passes its token on, and says what it cannot read', async (t) => {
  const asked = [];
  const server = createServer((request, answer) => {
    asked.push(request.url);
    const { pathname } = new URL(request.url, 'http://x');
    if (pathname === '/live') {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      answer.write('event: hello\ndata: {"name": "sw", "version": "1", "time_scale": 1}\n\n');
      answer.write('event: columns\ndata: {"first": 7, "columns": []}\n\n');
      return;
    }
    if (pathname === '/') answer.end(page.replace('@WEIR_DATA@', ''));
    else {
      answer.writeHead(403);
      answer.end('the token is wrong');
    }
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const tab = await open(`http://127.0.0.1:${server.address().port}/?token=a%26b#/policy`);
  await tab.waitForFunction(() =>
    document.querySelector('.banner').innerText.includes('cannot read')
  );
  assert.match(await text(tab, '.banner'), /columns begin at 7, and 0 are known/);
  await tab.waitForFunction(() => /token is wrong/.test(document.querySelector('main').innerText));
  const data = asked.filter((url) => url.startsWith('/live') || url.startsWith('/show'));
  assert.ok(data.length > 3);
  for (const url of data) assert.equal(new URL(url, 'http://x').searchParams.get('token'), 'a&b');
  await tab.leave(/status of 403/); // the browser itself notes each
});
