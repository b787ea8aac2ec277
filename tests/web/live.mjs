// SPDX-License-Identifier: Apache-2.0
// The page of a live switch, in a real browser (live.py makes the switch and its traffic).
//
// usage: node live.mjs ADDRESS
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after } from 'node:test';
import { end, go, open, settled, table, text } from './harness.mjs';

const address = process.argv[2];
const { WEIRCTL, SWITCH_PID } = process.env;
const ctl = (...args) =>
  execFileSync(WEIRCTL, ['-s', 'web', ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
const show = (...args) => JSON.parse(ctl('show', ...args, '--json'));
const VIEWS = ['switch', 'fabric', 'port', 'pools', 'flows', 'cnps', 'events', 'policy'];
after(end);

const answered = (tab) => tab.waitForTimeout(1500); // the page asks once a second

test('every view of a switch that moves frames shows something, without an error', async () => {
  for (const width of [1280, 390]) {
    const tab = await open(address, { viewport: { width, height: 800 } });
    await tab.waitForFunction(() => document.querySelector('h1').textContent === 'web');
    assert.match(await text(tab, '.sub'), /time scale 500/);
    for (const view of VIEWS) {
      await go(tab, `#/${view}`);
      await answered(tab);
      assert.ok((await text(tab)).trim().length > 20, `${view} is blank`);
      assert.doesNotMatch(
        await text(tab),
        /cannot be shown|undefined|NaN|\[object|has not answered/,
        view
      );
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${view} at ${width} is ${wide} pixels too wide`);
    }
    await tab.leave();
  }
});

test('a switch and a port that are not there are said', async () => {
  for (const [hash, pattern] of [
    ['#/port/zz', /no switch zz/],
    ['#/port/web/p77', /no port p77 at web/],
    ['#/pools/zz', /no switch zz/],
    ['#/policy/zz', /no switch zz/],
    ['#/series', /no view series/],
  ]) {
    const tab = await open(address + hash);
    await tab.waitForSelector('[data-wrong]');
    assert.match(await text(tab), pattern);
    await tab.leave();
  }
});

test('charts follow the switch, unless they are zoomed', async () => {
  const tab = await open(`${address}#/port/web/p3`);
  await tab.waitForSelector('[data-chart=rate] canvas');
  const range = () => tab.$eval('[data-chart=rate] .plot', (e) => e.dataset.range);
  const first = await range();
  await tab.waitForFunction(
    (r) => document.querySelector('[data-chart=rate] .plot').dataset.range !== r,
    first
  );
  await tab.focus('[data-chart=rate] .plot');
  await tab.keyboard.press('+');
  const zoomed = await range();
  await answered(tab);
  assert.equal(await range(), zoomed);
  await tab.keyboard.press('0');
  await tab.waitForFunction(
    (r) => document.querySelector('[data-chart=rate] .plot').dataset.range !== r,
    zoomed
  );
  await tab.leave();
});

test('the fabric shows which senders are paused, with the reason of weirctl', async () => {
  const tab = await open(`${address}#/fabric`);
  await tab.waitForSelector('.fabric .line.paused', { state: 'attached' });
  await tab.waitForSelector('.cause');
  assert.match(await text(tab, '.causes'), /p[12] class 3.*because p3 class 3 holds/);
  await tab.leave();
});

test('a CNP and an event of weirctl are on the page, in its words', async () => {
  const tab = await open(`${address}#/cnps`);
  await tab.waitForSelector('[data-table=cnps] tbody tr');
  const rows = await table(tab, 'cnps');
  const of = new Map(show('cnps', '--count', '100000').cnps.map((c) => [c.seq, c]));
  const checked = rows.filter((r) => of.has(Number(r.seq)));
  assert.ok(checked.length > 0);
  for (const r of checked)
    for (const key of [
      'length_bytes',
      'excess_bps',
      'flow_bps',
      'rank',
      'told',
      'quadrant',
      'from',
    ])
      assert.equal(r[key], of.get(Number(r.seq))[key], key);
  assert.match(await text(tab, '.explain'), /Queue 3 of p3 held .* \(kmin 50 KB, kmax 400 KB\)/);
  await go(tab, '#/events');
  await tab.waitForSelector('.event');
  assert.match(await text(tab), /pfc-xoff a priority group entered XOFF/);
  await tab.leave();
});

test('of a switch at rest every number of a table is that of weirctl show --json', async () => {
  ctl('quiesce', '--hold');
  const tab = await open(`${address}#/port/web/p1`);
  await answered(tab);
  await answered(tab);
  const same = (rows, want, id, left = []) => {
    assert.equal(rows.length, want.length, id);
    rows.forEach((row, i) => {
      for (const [k, v] of Object.entries(row))
        if (typeof want[i][k] === 'number' && !left.includes(k))
          assert.equal(v, want[i][k], `${id} ${i} ${k}`);
    });
  };
  const p1 = (list) => list.filter((r) => r.port === 'p1');
  same(await table(tab, 'queues'), p1(show('queues').queues), 'queues');
  same(await table(tab, 'pgs'), p1(show('buffers').pgs), 'pgs');
  const runs = ['tx_pause_duration_us', 'tx_pause_longest_us', 'tx_pause', 'rx_pause_duration_us']; // XOFF lasts
  same(await table(tab, 'pfc'), p1(show('pfc').pfc), 'pfc', runs);
  await go(tab, '#/switch');
  await answered(tab);
  same(await table(tab, 'ports'), show('ports').ports, 'ports');
  same(await table(tab, 'interfaces'), show('interfaces').interfaces, 'interfaces', [
    'rx_bps',
    'tx_bps',
    'rx_pps',
    'tx_pps',
    'rx_util_percent',
    'tx_util_percent',
  ]);
  await go(tab, '#/pools');
  await answered(tab);
  same(await table(tab, 'pools'), show('buffers').pools, 'pools');
  await go(tab, '#/policy');
  await answered(tab);
  const ecn = (await table(tab, 'ecn')).find((r) => r.queue === 3);
  const row = show('ecn').ecn.find((r) => r.queue === 3);
  for (const k of ['kmin_bytes', 'kmax_bytes', 'pmax_percent']) assert.equal(ecn[k], row[k], k);
  await tab.leave();
  ctl('resume');
});

test('a switch that is gone is said, and the last numbers stay', async () => {
  const tab = await open(`${address}#/port/web/p3`);
  await tab.waitForSelector('[data-chart=queue] canvas');
  await settled(tab);
  process.kill(Number(SWITCH_PID), 'SIGTERM');
  await tab.waitForSelector('.banner.alarm:not([hidden])');
  assert.match(await text(tab, '.banner'), /stream of the switch has ended/);
  assert.ok(await tab.$('[data-chart=queue] canvas'));
  tab.errors.length = 0; // the browser itself complains about refused connections
  await tab.leave();
});
