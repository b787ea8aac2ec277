// SPDX-License-Identifier: Apache-2.0
// The drawing of a fabric at one moment: switches, hosts, links in both directions, and PAUSE.
import { h, replace, s } from './dom.js';
import { fitted, value } from './format.js';
import { NAME_LETTER, layout } from './layout.js';
import { Places } from './places.js';

const CLASSES = [0, 1, 2, 3, 4, 5, 6, 7];
const LABELS_MOST = 44; // links that have the names of their ports
const LABEL_H = 11, // of a name of a port
  LETTER = 5.4,
  STEP = 17, // a step of a chain
  STEP_AT = [0.32, 0.38, 0.62, 0.68, 0.26, 0.74, 0.2, 0.44, 0.5, 0.56],
  ARROW = 11;

/** The columns that say what a port does, found once for each shape of the timeline. */
export class PortColumns {
  constructor(model, sw, port) {
    const t = model.timeline;
    const find = (l, i, fact) => t.find(sw, l, port, i, fact);
    this.tx = [find('ports', null, 'tx_bytes'), find('ports', null, 'tx_packets')];
    this.rx = [find('ports', null, 'rx_bytes'), find('ports', null, 'rx_packets')];
    this.pfc = CLASSES.map((c) => ({
      cls: c,
      rx: find('pfc', c, 'rx_pause_duration_us'),
      tx: find('pfc', c, 'tx_pause_duration_us'),
    })).filter((p) => p.rx !== undefined || p.tx !== undefined);
    this.drops = t.columns.flatMap((c, i) =>
      c.sw === sw && c.list === 'drops' && c.object === port ? [i] : []
    );
  }
}

/** The state of one direction of a link: who sends, how fast on the line, and for which share of
 *  the interval it was paused, by class. */
export function direction(t, columns, k, fromPort) {
  const rate = t.lineRateAt(...(fromPort ? columns.tx : columns.rx), k);
  const span = k > 0 ? (t.times[k] - t.times[k - 1]) / 1000 : 0;
  const paused = [];
  for (const p of columns.pfc) {
    const i = fromPort ? p.rx : p.tx;
    const us = i === undefined || k < 1 ? 0 : t.at(i, k) - t.at(i, k - 1);
    if (us > 0 && span > 0) paused.push({ cls: p.cls, share: Math.min(1, us / span) });
  }
  return { rate, paused };
}

export class Fabric {
  /** pick(kind, name, port): the reader has chosen a node or a link. */
  constructor(model, pick) {
    this.model = model;
    this.pick = pick;
    this.svg = s('svg', { class: 'fabric', role: 'group', 'aria-label': 'the fabric' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.scroll = h(
      'div',
      { class: 'fabric-scroll', tabindex: '0', 'aria-label': 'drawing of the fabric' },
      this.svg
    );
    this.el = h('div', { class: 'fabric-box' }, this.scroll, this.tip);
    this.shape = -1;
    this.chain = null;
    this.svg.addEventListener('pointermove', (e) => this.hover(e));
    this.svg.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
    });
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.watch.observe(this.el);
  }

  destroy() {
    this.watch.disconnect();
  }

  fit() {
    const width = Math.floor(this.scroll.clientWidth);
    if (width < 60 || width === this.width) return;
    this.width = width;
    this.build();
  }

  build() {
    if (!this.width) return;
    const { model } = this;
    const topology = model.topology;
    this.signature = this.sign(topology);
    const l = (this.layout = layout(topology, this.width));
    this.svg.setAttribute('viewBox', `0 ${l.top} ${l.width} ${l.height - l.top}`);
    this.svg.setAttribute('width', l.width);
    this.svg.setAttribute('height', l.height - l.top);
    this.svg.classList.toggle('dense', l.dense);
    const labels = topology.links.length <= LABELS_MOST && !l.dense;
    this.links = topology.links.map((link, i) => this.makeLink(link, i));
    this.places = new Places();
    for (const n of l.nodes.values()) this.places.take(n.x, n.y, n.w + 2, n.h + 2);
    for (const x of this.links)
      if (x.lines)
        for (const d of [0, 1]) this.places.take(...middle(x.geometry, d), ARROW, ARROW);
    this.places.lines = this.links
      .filter((x) => x.lines && !x.geometry.arc)
      .map(({ geometry: g }) => [g.x1, g.y1, g.x2, g.y2]);
    if (labels) for (const x of this.links) this.addLabels(x);
    this.nodeStates = new Map();
    const linkLayer = s(
      'g',
      {},
      this.links.filter((x) => x.lines).map((x) => x.el)
    );
    this.chainLayer = s('g', { class: 'chain' });
    const groupLayer = s(
      'g',
      {},
      l.groups.map((g) => this.makeGroup(g))
    );
    const nodeLayer = s(
      'g',
      {},
      topology.nodes.filter((n) => l.nodes.has(n.name)).map((n) => this.makeNode(n))
    );
    replace(this.svg, linkLayer, groupLayer, nodeLayer, this.chainLayer);
    this.shape = -1;
    this.draw(this.k ?? 0);
    this.showChain(this.chain);
  }

