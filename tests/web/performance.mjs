// SPDX-License-Identifier: Apache-2.0
// Long series and large fabrics stay smooth: a frame of pan or zoom takes less than 50 ms.
//
// usage: node performance.mjs PAGE
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { end, go, open, withData } from './harness.mjs';

const page = readFileSync(process.argv[2], 'utf8');
const MOST_MS = 50;
after(end);

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const report = { scenario: 'large', passed: true, expectations: [], switches: [{ name: 's1' }] };

/** Script time of each step of a pan and a zoom by keys, drawn in a frame of its own. */
const steps = (tab, selector) =>
  tab.$eval(selector, async (plot) => {
    const took = [];
    const press = async (key, shiftKey = false) => {
      const began = performance.now();
      plot.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true }));
      await null; // what uPlot commits
      await null;
      took.push(performance.now() - began);
      await new Promise((done) => requestAnimationFrame(done));
    };
    for (let i = 0; i < 8; i++) await press('+');
    for (let i = 0; i < 16; i++) await press('ArrowRight', true);
    for (let i = 0; i < 8; i++) await press('-');
    for (let i = 0; i < 16; i++) await press('ArrowLeft', true);
    return took;
  });

test('four series of 100,000 samples pan and zoom', async () => {
  const n = 100000;
  const time = Array.from({ length: n }, (_, i) => i * 1000);
  const columns = [0, 1, 2, 3].map((c) => ({
    name: `queue ${c}`,
    unit: 'bytes',
    values: time.map((_, i) => Math.round(1e5 * (1 + Math.sin(i / 500 + c)) + (i % 97) * 300)),
  }));
  columns[0].values[77777] = 9e6;
  const data = { kind: 'weir-lab', report, series: { time_ns: time, columns } };
  const tab = await open(withData(page, 'long', data));
  await go(tab, '#/series');
  const took = await steps(tab, '[data-chart=series-bytes] .plot');
  console.log(
    `# a step takes ${median(took).toFixed(1)} ms, ${Math.max(...took).toFixed(1)} ms at most`
  );
  assert.ok(median(took) < MOST_MS, `${median(took)} ms`);
  const peak = await tab.$eval('[data-chart=series-bytes] canvas', (c) => {
    const { data: pixels } = c
      .getContext('2d')
      .getImageData(0, 0, c.width, Math.round(c.height / 4));
    let n = 0;
    for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 200) n++;
    return n;
  });
  assert.ok(peak > 5, 'the only peak is drawn, though it is one sample of 100,000');
  await tab.leave();
});

test('a port of a run with 10,000 columns and 1,000 frames pans and zooms', async () => {
  const columns = [],
    nodes = [{ name: 's1', kind: 'switch' }],
    links = [];
  for (let p = 1; p <= 320; p++) {
    nodes.push({ name: `h${p}`, kind: 'host' });
    links.push({ a: ['s1', `p${p}`], b: [`h${p}`, null], speed_bps: 1e11 });
    for (const fact of ['rx_bytes', 'tx_bytes']) columns.push(['s1', 'ports', `p${p}`, null, fact]);
    for (let q = 0; q < 8; q++)
      columns.push(
        ['s1', 'queues', `p${p}`, q, 'length_bytes'],
        ['s1', 'queues', `p${p}`, q, 'tx_bytes'],
        ['s1', 'pgs', `p${p}`, q, 'shared_bytes']
      );
    for (const fact of ['rx_pause_duration_us', 'tx_pause_duration_us'])
      columns.push(['s1', 'pfc', `p${p}`, 3, fact]);
  }
  assert.ok(columns.length >= 8960);
  const frames = [];
  for (let k = 0; k < 1000; k++) {
    const f = [k * 100000];
    for (let i = k % 9; i < columns.length; i += 9) f.push(i, k * 1000 + i);
    frames.push(f);
  }
  const began = performance.now();
  const tab = await open(
    withData(page, 'wide', {
      kind: 'weir-lab',
      report,
      topology: { nodes, links },
      timeline: { columns, frames },
    })
  );
  await go(tab, '#/port/s1/p7/3');
  console.log(`# opened in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const took = await steps(tab, '[data-chart=queue] .plot');
  console.log(
    `# a step of all its charts takes ${median(took).toFixed(1)} ms, ${Math.max(...took).toFixed(1)} ms at most`
  );
  assert.ok(median(took) < MOST_MS, `${median(took)} ms`);
  await go(tab, '#/fabric');
  const played = await tab.$eval('input[type=range]', async (slider) => {
    const took = [];
    for (let k = 100; k < 140; k++) {
      const began = performance.now();
      slider.value = k;
      slider.dispatchEvent(new Event('input'));
      took.push(performance.now() - began);
      await new Promise((done) => requestAnimationFrame(done));
    }
    return took;
  });
  console.log(`# a step of a fabric of 320 hosts takes ${median(played).toFixed(1)} ms`);
  assert.ok(median(played) < MOST_MS, `${median(played)} ms`);
  await tab.leave();
});
