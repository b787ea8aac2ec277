// SPDX-License-Identifier: Apache-2.0
// Flows: rates, CNPs, queue pairs. In the lab the hosts as well.
import { h } from '../dom.js';
import { time, value } from '../format.js';
import { RowTable, facts } from '../table.js';
import { atTheEnd, Charts } from './pieces.js';

const TOP = 14;

/** Rates of the objects of a list, those that grew most first. */
function ratesSpec(
  model,
  id,
  title,
  list,
  fact,
  { scale = 8e9, unit = 'bps', names = null, empty, mean = null, onLine = false } = {}
) {
  const t = model.timeline;
  const all = t
    .select(names ? null : '', list, fact)
    .filter((c) => !names || names(c))
    .map((c) => ({ ...c, most: (c.values.at(-1) ?? 0) - (model.live ? (c.values[0] ?? 0) : 0) }))
    .sort((a, b) => b.most - a.most);
  const top = all.slice(0, TOP);
  return {
    id,
    title: all.length > TOP ? `${title}: the ${TOP} of ${all.length} that moved most` : title,
    unit,
    xs: top.length ? t.times : [],
    height: 220,
    empty,
    series: top.map((c) => ({
      name: names ? `${c.object} ${c.index ?? ''}`.trim() : c.object,
      values: onLine
        ? t.lineRate(c.sw, list, c.object, 'tx', t.stepFrames(c.i))
        : mean
          ? t.meanRate(c.i, scale)
          : t.rate(c.i, scale),
      kind: mean ? 'line' : 'step',
    })),
    note: mean && top.length ? `${mean}; mean over ${spanOf(t, top)}` : null,
  };
}

/** How long the means of columns are. */
function spanOf(t, columns) {
  const frame = (t.times.at(-1) - t.times[0]) / Math.max(1, t.length - 1);
  const spans = columns.map((c) => t.stepFrames(c.i) * frame);
  const [least, most] = [Math.min(...spans), Math.max(...spans)].map((v) => time(v, 2));
  return least === most ? least : `${least} to ${most}, four steps of each`;
}

export const flowSpecs = {
  flows: (m) =>
    ratesSpec(m, 'flows', 'Goodput by flow', 'flows', 'bytes', {
      mean: 'acknowledged payload, which comes in steps',
      empty: 'The timeline has no flows: nothing was acknowledged, or the file has no timeline.',
    }),
  hosts: (m) =>
    ratesSpec(m, 'hosts', 'Hosts: sent, on the line', 'hosts', 'tx_bytes', {
      onLine: true,
      mean: 'frames with their 24 bytes of overhead',
      empty: 'The timeline has no hosts.',
    }),
  goodput: (m) =>
    ratesSpec(m, 'goodput', 'Hosts: goodput received', 'hosts', 'goodput_bytes', {
      mean: 'payload received',
      empty: 'The timeline has no goodput of hosts.',
    }),
  cnps: (m) =>
    ratesSpec(m, 'cnps', 'Hosts: CNPs received per second', 'hosts', 'cnps_received', {
      scale: 1e9,
      unit: 'per_s',
      empty: 'No host received a CNP.',
    }),
};

export function flowsView(app) {
  return app.model.live ? liveFlows(app) : labFlows(app);
}

