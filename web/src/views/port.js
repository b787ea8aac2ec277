// SPDX-License-Identifier: Apache-2.0
// One port: rates, queues with kmin and kmax, priority groups with XOFF and XON, marks, PAUSE, drops.
import { h, natural } from '../dom.js';
import { value } from '../format.js';
import { RowTable } from '../table.js';
import { atTheEnd, Charts, chips, missing, noPort } from './pieces.js';
import { noSwitch, picker, slot, wrong } from './pieces.js';

const CLASSES = [0, 1, 2, 3, 4, 5, 6, 7];
const COUNTED =
  'The group enters XOFF when min + shared reaches XOFF at, and leaves it at XON at, ' +
  'with no headroom in use.';
const FACTS = { queues: 'length_bytes', pgs: 'shared_bytes' };

/** The share of each interval for which a class was paused. */
export function pausedShares(t, i) {
  const out = t.growth(i);
  for (let k = 1; k < out.length; k++)
    out[k] = Math.min(1, (out[k] * 1000) / (t.times[k] - t.times[k - 1]));
  return out;
}

/** Classes of the port that did anything. */
function activeClasses(model, sw, port) {
  const t = model.timeline,
    found = new Map();
  for (const c of t.columns)
    if (
      c.sw === sw &&
      c.object === port &&
      ['queues', 'pgs', 'pfc'].includes(c.list) &&
      c.fact !== 'xoff_at_bytes' &&
      c.fact !== 'xon_at_bytes'
    )
      found.set(c.index, (found.get(c.index) ?? 0) + c.values.length);
  for (const [list, key] of [
    ['queues', 'queue'],
    ['pgs', 'pg'],
  ])
    if (!model.live)
      for (const r of model.rows(sw, list) ?? [])
        if (r.port === port) found.set(r[key], (found.get(r[key]) ?? 0) + 1);
  return [...found].sort((a, b) => a[0] - b[0]);
}

function lanes(t, sw, port, cls) {
  const shares = (fact) => pausedShares(t, t.find(sw, 'pfc', port, cls, fact));
  return [
    {
      name: 'PAUSE rx',
      shares: shares('rx_pause_duration_us'),
      hatch: '/',
      colour: 'pause',
      text: `PAUSE received, class ${cls}: the peer stops this port`,
    },
    {
      name: 'PAUSE tx',
      shares: shares('tx_pause_duration_us'),
      hatch: '\\',
      colour: 'sent',
      text: `PAUSE sent, class ${cls}: this port stops the peer`,
    },
  ];
}

function rateSpec(model, sw, port, cls) {
  const t = model.timeline;
  const speed = model.speed(sw, port);
  return {
    id: 'rate',
    title: `Rate of ${port} on the line`,
    unit: 'bps',
    xs: t.times,
    lanes: lanes(t, sw, port, cls),
    series: [
      {
        name: 'sent',
        values: t.lineRate(sw, 'ports', port, 'tx'),
        kind: 'step',
      },
      {
        name: 'received',
        values: t.lineRate(sw, 'ports', port, 'rx'),
        kind: 'step',
        fill: ' ',
        colour: 1,
        dash: 0,
      },
      ...(speed
        ? [{ name: 'speed of the port', values: speed, kind: 'mark', colour: 'muted' }]
        : []),
    ],
  };
}

/** kmin and kmax of a queue: as they changed, or as the policy has them. */
function thresholds(model, sw, port, queue) {
  const t = model.timeline;
  const row = (model.rows(sw, 'ecn') ?? []).find(
    (r) =>
      r.port === port &&
      r.queue === queue &&
      (r.color === 'all' || r.color === 'green') &&
      r.wred !== false
  );
  return ['kmin', 'kmax'].flatMap((name, n) => {
    const i = t.find(sw, 'ecn', port, queue, `${name}_bytes`);
    const fixed = row?.[`${name}_bytes`];
    const look = { name, colour: n ? 3 : 2 };
    if (i !== undefined) return [{ ...look, values: t.gauge(i), kind: 'limit' }];
    return fixed ? [{ ...look, values: fixed, kind: 'mark' }] : [];
  });
}

/** Why a queue has no kmin and kmax. */
function noThresholds(model, sw) {
  if (model.rows(sw, 'ecn')) return 'No kmin and kmax: the policy has no WRED for this queue.';
  return model.live
    ? 'No kmin and kmax: the switch has not said its thresholds yet.'
    : 'No kmin and kmax: this file has no settings.';
}

