// SPDX-License-Identifier: Apache-2.0
// A run of the lab: its verdict, its expectations, its tables.
import { h, put } from '../dom.js';
import { integer, time, value } from '../format.js';
import { RowTable, textTable, verdict } from '../table.js';

const tile = (label, text, bad) =>
  h('div', { class: bad ? 'tile bad' : 'tile' }, h('b', {}, text), h('span', {}, label));

export function runView(app) {
  const { model } = app,
    { report, data } = model;
  const expectations = report.expectations ?? [];
  const failed = expectations.filter((e) => e.passed === false).length;
  const el = h('div', { class: 'stack' });
  const pauses = (report.switches ?? []).reduce(
    (n, x) => n + (x.pfc ?? []).reduce((m, p) => m + (p.tx_pause_transition ?? 0), 0),
    0
  );
  const marked = (report.switches ?? []).reduce(
    (n, x) => n + (x.queues ?? []).reduce((m, q) => m + (q.ecn_marked ?? 0), 0),
    0
  );
  const goodput = (report.flows ?? []).reduce((n, f) => n + (f.goodput_bps ?? 0), 0);
  put(
    el,
    h(
      'section',
      { class: 'panel' },
      h('h2', {}, model.title),
      data.description ? h('p', { class: 'description' }, data.description) : null,
      Object.keys(report.params ?? {}).length
        ? h(
            'p',
            { class: 'note' },
            'params: ',
            Object.entries(report.params)
              .map(([k, v]) => `${k} = ${v}`)
              .join(', ')
          )
        : null
    )
  );
  put(
    el,
    h(
      'div',
      { class: 'tiles' },
      tile(
        'expectations hold',
        `${expectations.length - failed} of ${expectations.length}`,
        failed > 0
      ),
      tile('simulated', time(report.end_ns ?? 0)),
      tile('goodput of all flows', value(goodput, 'bps')),
      tile('times a switch paused a peer', integer(pauses)),
      tile('frames marked (ECN)', integer(marked)),
      tile(
        'lossless frames dropped',
        integer(report.lossless_drops ?? 0),
        report.lossless_drops > 0
      ),
      tile(
        'every frame accounted for',
        report.balanced === undefined ? 'not said' : report.balanced ? 'yes' : 'no',
        report.balanced === false
      ),
      tile('hosts, switches', `${(report.hosts ?? []).length}, ${(report.switches ?? []).length}`)
    )
  );
  for (const w of report.warnings ?? [])
    put(
      el,
      h(
        'p',
        { class: 'panel' },
        h('b', { class: 'sev-warning' }, 'warning '),
        typeof w === 'string' ? w : (w.text ?? JSON.stringify(w))
      )
    );
  const table = new RowTable({
    id: 'expectations',
    title: 'Expectations',
    filter: false,
    empty: 'The scenario has no expectations.',
    columns: [
      {
        key: 'passed',
        head: 'verdict',
        cell: (r) => [r.known === false ? 'not known' : verdict(r.passed), false],
      },
      'expectation',
      'expected',
      'measured',
      { key: 'line', head: 'line of the file' },
    ],
  });
  table.set(expectations);
  put(el, table.el);
  const shown = (data.tables ?? []).filter((t) => t?.title !== 'expectations');
  if (data.tables) put(el, h('div', { class: 'two' }, shown.map(textTable)));
  else put(el, rawTables(report));
  if (data.text)
    put(
      el,
      h(
        'section',
        { class: 'panel' },
        h('h3', {}, 'Head and foot, as weir-lab prints them'),
        data.text.head ? h('pre', {}, data.text.head) : null,
        data.text.foot ? h('pre', {}, data.text.foot) : null
      )
    );
  return { el };
}

/** Of a report.json alone. */
function rawTables(report) {
  const make = (title, rows) => {
    const t = new RowTable({ title, columns: undefined });
    t.set(rows);
    return t.el;
  };
  return ['hosts', 'flows'].filter((k) => report[k]?.length).map((k) => make(k, report[k]));
}