function labFlows(app) {
  const { model } = app,
    { report } = model;
  const charts = new Charts(app);
  const flows = new RowTable({
    id: 'flows',
    title: `Flows${atTheEnd(model)}`,
    empty: 'The report has no flows.',
    columns: [
      { key: 'name', head: 'flow' },
      'connections',
      { key: 'goodput_bps', head: 'goodput (mean of the run)' },
      'operations',
      'done_ns',
      ...['p50', 'p99', 'max'].map((q) => ({
        key: `fct_${q}`,
        head: `FCT ${q}`,
        cell: (r) => [value(r.fct_ns?.[q], 'ns', 4), true],
      })),
      ...['p50', 'p99'].map((q) => ({
        key: `slowdown_${q}`,
        head: `slowdown ${q}`,
        cell: (r) => [value(r.slowdown?.[q], '', 4), true],
      })),
    ],
  });
  flows.set(report.flows ?? []);
  const hosts = new RowTable({
    id: 'hosts',
    title: `Hosts${atTheEnd(model)}`,
    sort: { key: 'tx_bytes', down: true },
    empty: 'The report has no hosts.',
    columns: [
      'name',
      'speed_bps',
      { key: 'tx_bps', head: 'tx rate on the line (mean of the run)' },
      { key: 'goodput_bps', head: 'goodput (mean of the run)' },
      'messages_completed',
      'ce_marked',
      'cnps_sent',
      'cnps_received',
      'rate_cuts',
      'rx_pause_duration_us',
      'tx_pause_duration_us',
      'retransmissions',
      'timeouts',
      'rx_dropped',
    ],
  });
  hosts.set(report.hosts ?? []);
  const pairs = new RowTable({
    id: 'pairs',
    title: `Queue pairs that switches know${atTheEnd(model)}`,
    empty: 'No flow table: switch.flows is off.',
    columns: [
      'switch',
      'flows',
      'made',
      'refused',
      'paired',
      'dropped',
      'wrong_port',
      {
        key: 'by_source',
        cell: (r) => [
          Object.entries(r.by_source ?? {})
            .filter(([, n]) => n)
            .map(([k, n]) => `${k} ${n}`)
            .join(', '),
          false,
        ],
      },
    ],
  });
  pairs.set(report.pairs ?? []);
  return {
    el: h(
      'div',
      { class: 'stack' },
      h(
        'div',
        { class: 'two' },
        ['flows', 'hosts', 'goodput', 'cnps'].map((k) => charts.add(() => flowSpecs[k](model)))
      ),
      flows.el,
      hosts.el,
      pairs.el
    ),
    charts,
    timed: true,
    destroy: () => charts.clear(),
  };
}

/** The flow table of a switch holds rates of now; the page keeps those that it has seen. */
function liveFlows(app) {
  const { model } = app;
  const seen = (model.flowRates ??= { xs: [], rows: new Map() });
  const charts = new Charts(app);
  const table = new RowTable({
    id: 'flows',
    title: 'Flows',
    sort: { key: 'rate_bps', down: true },
    columns: [
      'from',
      'to',
      'qp',
      'sender_qp',
      'source',
      'in_port',
      'out_port',
      'class',
      'kind',
      'size',
      'rate_bps',
      'packets',
      'gap_packets',
      'rewinds',
      'ce',
      'cnps_seen',
      'cnps_sent',
      'state',
      'reason',
      'silence',
    ],
  });
  const box = h('div', { class: 'two' });
  const spec = () => {
    const top = [...seen.rows].sort((a, b) => b[1].at(-1) - a[1].at(-1)).slice(0, TOP);
    return {
      id: 'live-flows',
      title: 'Rate by flow',
      unit: 'bps',
      xs: top.length ? seen.xs : [],
      height: 240,
      empty: 'No flow is known.',
      series: top.map(([name, values]) => ({ name, values })),
    };
  };
  const chart = charts.add(spec);
  const rows = () => {
    const flowTable = model.rows(null, 'flow_table'),
      flows = model.rows(null, 'flows');
    table.empty =
      model.why('flows') ??
      (flowTable && flowTable.max === 0
        ? 'No flow table: switch.flows is off.'
        : 'No flow is known: no RoCEv2 frame has come.');
    chart.hidden = !flows?.length && !seen.rows.size;
    const now = model.timeline.times.at(-1) ?? 0;
    if (now < (seen.xs.at(-1) ?? 0)) {
      seen.xs.length = 0; // the switch began anew
      seen.rows.clear();
    }
    if (flows && now > (seen.xs.at(-1) ?? -1)) {
      seen.xs.push(now);
      const keys = new Set(flows.map((f) => f.key));
      for (const f of flows) {
        if (!seen.rows.has(f.key)) seen.rows.set(f.key, new Array(seen.xs.length - 1).fill(0));
        seen.rows.get(f.key).push(f.rate_bps ?? 0);
      }
      for (const [key, values] of seen.rows) if (!keys.has(key)) values.push(0);
      if (seen.xs.length > 600) {
        seen.xs.shift();
        for (const [key, values] of seen.rows) {
          values.shift();
          if (values.every((v) => v === 0)) seen.rows.delete(key);
        }
      }
      charts.update();
    }
    table.set(flows ?? []);
    box.replaceChildren(
      ...[
        ['flow_table', 'The table of flows'],
        ['pairing', 'Which queue pair belongs to a sender'],
      ].flatMap(([k, title]) => (model.rows(null, k) ? [facts(model.rows(null, k), title)] : []))
    );
  };
  return {
    el: h('div', { class: 'stack' }, chart, table.el, box),
    charts,
    needs: ['flows'],
    destroy: () => charts.clear(),
    update: (what) => what !== 'frame' && rows(),
  };
}
