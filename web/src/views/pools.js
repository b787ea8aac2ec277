// SPDX-License-Identifier: Apache-2.0
// The buffer of a switch: its pools as a stack, and who uses them.
import { h, natural } from '../dom.js';
import { value } from '../format.js';
import { RowTable } from '../table.js';
import { atTheEnd, Charts, missing, noSwitch, picker, slot, wrong } from './pieces.js';

const MOST_GROUPS = 7;
// The ingress pool, the headroom and the min cells of groups are the buffer. The egress pools count
// the same cells once more.
export const STACKS = [
  ['buffer', 'Buffer: ingress pool, headroom, min cells', ['ingress', 'headroom']],
  [
    'egress',
    'The same cells by what they wait for: egress pools',
    ['egress_lossless', 'egress_lossy'],
  ],
];

export function poolSpec(model, sw, [id, title, names]) {
  const t = model.timeline;
  const rows = model.rows(sw, 'pools') ?? [];
  const size = (n) => {
    const i = t.find(sw, 'pools', n, null, 'size_bytes');
    return i === undefined
      ? (rows.find((r) => r.name === n)?.size_bytes ?? 0)
      : t.at(i, t.length - 1);
  };
  const known = names.filter(
    (n) =>
      t.find(sw, 'pools', n, null, 'used_bytes') !== undefined || rows.some((r) => r.name === n)
  );
  const most = known
    .map((n) => [n, rows.find((r) => r.name === n)?.max_bytes])
    .filter(([, v]) => v);
  const whole = model.rows(sw, 'buffer')?.size_bytes;
  const limits = limitsOf(id, known, size, whole);
  const sizes = [
    ...(whole ? [['the buffer', whole]] : []),
    ...known.map((n) => [`pool ${n}`, size(n)]),
  ].filter(([, v]) => v > 0);
  const words = (list) => list.map(([n, v]) => `${n} ${value(v, 'bytes', 4)}`).join(', ');
  return {
    id,
    title: `${title}, ${sw}`,
    unit: 'bytes',
    xs: known.length ? t.times : [],
    stacked: true,
    height: 230,
    empty: 'The timeline has no pools.',
    series: [
      ...known.map((n) => ({
        name: n,
        values: t.gauge(t.find(sw, 'pools', n, null, 'used_bytes')),
      })),
      // The cells below `min` of a group are in no ingress pool.
      ...(id === 'buffer' && known.length
        ? [{ name: 'min cells of the groups', values: t.total(minCells(t, sw)) }]
        : []),
      ...limits.filter((l) => l.values > 0),
    ],
    note:
      [sizes.length && `sizes: ${words(sizes)}`, most.length && `used at most: ${words(most)}`]
        .filter(Boolean)
        .join('; ') || null,
  };
}

const minCells = (t, sw) =>
  t.columns.flatMap((c, i) =>
    c.sw === sw && c.list === 'pgs' && c.fact === 'min_bytes' ? [i] : []
  );

function limitsOf(id, known, size, whole) {
  if (id !== 'buffer')
    return known.map((n, i) => ({
      name: `size of ${n}`,
      values: size(n),
      kind: 'mark',
      colour: i,
      dash: 2 + i,
    }));
  const both = known.reduce((a, n) => a + size(n), 0);
  return [
    { name: 'size of ingress pool', values: size('ingress'), kind: 'mark', colour: 0 },
    whole
      ? { name: 'size of the buffer', values: whole, kind: 'mark', colour: 'muted', dash: 1 }
      : {
          name: 'size of ingress pool and headroom',
          values: both,
          kind: 'mark',
          colour: 'muted',
          dash: 1,
        },
  ];
}

export function usersSpec(model, sw) {
  const t = model.timeline,
    by = new Map();
  for (const [i, c] of t.columns.entries()) {
    if (
      c.sw !== sw ||
      c.list !== 'pgs' ||
      !['min_bytes', 'shared_bytes', 'headroom_bytes'].includes(c.fact)
    )
      continue;
    const key = `${c.object} group ${c.index}`;
    const e = by.get(key) ?? { name: key, columns: [], score: 0 };
    e.columns.push(i);
    e.score += c.values.reduce((a, b) => Math.max(a, b), 0);
    by.set(key, e);
  }
  const ranked = [...by.values()].sort((a, b) => b.score - a.score || natural(a.name, b.name));
  const top = ranked.slice(0, MOST_GROUPS);
  const rest = ranked.slice(MOST_GROUPS);
  return {
    id: 'users',
    title: `Who uses the buffer: priority groups of ${sw} (min, shared and headroom)`,
    unit: 'bytes',
    xs: top.length ? t.times : [],
    stacked: true,
    height: 260,
    empty: 'No frame waited in this buffer.',
    series: [
      ...top.map((e) => ({ name: e.name, values: t.total(e.columns) })),
      ...(rest.length
        ? [
            {
              name: `${rest.length} others`,
              colour: 'muted',
              values: t.total(rest.flatMap((e) => e.columns)),
            },
          ]
        : []),
    ],
  };
}

export function poolsView(app, [swArg]) {
  const { model } = app;
  if (!model.switches.length)
    return {
      el: missing('No switch is known.'),
      update: () => model.live && model.switches.length && app.route(),
    };
  if (noSwitch(model, swArg)) return wrong(noSwitch(model, swArg));
  const sw = swArg ?? model.switches[0];
  const charts = new Charts(app);
  const place = slot();
  const pools = new RowTable({
    id: 'pools',
    title: `Pools of ${sw}${atTheEnd(model)}`,
    filter: false,
    empty: 'No pools are known.',
    columns: ['name', 'size_bytes', 'used_bytes', 'max_bytes'],
  });
  const groups = new RowTable({
    id: 'pgs',
    title: `Priority groups of ${sw}${atTheEnd(model)}`,
    empty: 'No frame waited in this buffer.',
    sort: { key: 'max_shared_bytes', down: true },
    columns: [
      'port',
      'pg',
      'lossless',
      'min_bytes',
      'shared_bytes',
      'headroom_bytes',
      'max_shared_bytes',
      'max_headroom_bytes',
      'dropped_packets',
    ],
  });
  let drawn = false;
  const build = () => {
    drawn = model.timeline.length > 0;
    charts.clear();
    place.set(
      h(
        'div',
        { class: 'controls' },
        h('span', { class: 'crumbs' }, `Buffer of ${sw}`),
        model.switches.length > 1
          ? picker('switch', model.switches, sw, (v) => app.go(`#/pools/${encodeURIComponent(v)}`))
          : null
      ),
      model.timeline.length
        ? [
            h(
              'div',
              { class: 'two' },
              STACKS.map((st) => charts.add(() => poolSpec(model, sw, st)))
            ),
            charts.add(() => usersSpec(model, sw)),
          ]
        : missing('There is no timeline, so there are no charts.')
    );
  };
  const rows = () => {
    pools.set(model.rows(sw, 'pools') ?? []);
    groups.set(model.rows(sw, 'pgs') ?? []);
  };
  build();
  rows();
  return {
    el: h('div', { class: 'stack' }, place.el, h('div', { class: 'two' }, pools.el, groups.el)),
    charts,
    timed: true,
    needs: ['pools', 'pgs', 'buffer'],
    destroy: () => charts.clear(),
    update: (what) => {
      if (what === 'rows' || what === 'all') rows();
      if (!drawn) build();
      else if (what === 'frame') charts.update();
    },
  };
}
