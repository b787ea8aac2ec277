// SPDX-License-Identifier: Apache-2.0
// Notifications (CNPs) that switches sent, and why.
import { h, replace } from '../dom.js';
import { cell, integer, time, value } from '../format.js';
import { RowTable, facts } from '../table.js';
import { atTheEnd } from './pieces.js';

const QUADRANT = {
  none: 'shallow and shrinking: nobody is told',
  'few, growing': 'shallow and growing: a few flows are told',
  'few, shrinking': 'deep and shrinking: a few flows are told',
  many: 'deep and growing: many flows are told',
};
const SOURCE = {
  static: 'an operator entered it',
  cm: 'connection management named it',
  read: 'a READ showed it',
  ack: 'ACKs showed it',
  cnp: "a receiver's CNP showed it",
};

/** One CNP in sentences. */
export function explain(c) {
  return h(
    'article',
    {},
    h(
      'div',
      {},
      h('b', {}, `CNP ${c.seq}`),
      ` · ${time(c.t_ns, 6)} · to ${c.from} queue pair ${cell('qp', c.sender_qp)[0]}, by ${c.left_by}`
    ),
    h(
      'div',
      {},
      `Queue ${c.queue} of ${c.port} held ${value(c.length_bytes, 'bytes')} (kmin ${value(c.kmin_bytes, 'bytes')}, kmax ${value(c.kmax_bytes, 'bytes')}), ` +
        `${c.trend_bytes >= 0 ? '+' : '−'}${value(Math.abs(c.trend_bytes), 'bytes')} in ${value(c.dt_ns, 'ns')}; its memory was at ${value(c.threshold_percent, 'percent')} of the threshold.`
    ),
    h(
      'div',
      {},
      `Quadrant ${c.quadrant}${QUADRANT[c.quadrant] ? `: ${QUADRANT[c.quadrant]}` : ''}. Its flows were too fast by ${value(c.excess_bps, 'bps')} of ${value(c.queue_bps, 'bps')}.`
    ),
    h(
      'div',
      {},
      `This flow to ${c.to} queue pair ${cell('qp', c.qp)[0]} has rank ${c.rank} with ${value(c.flow_bps, 'bps')} (${value(c.share_percent, 'percent')}); ${integer(c.told)} ${c.told === 1 ? 'flow was' : 'flows were'} told. ` +
        `Its sender's queue pair is known: ${SOURCE[c.source] ?? c.source}.`
    )
  );
}

export function cnpsView(app) {
  const { model } = app;
  if (!model.live) return labCnps(model);
  const list = h('div', { class: 'explain' }),
    head = h('div', { class: 'two' });
  const table = new RowTable({
    id: 'ipcc',
    title: 'Congested queues for which the switch sends CNPs',
    empty: 'Notifications are off: no queue has switch.ipcc on.',
    filter: false,
  });
  const records = new RowTable({
    id: 'cnps',
    title: 'CNPs of the switch',
    sort: { key: 'seq', down: true },
    columns: [
      'seq',
      't_ns',
      'from',
      'to',
      'sender_qp',
      'source',
      'left_by',
      'port',
      'queue',
      'quadrant',
      'length_bytes',
      'threshold_percent',
      'trend_bytes',
      'excess_bps',
      'flow_bps',
      'rank',
      'told',
    ],
  });
  let last = '';
  return {
    el: h(
      'div',
      { class: 'stack' },
      table.el,
      h('section', { class: 'panel' }, h('h3', {}, 'The latest, explained'), list),
      records.el,
      head
    ),
    needs: ['cnps', 'ipcc'],
    update: (what) => {
      if (what === 'frame') return;
      table.set(model.rows(null, 'ipcc') ?? []);
      const cnps = model.rows(null, 'cnps') ?? [];
      const text = JSON.stringify(cnps.slice(-1)) + model.why('cnps');
      if (text === last) return;
      last = text;
      records.empty =
        model.why('cnps') ??
        'The switch itself has sent no CNP. CNPs of hosts (DCQCN): cnps seen in Flows.';
      records.set([...cnps]);
      const latest = [...cnps].sort((a, b) => b.seq - a.seq).slice(0, 8);
      replace(
        list,
        latest.length ? latest.map(explain) : h('p', { class: 'missing' }, records.empty)
      );
    },
  };
}

function labCnps(model) {
  const { report } = model;
  const rows = report.notifications ?? [];
  const kept = Array.isArray(report.cnps)
    ? report.cnps
    : Array.isArray(model.data.cnps)
      ? model.data.cnps
      : [];
  const table = new RowTable({
    id: 'notifications',
    title: `Notifications by congested queue${atTheEnd(model)}`,
    empty:
      'No switch sent a CNP: notifications (switch.ipcc) are off, or no queue grew above kmin. ' +
      'CNPs of hosts (DCQCN) are in Flows.',
    columns: [
      'switch',
      'port',
      'queue',
      'cnps_sent',
      'told',
      'looks_none',
      'looks_growing',
      'looks_shrinking',
      'looks_many',
      'looks_muted',
      'cnps_late',
      'cnps_wrong',
      'spared',
      { key: 'by_source', head: 'queue pair known by', cell: (r) => [named(r.by_source), false] },
    ],
  });
  table.set(rows);
  const el = h('div', { class: 'stack' }, table.el);
  if (rows.length)
    el.append(
      h(
        'section',
        { class: 'panel' },
        h('h3', {}, 'In words'),
        h('div', { class: 'explain' }, rows.slice(0, 40).map(inWords))
      )
    );
  if (kept.length)
    el.append(
      h(
        'section',
        { class: 'panel' },
        h('h3', {}, 'CNPs, explained'),
        h('div', { class: 'explain' }, kept.slice(0, 50).map(explain))
      )
    );
  if (report.pairs?.length)
    for (const p of report.pairs) el.append(facts(p, `Queue pairs at ${p.switch}`));
  const changes = new RowTable({
    id: 'auto',
    title: 'Changes of auto ECN',
    empty: 'Auto ECN is off, or changed nothing.',
    columns: [
      't_ns',
      'switch',
      'port',
      'class',
      'mode',
      'why',
      { key: 'before', head: 'kmin, kmax before', cell: (r) => [pair(r.before), false] },
      { key: 'after', head: 'kmin, kmax after', cell: (r) => [pair(r.after), false] },
    ],
  });
  changes.set(report.auto_ecn_changes ?? []);
  el.append(changes.el);
  return { el };
}

const pair = (x) =>
  x ? `${value(x.kmin_bytes, 'bytes')}, ${value(x.kmax_bytes, 'bytes')}, ${x.pmax_percent} %` : '–';
const named = (x) =>
  Object.entries(x ?? {})
    .filter(([, n]) => n)
    .map(([k, n]) => `${k} ${integer(n)}`)
    .join(', ') || '–';

function inWords(r) {
  const silent = named(r.silences);
  return h(
    'article',
    {},
    h('b', {}, `${r.switch} ${r.port} queue ${r.queue}`),
    h(
      'div',
      {},
      `The switch sent ${integer(r.cnps_sent)} CNPs. It looked at the queue ` +
        `${integer(r.looks_none)} times while it was shallow and shrank (nobody was told), ${integer(r.looks_growing)} times while it was shallow and grew, ${integer(r.looks_shrinking)} times while it was deep and shrank (a few flows were told), ` +
        `and ${integer(r.looks_many)} times while it was deep and grew (many were told).`
    ),
    h(
      'div',
      {},
      silent === '–' ? 'No flow was left out.' : `Flows that were not told, by reason: ${silent}.`
    )
  );
}
