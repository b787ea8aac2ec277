// SPDX-License-Identifier: Apache-2.0
// A sweep: one scenario with many values. Two axes are a heat map, one is a line for each column.
//
// Data: {"kind": "weir-sweep", "version", "title", "description", "scenario",
//  "axes": [{"key": "params.n", "name": "n", "values": ["2", "4"], "numbers": [2, 4] or null, "unit": ""}],
//  "columns": [{"name": "slowdown(incast, max)", "unit": ""}],
//  "runs": [{"at": [0], "word": "PASS", "passed": true, "error": null, "report": "runs/1/report.html" or null,
//            "values": [{"value": 1.5 or null, "text": "1.5", "passed": true or null}]}]}
// `at` has an index into the values of each axis.
import { h } from '../dom.js';
import { Broken } from '../timeline.js';
import { value } from '../format.js';
import { RowTable } from '../table.js';
import { theme } from '../theme.js';
import { Charts, chips, missing, picker, slot } from './pieces.js';

export class Sweep {
  constructor(data) {
    for (const key of ['axes', 'columns', 'runs'])
      if (!Array.isArray(data[key])) throw new Broken(`the sweep needs "${key}", a list`);
    for (const r of data.runs)
      if (!Array.isArray(r?.at) || !Array.isArray(r?.values) || r.at.length !== data.axes.length)
        throw new Broken('a run of the sweep needs "at" for each axis, and "values"');
    this.sweep = true;
    this.data = data;
    this.title = String(data.title ?? data.scenario ?? 'a sweep');
    this.switches = [];
    const passed = data.runs.filter((r) => r.passed).length,
      n = data.runs.length;
    this.verdict = n && {
      passed: passed === n,
      text: `${passed === n ? '✓' : '✗'} ${passed} of ${n} ${n === 1 ? 'run passes' : 'runs pass'}`,
    };
  }
}

const nameOf = (axis) => axis.name ?? axis.key;
/** A page below the folder of this one. */
const pageOf = (run) =>
  typeof run?.report === 'string' &&
  /^[\w./ -]+$/.test(run.report) &&
  !run.report.startsWith('/') &&
  !run.report.includes('..')
    ? run.report
    : null;
const linkOf = (run, content) => (pageOf(run) ? h('a', { href: pageOf(run) }, content) : content);
const settingOf = (data, run) =>
  run.at.map((v, a) => `${nameOf(data.axes[a])}=${data.axes[a].values[v]}`).join(' ');
const shown = (run, c) =>
  run?.values[c]
    ? run.values[c].text || value(run.values[c].value, '', 4)
    : run
      ? (run.word ?? 'no value')
      : 'not run';

/** Runs by their places on two axes, others fixed. */
function heat(data, c, [rowAxis, columnAxis], fixed) {
  const runs = data.runs.filter((r) =>
    r.at.every((v, a) => a === rowAxis || a === columnAxis || v === fixed[a])
  );
  const at = (y, x) => runs.find((r) => r.at[rowAxis] === y && r.at[columnAxis] === x);
  const numbers = runs.map((r) => r.values[c]?.value).filter((v) => typeof v === 'number');
  const lo = Math.min(...numbers),
    hi = Math.max(...numbers);
  const cellOf = (y, x) => {
    const run = at(y, x),
      v = run?.values[c]?.value;
    const td = h(
      'td',
      {},
      linkOf(run, h('span', {}, shown(run, c), run?.values[c]?.passed === false ? ' ✗' : ''))
    );
    if (typeof v === 'number')
      td.style.setProperty(
        'background',
        `color-mix(in srgb, ${theme().accent} ${Math.round(hi > lo ? 4 + (52 * (v - lo)) / (hi - lo) : 20)}%, ${theme().panel})`
      );
    return td;
  };
  const [rows, columns] = [data.axes[rowAxis], data.axes[columnAxis]];
  return h(
    'div',
    { class: 'scroll' },
    h(
      'table',
      { class: 'heat' },
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', {}, `${nameOf(rows)} ↓  ${nameOf(columns)} →`),
          columns.values.map((v) => h('th', { scope: 'col' }, v))
        )
      ),
      h(
        'tbody',
        {},
        rows.values.map((v, y) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, v),
            columns.values.map((_, x) => cellOf(y, x))
          )
        )
      )
    ),
    h(
      'p',
      { class: 'note' },
      `stronger colour: larger, from ${value(lo, data.columns[c].unit ?? '')} to ${value(hi, data.columns[c].unit ?? '')}; ✗: the expectation does not hold`
    )
  );
}

