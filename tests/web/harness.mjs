// SPDX-License-Identifier: Apache-2.0
// A browser for the tests of the page: every error on its console fails the test that made it.
// Each read of a page waits until the page is drawn.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from '../../web/node_modules/playwright-core/index.mjs';

const MOST_MS = 180000; // on a machine that others slow down
const STILL = 3; // frames without a change: the page is drawn
const MOVING = 20; // frames after which a page that plays or is live is read anyway

export const folder = mkdtempSync(join(tmpdir(), 'weir-web-'));
export const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
  timeout: MOST_MS,
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

/** Runs in each page before its script, and defines drawn(). A chart is measured one frame after it
 *  was put in its place and drawn in the next, and what that moves is measured again. */
function watch([stillFrames, movingFrames]) {
  let still = 0; // frames since the last change
  let waiting = [];
  const step = () => {
    still++;
    waiting = waiting.filter((w) => (still >= stillFrames || --w.frames <= 0 ? w.done() : true));
    if (still < stillFrames) requestAnimationFrame(step);
  };
  new MutationObserver(() => {
    if (still >= stillFrames) requestAnimationFrame(step);
    still = 0;
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  requestAnimationFrame(step);
  window.drawn = () =>
    new Promise((done) => {
      if (still >= stillFrames) done();
      else waiting.push({ frames: movingFrames, done });
    });
}

const context = await browser.newContext();
context.setDefaultTimeout(MOST_MS);
await context.addInitScript(watch, [STILL, MOVING]);
const idle = []; // tabs that tests have left: a new one costs as much as all that a test does

async function newTab() {
  const tab = await context.newPage();
  tab.on('console', (m) => m.type() === 'error' && tab.errors.push(m.text()));
  tab.on('pageerror', (e) => tab.errors.push(e.message));
  const evaluate = tab.evaluate.bind(tab);
  tab.drawn = () => evaluate(() => drawn());
  for (const name of ['$', '$eval', '$$eval', 'evaluate']) {
    const read = tab[name].bind(tab);
    tab[name] = async (...args) => {
      await tab.drawn();
      return read(...args);
    };
  }
  return tab;
}

/** A tab at an address. To leave it fails if the console said what is wrong and not `known`. */
export async function open(address, { viewport, colorScheme = 'light' } = {}) {
  const tab = idle.pop() ?? (await newTab());
  tab.errors = [];
  await tab.setViewportSize(viewport ?? { width: 1280, height: 800 });
  await tab.emulateMedia({ colorScheme });
  await tab.mouse.move(0, 0);
  await tab.goto(address);
  await tab.waitForSelector('main, .picture');
  await tab.drawn();
  tab.leave = async (known) => {
    await tab.goto('about:blank');
    assert.deepEqual(
      tab.errors.filter((e) => !known?.test(e)),
      [],
      'the console'
    );
    idle.push(tab);
  };
  return tab;
}

export async function go(tab, hash) {
  await tab.evaluate(
    (h) =>
      new Promise((done) => {
        const before = location.hash;
        addEventListener('hashchange', done, { once: true });
        location.hash = h;
        if (location.hash === before) done();
      }),
    hash
  );
  await tab.drawn();
}

/** Moves the slider to a frame. */
export const slide = (tab, k) =>
  tab.$eval(
    'input[type=range]',
    (e, v) => {
      e.value = v;
      e.dispatchEvent(new Event('input'));
    },
    k
  );

/** Waits until a check passes, for what comes to the page by a timer or from a switch. */
export async function eventually(check) {
  for (const end = performance.now() + MOST_MS; ; )
    try {
      return await check();
    } catch (e) {
      if (performance.now() > end) throw e;
      await new Promise((done) => setTimeout(done, 50));
    }
}

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
