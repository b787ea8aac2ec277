// SPDX-License-Identifier: Apache-2.0
// A browser for the tests of the page: every error on its console fails the test that made it.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '../../web/node_modules/playwright-core/index.mjs';

const MOST_MS = 180000; // on a machine that others slow down

export const folder = mkdtempSync(join(tmpdir(), 'weir-web-'));
export const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

export async function end() {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

/** The page with these data, as a file; its address. */
export function withData(page, name, data) {
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  const path = join(folder, `${name}.html`);
  writeFileSync(
    path,
    page.replace('@WEIR_DATA@', () => json.replaceAll('<', '\\u003c'))
  );
  return pathToFileURL(path).href;
}

/** The data in a report. */
export function dataOf(path) {
  const text = readFileSync(path, 'utf8');
  const start = text.indexOf('id="weir-data">') + 'id="weir-data">'.length;
  return JSON.parse(text.slice(start, text.indexOf('</script>', start)));
}

/** A tab at an address. `errors` grows with what the console says is wrong. */
export async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(MOST_MS);
  const tab = await context.newPage();
  tab.errors = [];
  tab.on('console', (m) => m.type() === 'error' && tab.errors.push(m.text()));
  tab.on('pageerror', (e) => tab.errors.push(e.message));
  await tab.goto(address);
  await tab.waitForSelector('main, .picture');
  tab.leave = async () => {
    const { errors } = tab;
    await context.close();
    assert.deepEqual(errors, [], 'the console');
  };
  return tab;
}

export async function go(tab, hash) {
  await tab.evaluate((h) => {
    location.hash = h;
  }, hash);
  await settled(tab);
}

/** Two frames later, when charts are drawn. */
export const settled = (tab) =>
  tab.evaluate(
    () =>
      new Promise((done) =>
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))
      )
  );

/** A table of the page: rows of {key: raw number or text}. */
export const table = (tab, id) =>
  tab.$$eval(`[data-table="${id}"] tbody tr`, (rows) =>
    rows.map((r) =>
      Object.fromEntries(
        [...r.children].map((td) => {
          const raw = /^[^:]*: (.*)$/.exec(td.title ?? '');
          return [td.dataset.key, raw ? Number(raw[1]) : td.textContent];
        })
      )
    )
  );

export const text = (tab, selector = 'main') => tab.$eval(selector, (e) => e.innerText);