/** One chart of a column over the first axis; a series for each combination of the others. */
export function sweepSpec(data, c) {
  const axis = data.axes[0];
  const xs = axis.numbers ?? axis.values.map((_, i) => i + 1);
  const by = new Map(),
    links = new Map();
  for (const r of data.runs) {
    const name =
      r.at
        .slice(1)
        .map((v, a) => `${nameOf(data.axes[a + 1])}=${data.axes[a + 1].values[v]}`)
        .join(' ') || data.columns[c].name;
    if (!by.has(name)) {
      by.set(name, new Array(xs.length).fill(null));
      links.set(name, new Array(xs.length).fill(null));
    }
    by.get(name)[r.at[0]] = r.values[c]?.value ?? null;
    if (pageOf(r))
      links.get(name)[r.at[0]] = {
        href: r.report,
        text: `${settingOf(data, r)}: ${shown(r, c)}, ${r.word}; opens the page of the run`,
      };
  }
  const { limit } = data.columns[c];
  const log = axis.numbers && xs[0] > 0 && xs.at(-1) > xs[0] * 20;
  return {
    id: `sweep-${c}`,
    title: data.columns[c].name,
    unit: data.columns[c].unit ?? '',
    xs,
    xUnit: axis.unit ?? '',
    xLog: log,
    ownX: true,
    points: true,
    fit: !['bps', 'bytes'].includes(data.columns[c].unit),
    height: 240,
    xName: nameOf(axis),
    xLabel: axis.numbers
      ? `${nameOf(axis)}${log ? ' (log)' : ''}`
      : `${nameOf(axis)}: ${axis.values.map((v, i) => `${i + 1} = ${v}`).join(', ')}`,
    series: [
      ...[...by]
        .filter(([, values]) => values.some((v) => v !== null))
        .map(([name, values]) => ({ name, values, links: links.get(name) })),
      ...(Number.isFinite(limit)
        ? [{ name: 'limit', values: limit, kind: 'mark', colour: 'muted' }]
        : []),
    ],
  };
}

export function sweepView(app) {
  const { data } = app.model;
  if (!data.runs.length) return { el: missing('The sweep has no runs.') };
  const charts = new Charts({ model: app.model, window: Infinity, time: null, showZoom: () => {} });
  const map = slot('panel');
  const mapped = data.axes.length > 1 && data.columns.length > 0;
  // A run that has failed to report says nothing of a column.
  const differs = (_, c) => {
    const known = data.runs.map((r) => r.values[c]?.value ?? r.values[c]?.text ?? null);
    return new Set(known.filter((v) => v !== null)).size > 1;
  };
  let column = Math.max(0, data.columns.findIndex(differs));
  const fixed = data.axes.map(() => 0);
  const drawMap = () =>
    map.set(
      h(
        'div',
        { class: 'panel-head' },
        h('h3', {}, 'Heat map'),
        chips(
          data.columns.map((x, i) => [i, x.name]),
          column,
          (i) => {
            column = i;
            drawMap();
          },
          'column'
        ),
        data.axes.slice(2).map((a, k) =>
          picker(nameOf(a), a.values, a.values[fixed[k + 2]], (v) => {
            fixed[k + 2] = a.values.indexOf(v);
            drawMap();
          })
        )
      ),
      heat(data, column, [1, 0], fixed)
    );
  const table = new RowTable({
    id: 'runs',
    title: 'Runs',
    columns: [
      ...data.axes.map((a, i) => ({
        key: `axis${i}`,
        head: nameOf(a),
        cell: (r) => [a.values[r.at[i]], false],
      })),
      {
        key: 'word',
        head: 'run',
        cell: (r) => [linkOf(r, `${r.word}${r.error ? `: ${r.error}` : ''}`), false],
      },
      ...data.columns.map((c, i) => ({
        key: `v${i}`,
        head: c.name,
        cell: (r) => [
          `${r.values[i] ? shown(r, i) : '–'}${r.values[i]?.passed === false ? ' ✗' : ''}`,
          true,
        ],
      })),
    ],
  });
  table.set(
    data.runs.map((r) => ({
      ...r,
      ...Object.fromEntries([
        ...r.at.map((v, i) => [`axis${i}`, v]),
        ...r.values.map((v, i) => [`v${i}`, v?.value ?? null]),
      ]),
    }))
  );
  const all = data.columns.map((_, c) => c);
  const chartsOf = (list) =>
    h(
      'div',
      { class: 'two' },
      list.map((c) => charts.add(() => sweepSpec(data, c)))
    );
  const varied = all.filter((c) => differs(null, c)),
    same = all.filter((c) => !differs(null, c));
  const links = data.runs.some(pageOf);
  if (mapped) drawMap();
  return {
    el: h(
      'div',
      { class: 'stack' },
      h(
        'section',
        { class: 'panel' },
        h('h2', {}, app.model.title),
        data.description ? h('p', { class: 'description' }, data.description) : null,
        h(
          'p',
          { class: 'note' },
          links ? 'A point of a line, or a cell, opens the page of its run. ' : null,
          h(
            'button',
            { type: 'button', onclick: () => table.el.scrollIntoView({ block: 'start' }) },
            'to the table of runs ↓'
          )
        )
      ),
      mapped ? map.el : null,
      varied.length ? chartsOf(varied) : null,
      table.el,
      same.length
        ? h(
            'details',
            { class: 'panel same' },
            h('summary', {}, `columns that do not vary (${same.length})`),
            chartsOf(same)
          )
        : null
    ),
    charts,
    destroy: () => charts.clear(),
    theme: () => mapped && drawMap(),
  };
}