function queueSpec(model, sw, port, cls, classes) {
  const t = model.timeline;
  const series = classes
    .map(([c]) => [c, t.find(sw, 'queues', port, c, FACTS.queues)])
    .filter(([c, i]) => i !== undefined || c === cls)
    .map(([c, i]) => ({
      name: `queue ${c}`,
      values: t.gauge(i),
      colour: c === cls ? 0 : c + 3,
      dash: c === cls ? 0 : 1,
    }));
  const most = (model.rows(sw, 'queues') ?? []).find(
    (r) => r.port === port && r.queue === cls
  )?.max_bytes;
  const limits = thresholds(model, sw, port, cls);
  return {
    id: 'queue',
    title: `Queue ${cls} of ${port}: bytes that wait to leave`,
    unit: 'bytes',
    xs: t.times,
    height: 210,
    lanes: lanes(t, sw, port, cls).slice(0, 1),
    series: [
      ...series,
      ...limits,
      ...(most ? [{ name: 'watermark', values: most, kind: 'mark', colour: 'muted' }] : []),
    ],
    note: limits.length ? null : noThresholds(model, sw),
  };
}

function groupSpec(model, sw, port, cls) {
  const t = model.timeline;
  const find = (fact) => t.find(sw, 'pgs', port, cls, fact);
  const any = ['min_bytes', 'shared_bytes', 'headroom_bytes'].some((f) => find(f) !== undefined);
  const row = (model.rows(sw, 'pgs') ?? []).find((r) => r.port === port && r.pg === cls);
  const xoff = find('xoff') !== undefined ? t.gauge(find('xoff')) : null;
  const counted = t.total([find('min_bytes'), find('shared_bytes')]);
  const limit = (fact, name, c) =>
    find(fact) === undefined
      ? []
      : [{ name, values: t.gauge(find(fact)), kind: 'limit', colour: c }];
  return {
    id: 'group',
    title: `Priority group ${cls} of ${port}: buffer that frames from this port use`,
    unit: 'bytes',
    xs: any ? t.times : [],
    height: 210,
    empty: `No frame of group ${cls} came in by ${port}.`,
    lanes: [
      ...lanes(t, sw, port, cls).slice(1),
      ...(xoff
        ? [
            {
              name: 'XOFF',
              shares: xoff,
              hatch: 'x',
              colour: 'pause',
              text: 'the group is in XOFF',
            },
          ]
        : []),
    ],
    series: [
      // The thresholds count the min cells and the shared ones together.
      { name: 'min + shared', values: counted, colour: 0 },
      { name: 'headroom', values: t.gauge(find('headroom_bytes')), colour: 1, dash: 1 },
      { name: 'min', values: t.gauge(find('min_bytes')), colour: 6, dash: 4 },
      ...limit('xoff_at_bytes', 'XOFF at', 4),
      ...limit('xon_at_bytes', 'XON at', 2),
      ...(row?.max_shared_bytes
        ? [
            {
              name: 'watermark of shared alone',
              values: row.max_shared_bytes,
              kind: 'mark',
              dash: 3,
              colour: 'muted',
            },
          ]
        : []),
    ],
    note: find('xoff_at_bytes') === undefined ? null : COUNTED,
  };
}

function marksSpec(model, sw, port, classes) {
  const t = model.timeline;
  const series = classes.flatMap(([c]) => {
    const i = t.find(sw, 'queues', port, c, 'ecn_marked');
    return i === undefined
      ? []
      : [{ name: `marked, queue ${c}`, values: t.rate(i, 1e9), kind: 'step', colour: c }];
  });
  return {
    id: 'marks',
    title: `ECN marks of ${port} per second`,
    unit: 'per_s',
    xs: series.length ? t.times : [],
    series,
    height: 130,
    empty: 'No frame was marked here.',
  };
}

function pfcSpec(model, sw, port, classes) {
  const t = model.timeline;
  const series = classes.flatMap(([c]) =>
    [
      ['rx_pause', 'received'],
      ['tx_pause', 'sent'],
    ].flatMap(([fact, word]) => {
      const i = t.find(sw, 'pfc', port, c, fact);
      return i === undefined
        ? []
        : [
            {
              name: `${word}, class ${c}`,
              values: t.growth(i),
              kind: 'step',
              fill: word === 'sent' ? '\\' : null,
              colour: c * 2 + (word === 'sent' ? 1 : 0),
            },
          ];
    })
  );
  return {
    id: 'pfc',
    title: `PFC frames of ${port} per interval (XON included)`,
    unit: '',
    xs: series.length ? t.times : [],
    series,
    height: 130,
    empty: 'No PFC frame was sent or received here.',
  };
}

