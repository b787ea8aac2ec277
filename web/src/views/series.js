// SPDX-License-Identifier: Apache-2.0
// The series that a scenario records.
import { h } from '../dom.js';
import { Charts, missing } from './pieces.js';

const TITLE = { bps: 'Rates', bytes: 'Bytes', share: 'Shares', ns: 'Times', '': 'Counts' };

/** The recorded columns of one unit; `names` limits them. */
export function seriesSpec(model, unit, names) {
  const { series } = model.data;
  const columns = (series?.columns ?? []).filter((c) =>
    names ? names.includes(c.name) : (c.unit ?? '') === unit
  );
  const n = series?.time_ns?.length ?? 0;
  const broken = columns.filter((c) => !Array.isArray(c.values) || c.values.length !== n);
  const good = columns.filter((c) => !broken.includes(c));
  return {
    id: `series-${unit || 'count'}`,
    title: `${names ? names.join(', ') : (TITLE[unit] ?? unit)}, as recorded`,
    unit,
    xs: good.length ? series.time_ns : [],
    height: 300,
    empty: 'Nothing was recorded.',
    series: good.map((c) => ({ name: c.name, values: c.values })),
    note: broken.length
      ? `${broken.length} columns have another number of values than there are times, and are left out`
      : null,
  };
}

export function seriesUnits(model) {
  return [...new Set((model.data.series?.columns ?? []).map((c) => c.unit ?? ''))];
}

export function seriesView(app) {
  const units = seriesUnits(app.model);
  if (!units.length)
    return {
      el: missing(
        'This run recorded no series. A scenario records some with record: {every: 1ms, what: [goodput(h1)]}.'
      ),
    };
  const charts = new Charts(app);
  return {
    el: h(
      'div',
      { class: 'stack' },
      units.map((u) => charts.add(() => seriesSpec(app.model, u)))
    ),
    charts,
    timed: true,
    destroy: () => charts.clear(),
  };
}
