// SPDX-License-Identifier: Apache-2.0
// Makes the page: one file with its style and its script inside, and a policy that allows these two
// and nothing else.
//
//   node build.mjs OUT
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const MARKER = '@WEIR_DATA@';

const read = (name) => readFileSync(join(here, name), 'utf8');

async function bundle(entry) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    target: ['es2022', 'chrome110', 'firefox115', 'safari16'],
    charset: 'utf8',
    legalComments: 'none',
    loader: { '.css': 'css' },
  });
  return result.outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export async function page() {
  const licence = `/*! uPlot\n${read('licences/uplot.txt').trim()}\n*/\n`;
  const style = await bundle('src/style.css');
  const script = licence + (await bundle('src/main.js'));
  const policy =
    `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";
  const parts = { POLICY: policy, STYLE: style, SCRIPT: script };
  const text = read('src/page.html').replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
  if (text.split(MARKER).length !== 2) throw new Error(`the page must hold ${MARKER} once`);
  if (/<\/(script|style)/i.test(script) || /<\//.test(style))
    throw new Error('the script or the style would end its element');
  return text;
}

writeFileSync(process.argv[2], await page());
