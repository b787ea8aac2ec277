// SPDX-License-Identifier: Apache-2.0
// The fabric, the chain of each cause of PAUSE, and the ports of a switch.
import { Fabric, PortColumns, direction } from '../fabric.js';
import { h, replace, s } from '../dom.js';
import { time, value } from '../format.js';
import { RowTable } from '../table.js';
import { noSwitch, wrong } from './pieces.js';

const TABLE_MS = 250;

const portLink = (sw, port) =>
  h('a', { href: `#/port/${encodeURIComponent(sw)}/${encodeURIComponent(port)}` }, port);

/** The queues behind PAUSE that has no other cause. */
function congested(queues) {
  const names = queues
    .map((q) => `${q.switch}.${q.port}.${q.class}${q.tx_off ? ' (tx_off)' : ''}`)
    .join(', ');
  return names === ''
    ? 'Where there was PAUSE, ports were offered more than they send.'
    : `More than their ports send was offered to these queues, those behind most PAUSE first: ${names}.`;
}

/** What report.why (lab) or `show causes` (live) says, in one form. */
export function causesOf(model) {
  if (!model.live)
    return (model.report.why ?? []).map((w) => ({
      text: w.chain,
      kind: w.kind === 'deadlock' ? 'deadlock' : (w.reason ?? w.kind),
      from: w.first_ns,
      to: w.at_the_end ? Infinity : w.last_ns,
      detail: `longest ${time(w.longest_ns)}, ${w.times} ${w.times === 1 ? 'time' : 'times'}, from ${time(w.first_ns)} to ${w.at_the_end ? 'the end' : time(w.last_ns)}`,
      chain: { places: w.queues ?? [], host: w.host, reason: w.reason },
    }));
  return (model.rows(model.name, 'causes') ?? []).map((c) => {
    const chain = [c.chain ?? []].flat();
    const places = chain
      .map((x) => /^(.+):(\d)$/.exec(x))
      .filter(Boolean)
      .map((m) => ({ switch: model.name, port: m[1], class: Number(m[2]) }));
    const port = places.at(-1)?.port;
    return {
      text:
        `${c.port} class ${c.class}: ${c.now ? 'its sender is paused' : 'its sender was paused'}` +
        (c.cause_port
          ? ` because ${c.cause_port} class ${c.cause_class} holds ${value(c.held_bytes, 'bytes')} of its buffer`
          : ''),
      kind: c.ends,
      from: 0,
      to: c.now ? Infinity : 0,
      detail:
        `chain ${chain.join(' <- ')}; it ends at: ${c.ends}` +
        (c.pause_us ? `; paused for ${value(c.pause_us, 'us')}` : ''),
      chain: {
        places: places.slice(1),
        host: c.ends === 'peer' && port ? `peer of ${port}` : null,
        reason: c.ends,
      },
    };
  });
}