function dropsSpec(model, sw, port) {
  const t = model.timeline;
  const series = t.columns.flatMap((c, i) =>
    c.sw === sw && c.list === 'drops' && c.object === port
      ? [{ name: String(c.index), values: t.growth(i), kind: 'step' }]
      : []
  );
  return {
    id: 'drops',
    title: `Drops of ${port} per interval, by reason`,
    unit: '',
    xs: series.length ? t.times : [],
    series,
    height: 130,
    empty: 'Nothing was dropped here.',
  };
}

/** The spec of one chart of a port, by name: for pictures. */
export function portSpecs(model, sw, port, cls) {
  const classes = activeClasses(model, sw, port);
  return {
    rate: () => rateSpec(model, sw, port, cls),
    queue: () => queueSpec(model, sw, port, cls, classes),
    group: () => groupSpec(model, sw, port, cls),
    marks: () => marksSpec(model, sw, port, classes),
    pfc: () => pfcSpec(model, sw, port, classes),
    drops: () => dropsSpec(model, sw, port),
  };
}

/** The port where most happens: most PAUSE, then the longest queue. */
export function busiest(model, sw) {
  const t = model.timeline,
    score = new Map();
  for (const c of t.columns) {
    if (c.sw !== sw) continue;
    const most = () => c.values.reduce((a, b) => Math.max(a, b), 0);
    if (c.list === 'queues' && c.fact === 'length_bytes')
      score.set(c.object, (score.get(c.object) ?? 0) + most());
  }
  return [...score].sort((a, b) => b[1] - a[1])[0]?.[0] ?? model.ports(sw)[0];
}

