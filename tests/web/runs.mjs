// SPDX-License-Identifier: Apache-2.0
// The page, and the page with runs of the lab, for tests that are run as
// `node TEST PAGE WEIR_LAB ROOT`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataOf, folder, withData } from './harness.mjs';

export const [pagePath, weirLab, root] = process.argv.slice(2);
export const page = readFileSync(pagePath, 'utf8');

/** Runs a scenario of conf/lab: the page with its data, the file of its report, and both's data. */
export function run(scenario) {
  const out = join(folder, scenario);
  execFileSync(weirLab, ['run', join(root, `conf/lab/${scenario}.yaml`), '--quiet', '--out', out], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const path = join(out, 'report.html');
  const data = dataOf(path);
  const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'));
  return { address: withData(page, scenario, data), path, data, report };
}
