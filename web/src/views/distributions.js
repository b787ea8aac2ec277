// SPDX-License-Identifier: Apache-2.0
// Distributions of completion times and slowdowns, and of the lengths of queues.
import { h } from '../dom.js';
import { Charts, missing } from './pieces.js';

/** The share of operations that took x at most. One x axis for all flows: their values together. */
export function cdfSpec(id, title, unit, rows, empty = 'No operation ended.') {
  const usable = (rows ?? []).filter(
    (r) => Array.isArray(r.values) && r.values.length && r.values.every((v) => v > 0)
  );
  const xs = [...new Set(usable.flatMap((r) => r.values))].sort((a, b) => a - b);
  return {
    id,
    title,
    unit: 'share',
    xs,
    xUnit: unit,
    xLog: true,
    ownX: true,
    height: 300,
    yRange: [0, 1.02],
    xName: 'at most',
    empty,
    xLabel: unit === 'ns' ? 'completion time (log)' : 'slowdown against an empty network (log)',
    series: usable
      .map((r) => {
        const sorted = [...r.values].sort((a, b) => a - b);
        let n = 0;
        return {
          name: String(r.flow),
          kind: 'hold',
          dash: undefined,
          values: xs.map((x) => {
            while (n < sorted.length && sorted[n] <= x) n++;
            return n / sorted.length;
          }),
        };
      })
      .map((s, i) => ({ ...s, dash: i % 5, colour: i })),
  };
}

/** The share of time for which a queue was at most so long. */
export function histogramSpec(rows) {
  const xs = [
    ...new Set((rows ?? []).flatMap((r) => (r.bins ?? []).map((b) => b.from_bytes + r.bin_bytes))),
  ].sort((a, b) => a - b);
  return {
    id: 'histogram',
    title: 'Lengths of queues: share of the time',
    unit: 'share',
    xs,
    xUnit: 'bytes',
    ownX: true,
    height: 300,
    yRange: [0, 1.02],
    xName: 'below',
    empty: 'No histogram was asked for.',
    series: (rows ?? []).map((r, i) => {
      const whole = (r.bins ?? []).reduce((a, b) => a + b.time_ns, 0) || 1;
      let n = 0,
        sum = 0;
      const bins = r.bins ?? [];
      return {
        name: String(r.queue),
        kind: 'hold',
        dash: i % 5,
        colour: i,
        values: xs.map((x) => {
          while (n < bins.length && bins[n].from_bytes + r.bin_bytes <= x) sum += bins[n++].time_ns;
          return sum / whole;
        }),
      };
    }),
  };
}

/** Why no operation ended. A run with endless flows alone is done, and has ended none. */
const none = ({ report }) =>
  report.done === true && (report.flows ?? []).every((f) => f.operations === 0)
    ? 'There are no operations: endless flows have no operations. A flow with a size has some.'
    : 'No operation ended.';

export const distributionSpecs = {
  fct: (m) => cdfSpec('fct', 'Completion times (CDF)', 'ns', m.data.operations?.fct_ns, none(m)),
  slowdown: (m) => cdfSpec('slowdown', 'Slowdown (CDF)', '', m.data.operations?.slowdown, none(m)),
  histogram: (m) => histogramSpec(m.report.histograms),
};

export function distributionsView(app) {
  const { model } = app;
  const names = ['fct', 'slowdown']
    .filter((k) => model.data.operations)
    .concat(model.report.histograms?.length ? ['histogram'] : []);
  if (!names.length)
    return {
      el: missing(
        'This file has no distributions: no operation ended, or it is a report.json alone.'
      ),
    };
  const charts = new Charts(app);
  return {
    el: h(
      'div',
      { class: 'two' },
      names.map((k) => charts.add(() => distributionSpecs[k](model)))
    ),
    charts,
    destroy: () => charts.clear(),
  };
}
