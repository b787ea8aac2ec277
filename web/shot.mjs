#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Pictures of the page.
//
//   node web/shot.mjs REPORT.html ROUTE OUT.png [options]
//   node web/shot.mjs --list FILE [options]     a line each: REPORT.html ROUTE OUT.png [options]
//
//   --width W --height H   the window in pixels: 1280 x 800
//   --scale S              pixels of the picture for each: 2
//   --dark                 dark colours
//   --full                 the whole page, not only the window
//   --wait S               seconds to let a live switch run before the picture: 0
//   --browser PROGRAM      /usr/bin/chromium
//
// REPORT.html is a file or the address of a live switch. A route is #/fabric or /fabric; of
// #/plot/NAME the picture has the plot alone. Of a view, a plot, a switch or a port that is not there
// no picture is made, and the page's words are said. Exit 0: all were made; 1: not all; 2: misused.
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';

const MOST_MS = 120000;
const DEFAULTS = {
  width: 1280,
  height: 800,
  scale: 2,
  dark: false,
  full: false,
  wait: 0,
  browser: '/usr/bin/chromium',
};

function misused(text) {
  const usage = readFileSync(fileURLToPath(import.meta.url), 'utf8')
    .split('\n')
    .filter((l) => l.startsWith('//'))
    .slice(1)
    .map((l) => l.replace(/^\/\/ ?/, ''))
    .join('\n');
  console.error(text ? `shot: ${text}\n\n${usage}` : usage);
  process.exit(text ? 2 : 0);
}

function options(words, base) {
  const o = { ...base, rest: [] };
  for (let i = 0; i < words.length; i++) {
    const name = words[i].replace(/^--/, '');
    if (!words[i].startsWith('--')) o.rest.push(words[i]);
    else if (name === 'help') misused('');
    else if (name === 'dark' || name === 'full') o[name] = true;
    else if (name === 'list' || name === 'browser')
      o[name] = words[++i] ?? misused(`--${name} needs a value`);
    else if (['width', 'height', 'scale', 'wait'].includes(name)) {
      o[name] = Number(words[++i]);
      if (!(o[name] > 0 && o[name] <= 10000)) misused(`--${name} needs a number from 1 to 10000`);
    } else misused(`unknown option ${words[i]}`);
  }
  return o;
}

function jobsOf(o) {
  if (!o.list) return [o];
  return readFileSync(o.list, 'utf8')
    .split('\n')
    .map((l) => l.trim())
    .filter((l) => l && !l.startsWith('# '))
    .map((l) => options(l.split(/\s+/), o));
}

async function shoot(browser, job) {
  const [page, route, out] = job.rest;
  const context = await browser.newContext({
    viewport: { width: job.width, height: job.height },
    deviceScaleFactor: job.scale,
    colorScheme: job.dark ? 'dark' : 'light',
  });
  try {
    context.setDefaultTimeout(MOST_MS);
    const tab = await context.newPage();
    let wrong = null;
    tab.on('pageerror', (e) => {
      wrong = e.message;
    });
    const address = /^https?:/.test(page) ? page : pathToFileURL(resolve(page)).href;
    await tab.goto(address + (route.startsWith('#') ? route : `#${route}`));
    await tab.waitForSelector('main, .picture, .open');
    await tab.evaluate(
      () =>
        new Promise((done) =>
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120)))
        )
    );
    if (job.wait) await tab.waitForTimeout(job.wait * 1000);
    if (wrong) throw new Error(wrong);
    const missing = await tab.$('[data-wrong]');
    if (missing) throw new Error(await missing.textContent());
    const picture = await tab.$('.picture');
    if (picture) await picture.screenshot({ path: out });
    else await tab.screenshot({ path: out, fullPage: job.full });
  } finally {
    await context.close();
  }
}

const o = options(process.argv.slice(2), DEFAULTS);
const jobs = jobsOf(o);
for (const j of jobs) if (j.rest.length !== 3) misused('needs REPORT.html ROUTE OUT.png');
if (!existsSync(o.browser)) misused(`there is no ${o.browser}: run scripts/setup --browser`);
const { chromium } = await import('playwright-core').catch(() =>
  misused('web/node_modules is missing: run scripts/setup')
);
const browser = await chromium.launch({
  executablePath: o.browser,
  args: ['--no-sandbox', '--disable-gpu'],
});
let failed = 0;
for (const j of jobs)
  await shoot(browser, j).catch((e) => {
    failed++;
    console.error(`shot: ${j.rest[2]}: ${e.message}`);
  });
await browser.close();
process.exit(failed ? 1 : 0);
