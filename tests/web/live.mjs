// SPDX-License-Identifier: Apache-2.0
// The page of a live switch, in a real browser (live.py makes the switch and its traffic).
//
// usage: node live.mjs ADDRESS
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test, { after } from 'node:test';
import { end, eventually, go, open, table, text } from './harness.mjs';

const address = process.argv[2];
const { WEIRCTL, SWITCH_PID } = process.env;
const ctl = (...args) =>
  execFileSync(WEIRCTL, ['-s', 'web', ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
const show = (...args) => JSON.parse(ctl('show', ...args, '--json'));
// Each view, and what it has when the switch has answered.
const VIEWS = {
  switch: '[data-table=ports] td',
  fabric: '[data-table=ports] td',
  port: '[data-table=queues] td',
  pools: '[data-table=pools] td',
  flows: '[data-table=flows] td',
  cnps: '[data-table=cnps] td',
  events: '.event',
  policy: '[data-table=ecn] td',
};
after(end);

/** The range of a chart, after a key; new columns may make the chart anew at any moment. */
const rangeOf = (tab, chart, key) =>
  eventually(() =>
    tab.$eval(
      `[data-chart=${chart}] .plot`,
      (plot, pressed) => {
        if (!plot.dataset.range) throw new Error('the chart is not drawn');
        if (pressed) plot.dispatchEvent(new KeyboardEvent('keydown', { key: pressed }));
        return plot.dataset.range;
      },
      key
    )
  );

test('every view of a switch that moves frames shows something, without an error', async () => {
  for (const width of [1280, 360]) {
    const tab = await open(address, { viewport: { width, height: 800 } });
    await tab.waitForFunction(() => document.querySelector('h1').textContent === 'web');
    assert.match(await text(tab, '.sub'), /time scale 500/);
    for (const [view, answer] of Object.entries(VIEWS)) {
      await go(tab, `#/${view}`);
      await tab.waitForSelector(answer);
      await eventually(async () => assert.doesNotMatch(await text(tab), /has not answered/, view));
      const [said, wide] = await tab.$eval('main', (e) => [
        e.innerText,
        document.documentElement.scrollWidth - innerWidth,
      ]);
      assert.doesNotMatch(said, /cannot be shown|undefined|NaN|\[object/, view);
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
  const range = (key) => rangeOf(tab, 'rate', key);
  const uptime = () => text(tab, '.sub');
  const changes = (read, from) => eventually(async () => assert.notEqual(await read(), from));
  await changes(range, await range());
  const zoomed = await range('+');
  for (let i = 0; i < 2; i++) await changes(uptime, await uptime()); // five frames come in a second
  assert.equal(await range(), zoomed);
  await range('0');
  await changes(range, zoomed);
  await tab.leave();
});

test('the fabric shows which senders are paused, with the reason of weirctl', async () => {
  const tab = await open(`${address}#/fabric`);
  await tab.waitForSelector('.fabric .line.paused', { state: 'attached' });
  await eventually(async () =>
    assert.match(await text(tab, '.causes'), /p[12] class 3.*because p3 class 3 holds/)
  );
  await tab.leave();
});

test('the fabric names who is behind a port', async () => {
  const tab = await open(`${address}#/fabric`);
  await eventually(async () =>
    assert.deepEqual(
      await tab.$$eval('.fabric .host .name', (list) => list.map((e) => e.textContent)),
      ['10.0.0.1', '10.0.0.2', '10.0.0.3']
    )
  );
  await tab.hover('.fabric .host');
  assert.match(await text(tab, '.fabric-box .tip'), /10\.0\.0\.1 → web p1/);
  const peers = async () => (await table(tab, 'ports')).map((r) => r.peer);
  await eventually(async () =>
    assert.deepEqual(await peers(), ['10.0.0.1', '10.0.0.2', '10.0.0.3'])
  );
  await tab.leave();
});

test('a CNP and an event of weirctl are on the page, in its words', async () => {
  const tab = await open(`${address}#/cnps`);
  const facts = ['length_bytes', 'excess_bps', 'flow_bps', 'rank', 'told', 'quadrant', 'from'];
  await eventually(async () => {
    const rows = await table(tab, 'cnps');
    const of = new Map(show('cnps', '--count', '100000').cnps.map((c) => [c.seq, c]));
    const checked = rows.filter((r) => of.has(r.seq));
    assert.ok(checked.length > 0);
    for (const r of checked)
      for (const key of facts) assert.equal(r[key], of.get(r.seq)[key], key);
  });
  const words = /Queue 3 of p3 held .* \(kmin 50 KB, kmax 400 KB\)/;
  await eventually(async () => assert.match(await text(tab, '.explain'), words));
  await go(tab, '#/events');
  await eventually(async () =>
    assert.match(await text(tab), /pfc-xoff a priority group entered XOFF/)
  );
  await tab.leave();
});

test('of a switch at rest every number of a table is that of weirctl show --json', async () => {
  ctl('quiesce', '--hold');
  const tab = await open(`${address}#/port/web/p1`);
  // The page asks once a second.
  const same = (id, want, left = []) =>
    eventually(async () => {
      const rows = await table(tab, id);
      const list = want();
      assert.equal(rows.length, list.length, id);
      rows.forEach((row, i) => {
        for (const [k, v] of Object.entries(row))
          if (typeof list[i][k] === 'number' && !left.includes(k))
            assert.equal(v, list[i][k], `${id} ${i} ${k}`);
      });
    });
  const p1 = (list) => list.filter((r) => r.port === 'p1');
  await same('queues', () => p1(show('queues').queues));
  await same('pgs', () => p1(show('buffers').pgs));
  const runs = ['tx_pause_duration_us', 'tx_pause_longest_us', 'tx_pause', 'rx_pause_duration_us']; // XOFF lasts
  await same('pfc', () => p1(show('pfc').pfc), runs);
  await go(tab, '#/switch');
  await same('ports', () => show('ports').ports);
  await same('interfaces', () => show('interfaces').interfaces, [
    'rx_bps',
    'tx_bps',
    'rx_pps',
    'tx_pps',
    'rx_util_percent',
    'tx_util_percent',
  ]);
  await go(tab, '#/pools');
  await same('pools', () => show('buffers').pools);
  await go(tab, '#/policy');
  await eventually(async () => {
    const ecn = (await table(tab, 'ecn')).find((r) => r.queue === 3);
    const row = show('ecn').ecn.find((r) => r.queue === 3);
    for (const k of ['kmin_bytes', 'kmax_bytes', 'pmax_percent']) assert.equal(ecn[k], row[k], k);
  });
  await tab.leave();
  ctl('resume');
});

test('a switch that is gone is said, and the last numbers stay', async () => {
  const tab = await open(`${address}#/port/web/p3`);
  await tab.waitForSelector('[data-chart=queue] canvas');
  process.kill(Number(SWITCH_PID), 'SIGTERM');
  await tab.waitForSelector('.banner.alarm:not([hidden])');
  assert.match(await text(tab, '.banner'), /stream of the switch has ended/);
  assert.ok(await tab.$('[data-chart=queue] canvas'));
  await tab.leave(/^Failed to load resource/); // the browser itself notes refused connections
});
