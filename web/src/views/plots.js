// SPDX-License-Identifier: Apache-2.0
// Plots and tables that some program has made: the fluid model, a search for thresholds, pictures.
//
// Data: {"kind": "weir-plots", "title", "description", "text", "columns": 2,
//  "plots": [{"title", "x": {"what", "unit", "log"}, "y": {"what", "unit"}, "points", "steps",
//             "series": [{"name", "x": [...], "y": [..., null], "texts": of each point, or none}]}],
//  "tables": [{"title", "heads", "n_left", "rows", "note"}]}
import { h } from '../dom.js';
import { Broken } from '../timeline.js';
import { textTable } from '../table.js';
import { Charts, missing } from './pieces.js';

export class Plots {
  constructor(data) {
    for (const p of data.plots ?? [])
      for (const s of p?.series ?? [])
        if (!Array.isArray(s?.x) || !Array.isArray(s.y) || s.x.length !== s.y.length)
          throw new Broken('a series of a plot needs as many "x" as "y"');
    this.kind = 'plots';
    this.sweep = true; // it has no time
    this.data = data;
    this.title = String(data.title ?? 'plots');
    this.switches = [];
  }
}

/** Series with x of their own become one list of x; between two of its points a line goes on. A
 *  series with breaks is drawn as dots. */
export function plotSpec(p, id, height = 300) {
  const slots = []; // {x, of: by series {y, text}}
  for (const t of p.series
    .flatMap((s, i) => s.x.map((x, k) => ({ x, y: s.y[k], text: s.texts?.[k], i })))
    .filter((t) => t.y !== null)
    .sort((a, b) => a.x - b.x)) {
    if (slots.at(-1)?.x !== t.x || slots.at(-1).of[t.i]) slots.push({ x: t.x, of: [] });
    slots.at(-1).of[t.i] = t;
  }
  const xs = slots.map((t) => t.x);
  return {
    id,
    title: String(p.title ?? ''),
    unit: p.y?.unit ?? '',
    xs,
    xUnit: p.x?.unit ?? '',
    xLog: p.x?.log === true && xs[0] > 0,
    ownX: true,
    fit: !['bps', 'bytes'].includes(p.y?.unit),
    height,
    xName: p.x?.what ?? '',
    xLabel: p.x?.what ?? '',
    yLabel: p.y?.what ?? '',
    empty: 'There is nothing to draw.',
    series: p.series.map((s, i) => {
      const dots = s.y.includes(null);
      const values = slots.map((t) => t.of[i]?.y ?? null);
      return {
        name: String(s.name || p.y?.what || ''),
        kind: p.steps ? 'hold' : 'line',
        dots,
        texts: s.texts && slots.map((t) => t.of[i]?.text ?? ''),
        values: dots ? values : filled(xs, values, p.steps),
        dash: i % 5,
        colour: i,
      };
    }),
  };
}

/** The values at x of other series. */
function filled(xs, values, steps) {
  const known = values.flatMap((v, i) => (v === null ? [] : [i]));
  for (let k = 0; k + 1 < known.length; k++) {
    const [a, b] = [known[k], known[k + 1]];
    for (let i = a + 1; i < b; i++)
      values[i] =
        steps || xs[a] === xs[b]
          ? values[a]
          : values[a] + ((values[b] - values[a]) * (xs[i] - xs[a])) / (xs[b] - xs[a]);
  }
  return values;
}

const chartsOf = (app) =>
  new Charts({ model: app.model, window: Infinity, time: null, showZoom: () => {} });

export function plotsView(app) {
  const { data } = app.model;
  const charts = chartsOf(app);
  const plots = data.plots ?? [],
    tables = data.tables ?? [];
  if (!plots.length && !tables.length && !data.text)
    return { el: missing('There is nothing here.') };
  return {
    el: h(
      'div',
      { class: 'stack' },
      data.description || data.text
        ? h(
            'section',
            { class: 'panel' },
            data.description ? h('p', { class: 'description' }, data.description) : null,
            data.text ? h('pre', {}, data.text) : null
          )
        : null,
      h(
        'div',
        { class: plots.length > 1 ? 'two' : 'stack' },
        plots.map((p, i) => charts.add(() => plotSpec(p, `plot-${i}`)))
      ),
      tables.map((t) => textTable(t))
    ),
    charts,
    destroy: () => charts.clear(),
  };
}

/** All plots side by side, for a picture. */
export function plotsPicture(app, height) {
  const { data } = app.model;
  const charts = chartsOf(app);
  const grid = h('div', { class: 'picture-grid' });
  grid.style.setProperty('grid-template-columns', `repeat(${data.columns ?? 1}, 1fr)`);
  grid.append(
    ...(data.plots ?? []).map((p, i) =>
      charts.add(() => plotSpec(p, `plot-${i}`, Math.max(60, height - 70)))
    )
  );
  return { el: grid, charts };
}