  /** Which signs this drawing can have: for its legend. */
  get signs() {
    const t = this.model.timeline;
    const paused = t.columns.some((c) => c.list === 'pfc' && c.fact.endsWith('_pause_duration_us'));
    const lines = (this.links ?? []).some((x) => x.lines);
    const cells = (this.links ?? []).some((x) => x.host >= 0);
    return {
      lines,
      paused: lines && paused,
      arrows: lines && paused && !this.layout?.dense,
      cells: cells && paused,
      chain: !!this.chain,
    };
  }

  sign(topology) {
    return topology.nodes.map((n) => n.name + (n.label ?? '')).join() + topology.links.length;
  }

  makeLink(link, index) {
    const host = this.layout.nodes.get(link.a[0])?.cell
      ? 0
      : this.layout.nodes.get(link.b[0])?.cell
        ? 1
        : -1;
    const end = link.a[1] !== null && this.isSwitch(link.a[0]) ? 0 : 1; // whose counters tell of the link
    const [own, other] = end === 0 ? [link.a, link.b] : [link.b, link.a];
    const out = { link, own, other, host };
    if (host >= 0) {
      out.cell = host === 0 ? link.a[0] : link.b[0];
      return out; // drawn as the host's cell
    }
    const [x1, y1, x2, y2, arc] = this.layout.ends[index];
    const len = Math.hypot(x2 - x1, y2 - y1) || 1;
    const gap = this.layout.dense ? 1.3 : 2.2;
    const [dx, dy] = [(-(y2 - y1) / len) * gap, ((x2 - x1) / len) * gap];
    const path = (sign) =>
      arc
        ? `M${x1} ${y1}C${x1} ${y1 - arc - sign * gap} ${x2} ${y2 - arc - sign * gap} ${x2} ${y2}`
        : `M${x1 + dx * sign} ${y1 + dy * sign}L${x2 + dx * sign} ${y2 + dy * sign}`;
    out.geometry = { x1, y1, x2, y2, arc, dx, dy };
    const hit = s('path', { d: path(0), class: 'hit' });
    // [0]: from a to b; [1]: from b to a
    out.lines = [
      s('path', { d: path(1), class: 'line' }),
      s('path', { d: path(-1), class: 'line' }),
    ];
    out.arrows = [s('path', { class: 'arrow' }), s('path', { class: 'arrow' })];
    out.el = s('g', { class: 'link' }, hit, out.lines, out.arrows);
    out.el.addEventListener('click', () => this.pick('link', own[0], own[1]));
    out.el.linkState = out;
    return out;
  }

  /** The names of ports beside their link, close to the switch, where there is room. */
  addLabels(x) {
    if (!x.lines || x.geometry.arc) return;
    const { x1, y1, x2, y2 } = x.geometry;
    for (const [[node, port], ax, ay, bx, by] of [
      [x.link.a, x1, y1, x2, y2],
      [x.link.b, x2, y2, x1, y1],
    ]) {
      if (port === null || port === undefined || !this.isSwitch(node)) continue;
      if (this.layout.pitch(node) < 22) continue;
      const len = Math.hypot(bx - ax, by - ay) || 1;
      const w = String(port).length * LETTER + 2;
      const [ux, uy] = [(bx - ax) / len, (by - ay) / len];
      // Beside the link: so far that the corner of the box keeps off it.
      const off = (Math.abs(uy) * w) / 2 + (Math.abs(ux) * LABEL_H) / 2 + 3;
      const places = [13, 18, 23, 28, 34].flatMap((d) =>
        [1, -1].map((side) => [ax + ux * d - uy * side * off, ay + uy * d + ux * side * off])
      );
      const at = this.places.first(places, w, LABEL_H);
      if (at) x.el.append(s('text', { class: 'port-label', x: at[0], y: at[1] + 3 }, port));
    }
  }

  isSwitch(name) {
    this.kinds ??= new Map();
    if (!this.kinds.has(name))
      for (const n of this.model.topology.nodes) this.kinds.set(n.name, n.kind);
    return this.kinds.get(name) === 'switch';
  }