export function fabricView(app, [selected]) {
  const { model } = app;
  if (noSwitch(model, selected)) return wrong(noSwitch(model, selected));
  const first = model.live ? null : model.report.why?.[0]?.queues?.at(-1)?.switch;
  let open = [selected, first, model.switches[0]].find((n) => model.switches.includes(n)) ?? null;
  const fabric = new Fabric(model, (kind, name, port) => {
    if (kind === 'switch') choose(name);
    else if (kind === 'link')
      app.go(`#/port/${encodeURIComponent(name)}/${encodeURIComponent(port)}`);
    else {
      const link = model.topology.links.find((l) => l.a[0] === name || l.b[0] === name);
      const other = link && (link.a[0] === name ? link.b : link.a);
      if (other) app.go(`#/port/${encodeURIComponent(other[0])}/${encodeURIComponent(other[1])}`);
    }
  });
  const causes = h('div', { class: 'causes' });
  const table = new RowTable({
    id: 'ports',
    title: 'Ports',
    sort: { key: 'port' },
    empty: 'Choose a switch in the drawing.',
    columns: [
      { key: 'port', cell: (r) => [portLink(r.sw, r.port), false] },
      { key: 'peer' },
      { key: 'speed_bps' },
      { key: 'rx_bps', head: 'rx on the line' },
      { key: 'tx_bps', head: 'tx on the line' },
      { key: 'use', head: 'tx util', cell: (r) => [value(r.use, 'share', 3), true] },
      { key: 'queued_bytes', head: 'queued' },
      { key: 'buffer_bytes', head: 'buffer' },
      {
        key: 'paused',
        head: 'paused by peer',
        cell: (r) => [r.paused ? `✕ ${value(r.paused, 'share', 2)}` : '–', true],
      },
      {
        key: 'pausing',
        head: 'pauses peer',
        cell: (r) => [r.pausing ? `▲ ${value(r.pausing, 'share', 2)}` : '–', true],
      },
      { key: 'marked', head: 'marked' },
      { key: 'dropped', head: 'dropped' },
    ],
  });
  let chosen = !model.live && model.report.why?.length ? 0 : null,
    shape = -1,
    cols = [];

  function choose(name) {
    open = name;
    shape = -1;
    app.address(`#/fabric/${encodeURIComponent(name)}`);
    drawTable();
    table.el.scrollIntoView({ block: 'nearest' });
  }

  function findColumns() {
    const t = model.timeline;
    shape = t.shape;
    cols = model.ports(open).map((port) => {
      const of = (l, fact) =>
        t.columns.flatMap((c, i) =>
          c.sw === open && c.list === l && c.object === port && (!fact || c.fact === fact)
            ? [i]
            : []
        );
      return {
        port,
        queued: of('queues', 'length_bytes'),
        buffer: ['min_bytes', 'shared_bytes', 'headroom_bytes'].flatMap((f) => of('pgs', f)),
        marked: of('queues', 'ecn_marked'),
        dropped: of('drops'),
        columns: new PortColumns(model, open, port),
      };
    });
  }

  function drawTable() {
    if (!open) return;
    if (shape !== model.timeline.shape || !cols.length) findColumns();
    const t = model.timeline,
      k = app.frame();
    const sum = (list) => list.reduce((a, i) => a + t.at(i, k), 0);
    table.el.querySelector('h3').textContent = `Ports of ${open}`;
    table.set(
      cols.map((c) => {
        const [out, back] = [direction(t, c.columns, k, true), direction(t, c.columns, k, false)];
        const speed = model.speed(open, c.port);
        const peer = model.peer(open, c.port);
        const node =
          peer && model.live ? model.topology.nodes.find((n) => n.name === peer[0]) : null;
        const most = (st) => st.paused.reduce((m, p) => Math.max(m, p.share), 0);
        return {
          sw: open,
          port: c.port,
          peer: node
            ? node.known
              ? node.label
              : null
            : peer
              ? [peer[0], peer[1]].filter(Boolean).join(' ')
              : null,
          speed_bps: speed || null,
          rx_bps: back.rate,
          tx_bps: out.rate,
          use: speed ? out.rate / speed : null,
          queued_bytes: sum(c.queued),
          buffer_bytes: sum(c.buffer),
          paused: most(out),
          pausing: most(back),
          marked: sum(c.marked),
          dropped: sum(c.dropped),
        };
      })
    );
  }

  let shownCauses = '';
  function drawCauses() {
    const rows = causesOf(model);
    const now = model.live ? 1 : app.time;
    const text =
      JSON.stringify(rows.map((r) => [r.text, r.detail, now >= r.from && now <= r.to])) + chosen;
    if (text === shownCauses) return;
    shownCauses = text;
    replace(
      causes,
      rows.length
        ? rows.slice(0, 60).map((r, i) => {
            const active = now >= r.from && now <= r.to;
            return h(
              'button',
              {
                type: 'button',
                class: active ? 'cause active' : 'cause',
                'aria-pressed': String(chosen === i),
                onclick: () => {
                  chosen = chosen === i ? null : i;
                  fabric.showChain(chosen === null ? null : r.chain);
                  drawCauses();
                },
              },
              h('b', {}, r.kind),
              active ? (model.live ? ' · now' : ' · at this moment') : '',
              h('div', {}, r.text),
              h('small', {}, r.detail)
            );
          })
        : h(
            'p',
            { class: 'missing' },
            model.live
              ? (model.why('causes') ?? 'No sender is paused, and none was lately.')
              : `No deadlock, and no host at the root of PAUSE. ${congested(model.report.congested ?? [])}`
          )
    );
  }

  const key = (cls, ...text) =>
    h(
      'span',
      {},
      s(
        'svg',
        { width: 26, height: 8, 'aria-hidden': 'true' },
        s('line', { x1: 0, y1: 4, x2: 26, y2: 4, class: cls, 'stroke-width': 2.4 })
      ),
      text
    );
  const keys = h('div', { class: 'keys' });
  let signs = '';
  fabric.onBuild = () => {
    const has = fabric.signs;
    if (JSON.stringify(has) === signs) return;
    signs = JSON.stringify(has);
    replace(
      keys,
      has.lines && [key('line', 'link'), key('line busy', 'traffic (thicker: more)')],
      has.paused && [
        key('line paused', 'paused, more than half of the interval'),
        key('line paused some', 'paused, less'),
      ],
      has.arrows && h('span', {}, '▶ the way the PAUSE goes'),
      has.cells && h('span', {}, '✕ in a host: paused; ▲: it pauses'),
      has.chain && h('span', {}, '① a step of the chain that is chosen')
    );
  };
  const missing = model.topology.missing || !model.topology.nodes.length;
  const drawing = h(
    'section',
    { class: 'panel' },
    h('h3', {}, model.live ? 'The switch and its ports' : 'The fabric'),
    missing && !model.live
      ? h(
          'p',
          { class: 'missing' },
          'There is no topology in this file, so there is no drawing. A report.html of weir-lab has one.'
        )
      : fabric.el,
    keys
  );
  const el = h(
    'div',
    { class: 'stack' },
    h(
      'div',
      { class: model.topology.nodes.length > 80 ? 'stack' : 'side' },
      drawing,
      h('section', { class: 'panel' }, h('h3', {}, 'Why there is PAUSE'), causes)
    ),
    table.el
  );
  // A table of many rows costs more than the drawing; while time moves it follows four times a second.
  let waiting = null;
  const tableSoon = () => {
    waiting ??= setTimeout(() => {
      waiting = null;
      drawTable();
    }, TABLE_MS);
  };
  const draw = () => {
    fabric.draw(app.frame());
    if (model.live) fabric.onBuild();
    tableSoon();
    drawCauses();
  };
  drawTable();
  if (chosen !== null) fabric.showChain(causesOf(model)[chosen].chain);
  return {
    el,
    needs: ['causes', 'lldp', 'pools', 'flows'],
    timed: true,
    tick: draw,
    update: draw,
    destroy: () => {
      clearTimeout(waiting);
      fabric.destroy();
    },
  };
}