export function portView(app, [swArg, portArg, clsArg]) {
  const { model } = app;
  if (!model.switches.length)
    return {
      el: missing(
        model.live ? 'The switch has not said its name yet.' : 'The report has no switches.'
      ),
      update: () => model.live && model.switches.length && app.route(),
    };
  if (noSwitch(model, swArg)) return wrong(noSwitch(model, swArg));
  const sw = swArg ?? model.switches[0];
  const ports = model.ports(sw);
  const known = () => !model.live || (model.rows(sw, 'ports') ?? []).length > 0;
  const port = portArg ?? busiest(model, sw);
  const charts = new Charts(app);
  const place = slot(),
    tables = slot('two');
  const enc = encodeURIComponent;
  const at = ports.indexOf(port);
  const go = (p, c) => app.go(`#/port/${enc(sw)}/${enc(p)}${c === undefined ? '' : `/${c}`}`);
  if (!ports.length && !model.live)
    return { el: missing(`Nothing is known of the ports of ${sw}, and there is no timeline.`) };
  if (known() && noPort(model, sw, port)) return wrong(noPort(model, sw, port));
  if (clsArg !== undefined && !CLASSES.includes(Number(clsArg)))
    return wrong(`There is no class ${clsArg}. Classes are 0 to 7.`);
  const waited = !known();
  let classes = [],
    cls,
    shape = -1,
    built = '';
  const list = {
    queues: make(
      'Queues',
      'queues',
      [
        'queue',
        'class',
        'length_bytes',
        'max_bytes',
        'tx_bps',
        'tx_bytes',
        'ecn_marked',
        'dropped_packets',
        'paused',
      ],
      `No frame left by ${port}.`
    ),
    pgs: make(
      'Priority groups',
      'pgs',
      [
        'pg',
        'class',
        'lossless',
        'min_bytes',
        'shared_bytes',
        {
          key: 'counted_bytes',
          head: 'min + shared',
          cell: (r) => [value((r.min_bytes ?? 0) + (r.shared_bytes ?? 0), 'bytes', 4), true],
        },
        'headroom_bytes',
        'xoff_at_bytes',
        'xon_at_bytes',
        'max_shared_bytes',
        'max_headroom_bytes',
        'dropped_packets',
      ],
      `No frame came in by ${port}.`
    ),
    pfc: make(
      'PFC',
      'pfc',
      [
        'class',
        { key: 'rx_pause', head: 'PFC frames received' },
        { key: 'rx_pause_transition', head: 'times the peer paused it' },
        { key: 'rx_pause_duration_us', head: 'paused for' },
        { key: 'rx_pause_longest_us', head: 'longest' },
        { key: 'tx_pause', head: 'PFC frames sent' },
        { key: 'tx_pause_transition', head: 'times it paused the peer' },
        { key: 'tx_pause_duration_us', head: 'paused the peer for' },
        { key: 'tx_pause_longest_us', head: 'longest' },
        'xoff',
      ],
      'No PFC frame was sent or received here.'
    ),
    drops: make(
      'Drops by reason',
      'drops',
      ['class', 'reason', 'packets', 'bytes', 'lossless'],
      'Nothing was dropped here.'
    ),
  };
  function make(title, id, columns, empty) {
    const when = atTheEnd(model);
    return new RowTable({ id, title: `${title} of ${port}${when}`, columns, empty, filter: false });
  }

  /** Which charts and classes there are: where they stay, new columns build nothing anew. */
  function signature() {
    const found = activeClasses(model, sw, port);
    const specs = portSpecs(model, sw, port, cls ?? 3);
    return JSON.stringify([
      found.map(([c]) => c),
      Object.values(specs).map((make) => make().xs.length > 0),
    ]);
  }

  function build() {
    shape = model.timeline.shape;
    built = signature();
    classes = activeClasses(model, sw, port);
    const busy = [...classes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 3;
    cls = clsArg === undefined ? busy : Number(clsArg);
    charts.clear();
    const specs = portSpecs(model, sw, port, cls);
    const peer = model.peer(sw, port);
    const head = h(
      'div',
      { class: 'controls' },
      h(
        'span',
        { class: 'crumbs' },
        model.live ? sw : h('a', { href: `#/fabric/${enc(sw)}` }, sw),
        ' / ',
        port
      ),
      model.switches.length > 1
        ? picker('switch', model.switches, sw, (v) => app.go(`#/port/${enc(v)}`))
        : null,
      picker('port', ports, port, (v) => go(v, clsArg)),
      h(
        'button',
        { type: 'button', disabled: at <= 0, onclick: () => go(ports[at - 1], clsArg) },
        '‹ before'
      ),
      h(
        'button',
        {
          type: 'button',
          disabled: at >= ports.length - 1,
          onclick: () => go(ports[at + 1], clsArg),
        },
        'next ›'
      ),
      h('label', {}, 'class'),
      chips(
        (classes.length ? classes : [[cls]]).map(([c]) => [c, String(c)]),
        cls,
        (c) => go(port, c),
        'class'
      ),
      h(
        'span',
        { class: 'note' },
        [
          model.speed(sw, port) && value(model.speed(sw, port), 'bps'),
          peer && !model.live && `to ${peer.filter(Boolean).join(' ')}`,
        ]
          .filter(Boolean)
          .join(' · ')
      )
    );
    const names = ['rate', 'queue', 'group', 'marks', 'pfc', 'drops'];
    const empty = names.filter((n) => !specs[n]().xs.length);
    const wide = names.filter((n) => !empty.includes(n)).map((n) => charts.add(specs[n]));
    const nothing = empty.length
      ? h('p', { class: 'panel note' }, empty.map((n) => specs[n]().empty).join(' '))
      : null;
    place.set(
      head,
      model.hasTimeline && model.timeline.length
        ? [h('div', { class: 'two' }, wide), nothing]
        : missing(
            model.live
              ? 'The switch has sent no frame yet.'
              : 'This file has no timeline, so there are no charts. report.html of weir-lab has one.'
          )
    );
  }

  function rows() {
    for (const [name, table] of Object.entries(list)) {
      const all = model.rows(sw, name);
      if (all === null && model.live && model.why(name)) table.empty = model.why(name);
      const mine = (all ?? []).filter((r) => r.port === port);
      table.set(mine.sort((a, b) => natural(String(a.reason ?? ''), String(b.reason ?? ''))));
    }
  }
  build();
  tables.set(list.queues.el, list.pgs.el, list.pfc.el, list.drops.el);
  rows();
  return {
    el: h('div', { class: 'stack' }, place.el, tables.el),
    charts,
    timed: true,
    needs: ['queues', 'pgs', 'pfc', 'drops', 'ecn'],
    destroy: () => charts.clear(),
    update: (what) => {
      if (what === 'rows' || what === 'all') rows();
      if (waited && known() && noPort(model, sw, port)) return app.route();
      if (what !== 'frame' && what !== 'rows') return;
      if (shape !== model.timeline.shape) {
        shape = model.timeline.shape;
        if (signature() !== built) return build();
      }
      if (what === 'frame') charts.update();
    },
  };
}