  makeGroup(g) {
    const sw = this.layout.nodes.get(g.sw);
    const mid = g.x + g.w / 2;
    return s(
      'g',
      { class: 'group' },
      s('line', { x1: sw.x, y1: sw.y + sw.h / 2, x2: mid, y2: g.y, class: 'trunk' }),
      s('rect', { x: g.x, y: g.y, width: g.w, height: g.h, rx: 3, class: 'group-box' }),
      s(
        'text',
        { x: mid, y: g.y + g.h + 12, class: 'group-label' },
        g.w + 8 > 5.2 * g.text.length ? g.text : g.hosts[0]
      )
    );
  }

  makeNode(n) {
    const at = this.layout.nodes.get(n.name);
    const isSwitch = n.kind === 'switch';
    const label = n.label ?? n.name;
    const g = s('g', {
      class: `node ${isSwitch ? 'switch' : 'host'}${at.cell ? ' cell' : ''}`,
      transform: `translate(${at.x - at.w / 2} ${at.y - at.h / 2})`,
      tabindex: at.cell ? null : '0',
      role: 'button',
      'aria-label': `${isSwitch ? 'switch' : 'host'} ${label}`,
    });
    const choose = () => this.pick(isSwitch ? 'switch' : 'host', n.name);
    g.addEventListener('click', choose);
    g.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' || e.key === ' ') {
        e.preventDefault();
        choose();
      }
    });
    g.append(
      s('rect', { width: at.w, height: at.h, rx: isSwitch ? 5 : at.cell ? 2 : 4, class: 'body' })
    );
    const state = { el: g, node: n, at };
    if (isSwitch) {
      state.bar = s('rect', { x: 5, y: at.h - 9, width: 0, height: 4, rx: 1, class: 'fill' });
      g.append(
        s('rect', { x: 5, y: at.h - 9, width: at.w - 10, height: 4, rx: 1, class: 'fill-back' }),
        state.bar
      );
      state.share = s('text', { x: at.w - 6, y: 17, class: 'share' });
      const room = at.w > 62;
      g.append(
        s(
          'text',
          room ? { x: 8, y: 17, class: 'name' } : { x: at.w / 2, y: 17, class: 'name mid' },
          clip(label, at.w - 6)
        )
      );
      if (room) g.append(state.share);
    } else if (!at.cell) {
      const small = at.w < 34;
      g.append(
        s(
          'text',
          { x: at.w / 2, y: at.h / 2 + 4, class: small ? 'name mid small' : 'name mid' },
          clip(n.known === false ? '?' : label, at.w)
        )
      );
    } else {
      state.sign = s('path', { class: 'sign' });
      g.append(state.sign);
      if (at.w >= 24)
        g.append(
          s(
            'text',
            { x: at.w / 2, y: at.h / 2 + 3.5, class: 'name mid small' },
            clip(n.port ?? label, at.w)
          )
        );
    }
    g.nodeState = state;
    this.nodeStates.set(n.name, state);
    return g;
  }

  // ---- one moment

  columnsFor() {
    const t = this.model.timeline;
    if (this.shape === t.shape) return;
    this.shape = t.shape;
    for (const x of this.links) x.columns = new PortColumns(this.model, x.own[0], x.own[1]);
    for (const sw of this.model.topology.nodes.filter((n) => n.kind === 'switch')) {
      const state = this.nodeStates.get(sw.name);
      if (state)
        state.pools = ['ingress', 'headroom'].map((p) => [
          t.find(sw.name, 'pools', p, null, 'used_bytes'),
          t.find(sw.name, 'pools', p, null, 'size_bytes'),
          p,
        ]);
    }
  }

  /** The state at the frame k. */
  draw(k) {
    this.k = k;
    if (!this.layout) return;
    if (this.model.live && this.sign(this.model.topology) !== this.signature) {
      this.kinds = null;
      this.build();
      return;
    }
    this.columnsFor();
    const t = this.model.timeline;
    for (const x of this.links) {
      const [out, back] = [direction(t, x.columns, k, true), direction(t, x.columns, k, false)];
      const ownIsA = x.own === x.link.a;
      x.states = ownIsA ? [out, back] : [back, out];
      if (x.host >= 0) this.drawCell(x);
      else for (const d of [0, 1]) this.drawLine(x, d);
    }
    for (const state of this.nodeStates.values()) if (state.pools) this.drawSwitch(state, k);
    if (!this.tip.hidden && this.under) this.fillTip();
  }

  drawLine(x, d) {
    const st = x.states[d];
    const share = st.paused.reduce((m, p) => Math.max(m, p.share), 0);
    const use = x.link.speed_bps ? Math.min(1, st.rate / x.link.speed_bps) : 0;
    const line = x.lines[d];
    const cls =
      share > 0
        ? share > 0.5
          ? 'line paused'
          : 'line paused some'
        : use > 0.005
          ? 'line busy'
          : 'line';
    if (line.getAttribute('class') !== cls) line.setAttribute('class', cls);
    const width =
      share > 0
        ? this.layout.dense
          ? 1.6
          : 2.4
        : this.layout.dense
          ? 0.6 + use * 1.2
          : 0.8 + use * 2.2;
    line.style.setProperty('stroke-width', width.toFixed(2));
    const arrow = x.arrows[d];
    if (share <= 0 || this.layout.dense) {
      arrow.removeAttribute('d');
      return;
    }
    // The arrow goes with the PAUSE: against the traffic that it stops.
    const { x1, y1, x2, y2 } = x.geometry;
    const [mx, my] = middle(x.geometry, d);
    const len = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] =
      d === 0 ? [(x1 - x2) / len, (y1 - y2) / len] : [(x2 - x1) / len, (y2 - y1) / len];
    const p = (f, side) =>
      `${(mx + ux * f - uy * side).toFixed(1)} ${(my + uy * f + ux * side).toFixed(1)}`;
    arrow.setAttribute('d', `M${p(6, 0)}L${p(-4, 4.5)}L${p(-4, -4.5)}Z`);
  }

  drawCell(x) {
    const state = this.nodeStates.get(x.cell);
    const hostIsA = x.link.a[0] === x.cell;
    const [sends, gets] = hostIsA ? x.states : [x.states[1], x.states[0]];
    const stopped = sends.paused.length > 0,
      stops = gets.paused.length > 0;
    const busy = x.link.speed_bps
      ? Math.max(sends.rate, gets.rate) / x.link.speed_bps > 0.02
      : false;
    state.el.setAttribute(
      'class',
      `node host cell${stopped ? ' stopped' : ''}${stops ? ' stops' : ''}${busy ? ' busy' : ''}`
    );
    const { w, h: tall } = state.at;
    // ×: the host is paused; ▲: the host pauses its switch
    state.sign.setAttribute(
      'd',
      stops
        ? `M${w / 2} 2L${w - 2} ${tall - 2}L2 ${tall - 2}Z`
        : stopped
          ? `M2 2L${w - 2} ${tall - 2}M${w - 2} 2L2 ${tall - 2}`
          : 'M0 0'
    );
  }

  drawSwitch(state, k) {
    const t = this.model.timeline;
    let used = 0,
      size = 0;
    for (const [u, total, pool] of state.pools) {
      used += t.at(u, k);
      size +=
        t.at(total, k) ||
        (this.model.rows(state.node.name, 'pools') ?? []).find((r) => r.name === pool)
          ?.size_bytes ||
        0;
    }
    const share = size ? Math.min(1, used / size) : 0;
    state.used = used;
    state.size = size;
    state.bar.setAttribute('width', Math.max(0, (state.at.w - 10) * share).toFixed(1));
    state.bar.setAttribute('class', share > 0.8 ? 'fill full' : 'fill');
    state.share.textContent = size ? `${Math.round(share * 100)} %` : '';
  }

  // ---- hover

  hover(e) {
    const g = e.target.closest?.('.link, .node');
    this.under = g;
    if (!g) {
      this.tip.hidden = true;
      return;
    }
    const box = this.el.getBoundingClientRect();
    const [x, y] = [e.clientX - box.left, e.clientY - box.top];
    this.tip.hidden = false;
    this.fillTip();
    const right = x > box.width * 0.6;
    this.tip.style.setProperty('left', right ? 'auto' : `${x + 14}px`);
    this.tip.style.setProperty('right', right ? `${box.width - x + 14}px` : 'auto');
    this.tip.style.setProperty('top', `${y + 12}px`);
  }

  fillTip() {
    const { linkState, nodeState } = this.under;
    if (linkState) replace(this.tip, describe(linkState, this.model));
    else {
      const mine = this.links.filter(
        (l) => l.link.a[0] === nodeState.node.name || l.link.b[0] === nodeState.node.name
      );
      if (nodeState.node.kind === 'switch')
        replace(
          this.tip,
          h('b', {}, `switch ${nodeState.node.name}`),
          h(
            'div',
            {},
            nodeState.size
              ? `buffer: ${value(nodeState.used, 'bytes')} of ${value(nodeState.size, 'bytes')}`
              : 'buffer: not in the timeline'
          ),
          h('div', {}, `${mine.length} links; ${this.pausedOf(mine)}`)
        );
      else
        replace(
          this.tip,
          h('b', {}, nodeState.node.label ?? nodeState.node.name),
          mine.slice(0, 4).map((l) => describe(l, this.model))
        );
    }
  }

  pausedOf(links) {
    const paused = links.filter((l) => l.states?.some((st) => st.paused.length));
    const all = paused.flatMap((l) => l.states.flatMap((st) => st.paused));
    const classes = new Set(all.map((p) => p.cls));
    return paused.length
      ? `${paused.length} paused, of class ${[...classes].sort().join(', ')}`
      : 'none paused';
  }

  // ---- the chain of a cause

  /** places: [{switch, port, class}], from the first that waits to the last; host: at the root. */
  showChain(chain) {
    this.chain = chain;
    if (!this.layout || !this.chainLayer) return;
    replace(this.chainLayer);
    this.onBuild?.();
    this.svg.classList.toggle('has-chain', !!chain);
    if (!chain) return;
    const places = this.places.copy();
    chain.places.forEach((p, i) => {
      const x = this.links.find(
        (l) =>
          (l.link.a[0] === p.switch && l.link.a[1] === p.port) ||
          (l.link.b[0] === p.switch && l.link.b[1] === p.port)
      );
      if (!x || x.host >= 0) return;
      const fromA = x.link.a[0] === p.switch && x.link.a[1] === p.port;
      const d = fromA ? 0 : 1;
      const { x1, y1, x2, y2, arc } = x.geometry;
      const on = (f) =>
        fromA
          ? [x1 + (x2 - x1) * f, y1 + (y2 - y1) * f - arc * 0.6]
          : [x2 + (x1 - x2) * f, y2 + (y1 - y2) * f - arc * 0.6];
      // Where the line has no room, beside it.
      const along = STEP_AT.map(on);
      const beside = [1, 1.4, 1.8].flatMap((far) =>
        along.flatMap(([px, py]) => [
          [px + STEP * far, py],
          [px - STEP * far, py],
        ])
      );
      const [bx, by] = places.first([...along, ...beside], STEP, STEP) ?? on(0.32);
      this.chainLayer.append(
        s('path', { d: x.lines[d].getAttribute('d'), class: 'halo' }),
        s('circle', { cx: bx, cy: by, r: 8, class: 'step' }),
        s('text', { x: bx, y: by + 3.5, class: 'step-no' }, i + 1)
      );
    });
    const root = chain.host && this.layout.nodes.get(chain.host);
    if (root)
      this.chainLayer.append(
        s('rect', {
          x: root.x - root.w / 2 - 4,
          y: root.y - root.h / 2 - 4,
          width: root.w + 8,
          height: root.h + 8,
          rx: 6,
          class: 'root',
        }),
        s(
          'text',
          { x: root.x, y: root.y + root.h / 2 + 16, class: 'root-label' },
          `root: ${chain.reason ?? ''}`
        )
      );
  }
}

