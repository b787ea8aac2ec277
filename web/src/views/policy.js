// SPDX-License-Identifier: Apache-2.0
// The policy as it stands, with the numbers that the switch has made of it.
import { h, replace } from '../dom.js';
import { RowTable, facts } from '../table.js';
import { noSwitch, picker, wrong } from './pieces.js';

const LISTS = [
  ['ecn', 'WRED and ECN by queue: kmin, kmax, pmax'],
  ['pg_config', 'Priority groups: min, alpha, headroom; XOFF and XON of min + shared'],
  ['pfc_status', 'PFC by port and class'],
  ['qos', 'Maps from DSCP and PCP to class, queue and group'],
  ['watchdog', 'PFC watchdog'],
  ['ecn_auto', 'Auto ECN'],
  ['vlan', 'VLANs'],
];

/** A map such as DSCP to class: [0, 0, 3, 3] is "0-1 to 0, 2-3 to 3". */
export function mapWords(list) {
  const runs = [];
  list.forEach((v, i) => {
    const last = runs.at(-1);
    if (last && last.v === v) last.to = i;
    else runs.push({ v, from: i, to: i });
  });
  return runs.map((r) => `${r.from === r.to ? r.from : `${r.from}-${r.to}`} to ${r.v}`).join(', ');
}

const MAPS = ['dscp_to_class', 'pcp_to_class', 'class_to_queue', 'class_to_pg'];
const withMaps = (r) => {
  const out = { ...r };
  for (const k of MAPS) if (Array.isArray(r[k])) out[k] = mapWords(r[k]);
  return out;
};

const CURVE = [
  'kmin_bytes',
  'kmax_bytes',
  'pmax_percent',
  'weight',
  'mark_at',
  'above_kmax',
  'not_ect',
];

/** A queue without WRED has no curve. */
const curved = (r) =>
  r.wred === false ? { ...r, ...Object.fromEntries(CURVE.map((k) => [k, null])) } : r;

/** The thresholds that the switch has made of the settings of a group. They are highest while the
 *  pool is empty: at rest. */
function withThresholds(model, sw, r) {
  const t = model.timeline;
  const out = { ...r };
  for (const name of ['xoff', 'xon']) {
    const i = t.find(sw, 'pgs', r.port, r.pg, `${name}_at_bytes`);
    if (model.live) out[`${name}_now_bytes`] = i === undefined ? null : t.at(i, t.length - 1);
    else
      out[`${name}_at_rest_bytes`] =
        i === undefined ? null : t.columns[i].values.reduce((a, b) => Math.max(a, b), 0);
  }
  return out;
}

/** Ports with the same settings share a row. */
export function grouped(rows) {
  const by = new Map();
  for (const r of rows) {
    const { port, ...rest } = withMaps(r);
    const key = JSON.stringify(rest);
    if (!by.has(key)) by.set(key, { ports: [], rest });
    by.get(key).ports.push(port);
  }
  return [...by.values()].map(({ ports, rest }) => ({ ports: ranges(ports), ...rest }));
}

/** p1, p2, p3, p7: p1-p3, p7 */
export function ranges(names) {
  const out = [];
  for (const name of names) {
    const m = /^(.*?)(\d+)$/.exec(String(name));
    const last = out.at(-1);
    if (m && last && last.stem === m[1] && last.to + 1 === Number(m[2])) last.to++;
    else
      out.push(m ? { stem: m[1], from: Number(m[2]), to: Number(m[2]) } : { stem: String(name) });
  }
  return out
    .map((r) =>
      r.from === undefined
        ? r.stem
        : r.from === r.to
          ? `${r.stem}${r.from}`
          : `${r.stem}${r.from}-${r.stem}${r.to}`
    )
    .join(', ');
}

function rowsOf(model, sw, id) {
  const rows = model.rows(sw, id);
  if (!Array.isArray(rows)) return rows;
  if (id === 'ecn') return rows.map(curved);
  return id === 'pg_config' ? rows.map((r) => withThresholds(model, sw, r)) : rows;
}

export function policyView(app, [swArg]) {
  const { model } = app;
  if (noSwitch(model, swArg)) return wrong(noSwitch(model, swArg));
  const sw = swArg ?? model.switches[0];
  const top = h('div', { class: 'stack' });
  const tables = new Map(LISTS.map(([id, title]) => [id, new RowTable({ id, title })]));
  const empty = {
    ecn: 'No queue is in use.',
    vlan: 'There are no VLANs.',
    ecn_auto: 'Auto ECN is off.',
    watchdog: 'No class has a watchdog.',
  };
  let last = '';
  const draw = () => {
    const data = LISTS.map(([id]) => rowsOf(model, sw, id)),
      buffer = model.rows(sw, 'buffer');
    const whys = model.live ? [...LISTS.map(([id]) => model.why(id)), model.why('buffer')] : [];
    const text = JSON.stringify([data, buffer, whys]);
    if (text === last) return;
    last = text;
    replace(
      top,
      h(
        'div',
        { class: 'controls' },
        h('span', { class: 'crumbs' }, `Policy of ${sw ?? 'no switch'}`),
        model.switches.length > 1
          ? picker('switch', model.switches, sw, (v) => app.go(`#/policy/${encodeURIComponent(v)}`))
          : null,
        model.live && model.rows(null, 'version')
          ? h('span', { class: 'note' }, model.rows(null, 'version').policy_file ?? '')
          : null
      ),
      buffer
        ? facts(buffer, 'The buffer')
        : h(
            'p',
            { class: 'panel missing' },
            model.live
              ? (model.why('buffer') ?? 'The switch has not answered yet.')
              : 'This file has no settings of this switch.'
          )
    );
    LISTS.forEach(([id], i) => {
      const table = tables.get(id);
      const none = data[i] === null || data[i] === undefined;
      table.empty = none
        ? model.live
          ? (model.why(id) ?? 'The switch has not answered yet.')
          : 'This file does not have it.'
        : (empty[id] ?? 'There are no rows.');
      table.el.hidden = none && !model.live;
      table.set(
        Array.isArray(data[i])
          ? data[i].some((r) => r.port !== undefined)
            ? grouped(data[i])
            : data[i]
          : []
      );
    });
  };
  draw();
  return {
    el: h(
      'div',
      { class: 'stack' },
      top,
      [...tables.values()].map((t) => t.el),
      model.live
        ? null
        : h(
            'p',
            { class: 'panel note' },
            'XOFF and XON at rest are the highest thresholds of the run: ' +
              'they fall as the pool fills.'
          )
    ),
    needs: ['ecn', 'pg_config', 'pfc_status', 'qos', 'watchdog', 'ecn_auto', 'vlan', 'buffer'],
    update: (what) => what !== 'frame' && draw(),
  };
}