/** The middle of a direction of a link. */
function middle({ x1, y1, x2, y2, arc, dx, dy }, d) {
  const sign = d === 0 ? 1 : -1;
  return [(x1 + x2) / 2 + dx * sign, (y1 + y2) / 2 + dy * sign - arc * 0.75];
}

const clip = (text, width) => fitted(text, Math.max(1, Math.floor(width / NAME_LETTER)));

/** What a link does, in words. */
function describe(x, model) {
  const peer = model.live && model.topology.nodes.find((n) => n.name === x.link.b[0]);
  const names = [x.link.a, x.link.b].map(([n, p]) => {
    const name = peer && n === peer.name ? (peer.known ? peer.label : 'its peer') : n;
    return p ? `${name} ${p}` : name;
  });
  return [0, 1].map((d) => {
    const st = x.states[d];
    const [from, to] = d === 0 ? names : [names[1], names[0]];
    const use = x.link.speed_bps ? ` (${Math.round((st.rate / x.link.speed_bps) * 100)} %)` : '';
    return h(
      'div',
      {},
      h('span', {}, `${from} → ${to}: `),
      h('output', {}, `${value(st.rate, 'bps')}${use}`),
      st.paused.map((p) =>
        h(
          'div',
          { class: 'paused-text' },
          `✕ class ${p.cls} paused by ${to} for ${Math.max(1, Math.round(p.share * 100))} % of the interval`
        )
      )
    );
  });
}
