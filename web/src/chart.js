// SPDX-License-Identifier: Apache-2.0
// Charts over time, on uPlot. The charts of a view are a group: they zoom together, and a cursor in
// one shows the values of the same moment in all.
//
// A chart's spec:
//   id, title, unit, xs, series: [{name, values, kind, hatch, colour, hidden, unit}]
//   kind: 'line', 'step' (a value holds for the interval before it), 'hold' (from its moment on),
//   'limit' (a threshold: as hold, dashed), 'mark' (a horizontal line; values is one number)
//   stacked: the series lie on each other; points: a dot at each sample
//   of a series: dots: without a line; links: for each sample {href, text} or null; texts: of each
//   sample, beside its name at the cursor
//   lanes: [{name, shares, hatch, colour, text}]: strips above the plot, of the share of an interval
//   fit: the axis of values need not begin at zero
//   xUnit (default ns), xLog, xLabel, yLabel, yMax, note
//   empty: a sentence in place of a plot without data
import uPlot from 'uplot';
import { decimate, lowerBound, nearest } from './decimate.js';
import { h, replace, s } from './dom.js';
import { fine, short, ticks, value } from './format.js';
import { DASHES, colour, dash, hatch, HATCHES, onTheme, theme } from './theme.js';

const LANE = 13,
  GUTTER = 64,
  LEGEND_MOST = 18,
  TOOLTIP_MOST = 14;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export class Group {
  constructor() {
    this.charts = new Set();
    this.range = null; // null: all, or the latest of a live switch
    this.window = Infinity; // ns of a live switch that are shown
    this.now = null; // the moment of the slider
    this.onPick = null;
  }

  zoom(range) {
    this.range = range;
    for (const c of this.charts) c.show();
    this.onZoom?.(range);
  }

  hover(x, from) {
    for (const c of this.charts) if (c !== from) c.hoverAt(x);
  }

  setNow(t) {
    this.now = t;
    for (const c of this.charts) {
      c.u?.redraw(false, false);
      if (c.u) c.values();
    }
  }

  destroy() {
    for (const c of [...this.charts]) c.destroy();
  }
}

const HIDDEN = new Map(); // id of a chart -> names that the reader has switched off

export class Chart {
  constructor(group, spec) {
    this.group = group;
    this.spec = spec;
    this.hidden =
      HIDDEN.get(spec.id) ?? new Set(spec.series.filter((x) => x.hidden).map((x) => x.name));
    HIDDEN.set(spec.id, this.hidden);
    this.plot = h('div', {
      class: 'plot',
      tabindex: '0',
      role: 'img',
      onkeydown: (e) => this.key(e),
    });
    this.legend = h('div', { class: 'legend' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.note = h('p', { class: 'chart-note' });
    this.heading = h('h3', {}, spec.title);
    this.el = h(
      'section',
      { class: 'chart', 'data-chart': spec.id },
      this.heading,
      this.plot,
      this.legend,
      this.note
    );
    this.hoverX = null;
    this.hasFocus = false;
    group.charts.add(this);
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => this.resize()));
    this.watch.observe(this.plot);
    this.off = onTheme(() => this.rebuild());
  }

  destroy() {
    this.watch.disconnect();
    this.off();
    this.u?.destroy();
    this.u = null;
    this.group.charts.delete(this);
  }

  get height() {
    return this.spec.height ?? 190;
  }

  /** New data of a live switch, or of other objects. */
  update(spec) {
    const before = this.signature;
    this.spec = spec;
    if (this.u && before === this.sign(spec)) {
      this.prepare();
      this.show();
    } else this.rebuild();
  }

  sign(spec) {
    return JSON.stringify([
      spec.series.map((x) => [x.name, x.kind]),
      spec.lanes?.map((l) => [l.name, happened(l)]),
      spec.unit,
      spec.xs.length === 0,
    ]);
  }

  resize() {
    const width = Math.floor(this.plot.clientWidth);
    if (width < 40) return;
    if (!this.u) this.rebuild();
    else if (width !== this.u.width) {
      this.u.setSize({ width, height: this.outerHeight });
      this.show();
    }
  }

  get outerHeight() {
    return this.height + this.laneHeight;
  }
  get laneHeight() {
    return this.spec.lanes?.length ? this.spec.lanes.length * LANE + 3 : 0;
  }

  /** What is drawn: of stacked series the sums. */
  prepare() {
    const { spec } = this;
    this.visible = spec.series.map((x) => !this.hidden.has(x.name));
    const n = spec.xs.length;
    this.ys = spec.series.map((x) =>
      typeof x.values === 'number' ? new Float64Array(n).fill(x.values) : x.values
    );
    if (!spec.stacked) return;
    const below = new Float64Array(n);
    this.ys = this.ys.map((y, i) => {
      if (spec.series[i].kind) return y;
      const out = new Float64Array(n);
      for (let k = 0; k < n; k++) {
        if (this.visible[i]) below[k] += y[k] || 0;
        out[k] = below[k];
      }
      return out;
    });
  }

  rebuild() {
    this.u?.destroy();
    this.u = null;
    const width = Math.floor(this.plot.clientWidth);
    replace(this.heading, this.spec.title);
    replace(this.note, this.spec.note ?? '');
    this.note.hidden = !this.spec.note;
    this.signature = this.sign(this.spec);
    this.plot.setAttribute(
      'aria-label',
      `${this.spec.title}: chart; arrow keys move, + and - zoom, 0 shows all`
    );
    const empty = this.spec.xs.length === 0 || this.spec.series.length === 0;
    this.el.classList.toggle('is-empty', empty);
    if (empty) {
      replace(this.plot, h('p', { class: 'missing' }, this.spec.empty ?? 'There is no data yet.'));
      replace(this.legend);
      return;
    }
    if (width < 40) return;
    replace(this.plot);
    this.prepare();
    this.u = new uPlot(this.options(width), [[], ...this.spec.series.map(() => [])], this.plot);
    this.u.over.append(this.tip);
    this.gestures();
    this.drawLegend();
    this.show();
  }

  options(width) {
    const { spec } = this;
    const axis = {
      stroke: () => theme().muted,
      font: FONT,
      grid: { stroke: () => theme().grid, width: 1 },
      ticks: { stroke: () => theme().grid, width: 1, size: 4 },
    };
    const xUnit = spec.xUnit ?? 'ns';
    const log = spec.xLog ? { distr: 3, log: 10 } : {};
    return {
      width,
      height: this.outerHeight,
      padding: [6 + this.laneHeight, 24, 0, 0],
      legend: { show: false },
      cursor: {
        x: true,
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false },
      },
      scales: {
        x: { time: false, auto: false, range: (u, min, max) => [min, max], ...log },
        y: { auto: true, range: (u, lo, hi) => this.range(lo, hi) },
      },
      axes: [
        {
          ...axis,
          size: spec.xLabel ? 40 : 28,
          gap: 2,
          labelGap: 0,
          space: 70,
          label: spec.xLabel,
          labelSize: 14,
          labelFont: FONT,
          ...(spec.xLog
            ? { splits: (u, ax, min, max) => logSplits(min, max), filter: (u, splits) => splits }
            : {}),
          values: (u, splits) =>
            spec.xLog
              ? splits.map((v) => (labelled(v, splits) ? value(v, xUnit, 2) : ''))
              : ticks(splits, xUnit),
        },
        {
          ...axis,
          size: spec.ownX
            ? (u, values) =>
                Math.max(GUTTER, 14 + 6.7 * Math.max(0, ...(values ?? []).map((v) => v.length)))
            : GUTTER,
          gap: 4,
          space: 26,
          label: spec.yLabel || undefined,
          labelSize: spec.yLabel ? 16 : 0,
          labelGap: 0,
          labelFont: FONT,
          values: (u, splits) => ticks(splits, spec.unit),
        },
      ],
      series: [{}, ...spec.series.map((x, i) => this.seriesOptions(x, i))],
      bands: spec.stacked ? this.bands() : [],
      hooks: {
        draw: [(u) => this.overlay(u)],
        setSelect: [(u) => this.selected(u)],
        setCursor: [(u) => this.cursorMoved(u)],
      },
    };
  }

  colourOf(i) {
    const x = this.spec.series[i];
    return typeof x.colour === 'string' ? (theme()[x.colour] ?? x.colour) : colour(x.colour ?? i);
  }

  dashOf(i) {
    const x = this.spec.series[i];
    if (this.spec.stacked && !x.kind) return [];
    if (x.dash !== undefined) return DASHES[x.dash];
    if (x.kind === 'limit') return DASHES[1];
    if (x.kind === 'mark') return DASHES[2];
    return dash(i);
  }

  swatchOf(i) {
    return this.spec.series[i].dots
      ? dot(this.colourOf(i))
      : swatch(this.colourOf(i), this.dashOf(i));
  }

  seriesOptions(x, i) {
    const steps = x.dots
      ? () => null
      : x.kind === 'step'
        ? uPlot.paths.stepped({ align: -1 })
        : x.kind === 'limit' || x.kind === 'hold'
          ? uPlot.paths.stepped({ align: 1 })
          : undefined;
    const thin = x.kind === 'limit' || x.kind === 'mark';
    return {
      show: this.visible[i],
      stroke: () => this.colourOf(i),
      dash: this.dashOf(i),
      width: thin ? 1 : 1.4,
      paths: steps,
      spanGaps: false,
      points: { show: (!!this.spec.points || !!x.dots) && !thin, size: 6 },
      fill: x.fill ? (u) => hatch(u.ctx, x.fill, this.colourOf(i)) : undefined,
    };
  }

  /** The area of a stacked series reaches down to the one below; the lowest one to the axis. */
  bands() {
    const at = this.spec.series.map((x, i) => i).filter((i) => !this.spec.series[i].kind);
    const fillOf = (i) => (u) => hatch(u.ctx, HATCHES[i % HATCHES.length], this.colourOf(i));
    return at.slice(1).map((i, n) => ({ series: [i + 1, at[n] + 1], fill: fillOf(i) }));
  }

  range(lo, hi) {
    const { spec } = this;
    if (spec.yRange) return spec.yRange;
    let most = 0,
      least = 0,
      lowest = Infinity;
    const limits = [];
    this.shown?.forEach((y, i) => {
      if (i === 0 || !this.visible[i - 1]) return;
      let top = -Infinity;
      for (const v of y)
        if (v !== null && v === v) {
          if (v > top) top = v;
          if (v < least) least = v;
          if (v < lowest) lowest = v;
        }
      const { kind } = spec.series[i - 1];
      // A threshold that follows the free buffer begins high above all that is drawn.
      if (kind === 'limit' || kind === 'mark') limits.push(median(y) * 1.1);
      else if (top > most) most = top;
    });
    for (const l of limits.sort((a, b) => a - b))
      if (l <= Math.max(most, 1) * 5 || most === 0) most = Math.max(most, l);
    // Of an index between 0.98 and 1 the rest of the axis is of no use.
    if (spec.fit && lowest > most * 0.8 && lowest < most)
      return [lowest - (most - lowest) * 0.1, most + (most - lowest) * 0.1];
    if (!(most > 0)) most = 1;
    return [least < 0 ? least * 1.05 : 0, most * 1.07];
  }

  bounds() {
    const { xs } = this.spec;
    const last = xs[xs.length - 1];
    if (this.group.range && !this.spec.ownX) return this.group.range;
    if (this.own) return this.own;
    const first = Math.max(xs[0], last - this.group.window);
    if (this.spec.xLog) return [first / 1.1, last * 1.1];
    return first === last ? [first - 1, last + 1] : [first, last];
  }

  /** Puts the samples of the range into the plot. */
  show() {
    if (!this.u) return;
    const { spec, u } = this;
    const [min, max] = this.bounds();
    const lo = Math.max(0, lowerBound(spec.xs, min) - 1),
      hi = Math.min(spec.xs.length, lowerBound(spec.xs, max) + 2);
    this.shown = decimate(
      spec.xs,
      this.ys,
      lo,
      hi,
      Math.max(50, Math.round(u.bbox.width / devicePixelRatio))
    );
    this.plot.dataset.range = `${min} ${max}`;
    u.batch(() => {
      u.setData(this.shown, false);
      u.setScale('x', { min, max });
    });
    if (spec.stacked) this.fillLowest(u);
    this.drawLinks(u);
    this.values();
  }

  /** Points that lead to a page are links over the plot. */
  drawLinks(u) {
    for (const a of this.points ?? []) a.remove();
    const { xs, series } = this.spec;
    const { min, max } = u.scales.x;
    this.points = series.flatMap((x, i) =>
      (x.links ?? []).flatMap((link, k) => {
        if (!link || !this.visible[i] || x.values[k] === null || xs[k] < min || xs[k] > max)
          return [];
        const a = h('a', { class: 'point', href: link.href, title: link.text, draggable: 'false' });
        a.setAttribute('aria-label', link.text);
        a.style.setProperty('left', `${u.valToPos(xs[k], 'x')}px`);
        a.style.setProperty('top', `${u.valToPos(this.ys[i][k], 'y')}px`);
        a.addEventListener('mousedown', (e) => e.stopPropagation());
        return [a];
      })
    );
    u.over.append(...this.points);
  }

  fillLowest(u) {
    const i = this.spec.series.findIndex((x) => !x.kind);
    if (i >= 0 && !u.series[i + 1].fillSet) {
      u.series[i + 1].fill = () => hatch(u.ctx, HATCHES[i % HATCHES.length], this.colourOf(i));
      u.series[i + 1].fillSet = true;
      u.redraw(true, false);
    }
  }

  // ---- what lies over the plot: lanes, the moment of the slider

  overlay(u) {
    const { ctx, bbox } = u,
      dpr = devicePixelRatio || 1;
    ctx.save();
    (this.spec.lanes ?? []).forEach((lane, i) => this.drawLane(u, lane, i, dpr));
    const t = this.group.now;
    if (t !== null && !this.spec.ownX) {
      const x = u.valToPos(t, 'x', true);
      if (x >= bbox.left && x <= bbox.left + bbox.width) {
        ctx.strokeStyle = theme().text;
        ctx.setLineDash([]);
        ctx.globalAlpha = 0.55;
        ctx.lineWidth = dpr;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top - this.laneHeight * dpr);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  drawLane(u, lane, i, dpr) {
    const { ctx, bbox } = u;
    const h0 = LANE * dpr,
      y = bbox.top - (this.laneHeight - i * LANE) * dpr;
    const strong = theme()[lane.colour] ?? lane.colour;
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme().muted;
    ctx.font = `${10 * dpr}px system-ui, "DejaVu Sans", sans-serif`;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    ctx.fillText(lane.name, bbox.left - 6 * dpr, y + h0 / 2, (GUTTER - 8) * dpr);
    ctx.fillStyle = theme().grid;
    ctx.fillRect(bbox.left, y + h0 - 2 * dpr, bbox.width, dpr);
    ctx.fillStyle = hatch(ctx, lane.hatch, strong);
    const { xs } = this.spec;
    const { min, max } = u.scales.x;
    const from = Math.max(1, lowerBound(xs, min)),
      to = Math.min(xs.length, lowerBound(xs, max) + 1);
    const top = h0 - 3 * dpr;
    let start = 0,
      most = 0; // one rectangle for each pixel, of the largest share in it
    const flush = (end) => {
      if (most > 0) {
        const x0 = Math.max(bbox.left, start),
          x1 = Math.min(bbox.left + bbox.width, end);
        const tall = Math.max(3 * dpr, top * Math.min(1, most));
        if (x1 > x0) ctx.fillRect(x0, y + 1 * dpr + top - tall, Math.max(dpr, x1 - x0), tall);
      }
      most = 0;
    };
    start = u.valToPos(xs[from - 1] ?? 0, 'x', true);
    for (let k = from; k < to; k++) {
      const share = lane.shares[k];
      if (share > most) most = share;
      const x = u.valToPos(xs[k], 'x', true);
      if (x - start >= dpr || k === to - 1) {
        flush(x);
        start = x;
      }
    }
  }

  // ---- zoom and hover

  selected(u) {
    const { left, width } = u.select;
    if (width > 3) {
      const range = [u.posToVal(left, 'x'), u.posToVal(left + width, 'x')];
      this.setRange(range);
    } else if (this.group.onPick && !this.spec.ownX && u.cursor.left >= 0)
      this.group.onPick(u.posToVal(u.cursor.left, 'x'));
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  setRange(range) {
    if (this.spec.ownX) {
      this.own = range;
      this.show();
    } else this.group.zoom(range);
  }

  gestures() {
    const { over } = this.u;
    over.addEventListener('dblclick', () => this.setRange(null));
    over.addEventListener(
      'wheel',
      (e) => {
        if (!e.ctrlKey && !e.shiftKey) return; // the page scrolls
        e.preventDefault();
        const at = this.u.posToVal(e.offsetX, 'x');
        if (e.ctrlKey) this.zoomAt(at, e.deltaY > 0 ? 1.3 : 1 / 1.3);
        else this.pan(Math.sign(e.deltaY || e.deltaX) * 0.1);
      },
      { passive: false }
    );
    over.addEventListener('mouseleave', () => this.leave());
    over.addEventListener('pointerdown', (e) => this.touch(e));
    over.addEventListener('pointermove', (e) => this.touch(e));
  }

  touch(e) {
    if (e.pointerType !== 'touch' || !this.u) return;
    const box = this.u.over.getBoundingClientRect();
    this.u.setCursor({ left: e.clientX - box.left, top: 10 });
  }

  /** Keeps the middle of the zoom where it is. */
  zoomAt(at, factor) {
    const [min, max] = this.bounds(),
      { xs } = this.spec;
    const range = this.spec.xLog
      ? [at * (min / at) ** factor, at * (max / at) ** factor]
      : [at - (at - min) * factor, at + (max - at) * factor];
    const first = xs[0],
      last = xs[xs.length - 1];
    if (range[0] <= first && range[1] >= last) return this.setRange(null);
    if (range[1] - range[0] > (last - first) / 1e6) this.setRange(range);
  }

  pan(share) {
    const [min, max] = this.bounds(),
      { xs } = this.spec;
    let d = (max - min) * share;
    d = Math.max(xs[0] - min, Math.min(xs[xs.length - 1] - max, d));
    this.setRange([min + d, max + d]);
  }

  key(e) {
    if (!this.u) return;
    const { xs } = this.spec;
    const middle = this.hoverX ?? (this.bounds()[0] + this.bounds()[1]) / 2;
    const move = (d) => {
      const at = nearest(xs, middle);
      const step = Math.max(
        1,
        Math.round((lowerBound(xs, this.bounds()[1]) - lowerBound(xs, this.bounds()[0])) / 200)
      );
      const k = Math.max(0, Math.min(xs.length - 1, at + d * step));
      this.hoverAt(xs[k]);
      this.group.hover(xs[k], this);
    };
    const keys = {
      ArrowLeft: () => (e.shiftKey ? this.pan(-0.1) : move(-1)),
      ArrowRight: () => (e.shiftKey ? this.pan(0.1) : move(1)),
      '+': () => this.zoomAt(middle, 1 / 1.5),
      '=': () => this.zoomAt(middle, 1 / 1.5),
      '-': () => this.zoomAt(middle, 1.5),
      0: () => this.setRange(null),
      Escape: () => this.setRange(null),
      Enter: () => !this.spec.ownX && this.group.onPick?.(middle),
    };
    if (!keys[e.key] || e.target !== this.plot) return;
    e.preventDefault();
    keys[e.key]();
  }

  leave() {
    this.hoverAt(null);
    this.group.hover(null, this);
  }

  cursorMoved(u) {
    if (this.quiet) return;
    const { left } = u.cursor;
    const x = left === undefined || left < 0 ? null : u.posToVal(left, 'x');
    if (x === null && this.hoverX === null) return;
    this.hoverX = x;
    this.values(true);
    if (!this.spec.ownX) this.group.hover(x, this);
  }

  hoverAt(x) {
    if (!this.u || (this.spec.ownX && x !== null)) return;
    this.hoverX = x;
    this.quiet = true;
    const inside = x !== null && x >= this.u.scales.x.min && x <= this.u.scales.x.max;
    this.u.setCursor({ left: inside ? this.u.valToPos(x, 'x') : -10, top: inside ? 1 : -10 });
    this.quiet = false;
    this.values(document.activeElement === this.plot);
  }

  unitAt(i) {
    return this.spec.series[i].unit ?? this.spec.unit;
  }

  raw(i, k) {
    const v = this.spec.series[i].values;
    return typeof v === 'number' ? v : v[k];
  }

  /** The values at the cursor, or the last ones, in the legend; with `tip` beside the cursor too. */
  values(tip = false) {
    const { xs } = this.spec;
    const { now } = this.group;
    const still = now !== null && !this.spec.ownX ? now : this.bounds()[1];
    const k = nearest(
      xs,
      this.hoverX ?? Math.min(this.bounds()[1], Math.max(this.bounds()[0], still))
    );
    this.outputs?.forEach((out, i) => {
      const v = this.raw(i, k);
      out.textContent = v === null && this.spec.series[i].dots ? '' : value(v, this.unitAt(i));
    });
    this.tip.hidden = !(tip && this.hoverX !== null);
    if (!this.tip.hidden) this.fillTip(k);
  }

  fillTip(k) {
    const { xs, series, lanes = [], xUnit = 'ns' } = this.spec;
    const rows = series
      .map((x, i) => [i, this.raw(i, k)])
      .filter(([i, v]) => this.visible[i] && v !== null && v === v);
    if (rows.length > TOOLTIP_MOST) rows.sort((a, b) => b[1] - a[1]);
    replace(
      this.tip,
      h(
        'b',
        {},
        this.spec.xName ? `${this.spec.xName} ${fine(xs[k], xUnit)}` : fine(xs[k], xUnit)
      ),
      rows
        .slice(0, TOOLTIP_MOST)
        .map(([i, v]) =>
          h(
            'div',
            {},
            this.swatchOf(i),
            h('span', {}, [series[i].name, series[i].texts?.[k]].filter(Boolean).join(' ')),
            h('output', {}, fine(v, this.unitAt(i)))
          )
        ),
      rows.length > TOOLTIP_MOST ? h('div', {}, `and ${rows.length - TOOLTIP_MOST} more`) : null,
      lanes
        .filter((l) => l.shares[k] > 0)
        .map((l) =>
          h(
            'div',
            { class: 'lane' },
            h('span', {}, `▤ ${l.name}`),
            h('output', {}, `${short(l.shares[k] * 100)} % of the time`)
          )
        )
    );
    this.placeTip();
  }

  /** Beside the cursor, on the side with more room, inside of the window. */
  placeTip() {
    const { left } = this.u.cursor,
      over = this.u.over.getBoundingClientRect(),
      wide = this.tip.offsetWidth;
    const x = left > over.width / 2 ? left - 14 - wide : left + 14;
    const least = 4 - over.left,
      most = document.documentElement.clientWidth - 4 - wide - over.left;
    this.tip.style.setProperty('left', `${Math.max(least, Math.min(most, x))}px`);
  }

  // ---- legend

  drawLegend() {
    const { series } = this.spec;
    this.outputs = series.map(() => h('output'));
    const buttons = series.map((x, i) =>
      h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(this.visible[i]),
          title: 'hide or show; with Shift: this one alone',
          onclick: (e) => this.toggle(i, e.shiftKey),
        },
        this.spec.stacked && !x.kind
          ? box(this.colourOf(i), i)
          : this.swatchOf(i),
        h('span', {}, x.name),
        this.outputs[i]
      )
    );
    const more = buttons.length - LEGEND_MOST;
    replace(
      this.legend,
      buttons.slice(0, more > 1 && !this.allLegend ? LEGEND_MOST : undefined),
      more > 1 && !this.allLegend
        ? h(
            'button',
            {
              type: 'button',
              class: 'more',
              onclick: () => {
                this.allLegend = true;
                this.drawLegend();
                this.values();
              },
            },
            `and ${more} more`
          )
        : null,
      (this.spec.lanes ?? []).filter(happened).map((l) =>
        h(
          'span',
          { class: 'lane-key' },
          tile(theme()[l.colour] ?? l.colour, l.hatch),
          l.text ?? l.name
        )
      )
    );
  }

  toggle(i, alone) {
    const names = this.spec.series.map((x) => x.name);
    const only = names.every((n, k) => this.hidden.has(n) !== (k === i));
    if (alone) {
      this.hidden.clear();
      if (!only) names.forEach((n, k) => k !== i && this.hidden.add(n));
    } else if (this.hidden.has(names[i])) this.hidden.delete(names[i]);
    else this.hidden.add(names[i]);
    this.prepare();
    this.u.batch(() => names.forEach((n, k) => this.u.setSeries(k + 1, { show: this.visible[k] })));
    const focused = [...this.legend.children].indexOf(document.activeElement);
    this.drawLegend();
    if (focused >= 0) this.legend.children[focused]?.focus();
    this.show();
  }
}

/** Is there anything in a lane? */
const happened = (lane) => lane.shares.some((v) => v > 0);

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

/** 1, 2, ... 9 of each power of ten. */
function logSplits(min, max) {
  const out = [];
  for (let p = 10 ** Math.floor(Math.log10(min)); p <= max && out.length < 200; p *= 10)
    for (let d = 1; d < 10; d++) if (d * p >= min && d * p <= max) out.push(d * p);
  return out;
}

/** Powers of ten have a label; where there are few of them, 2 and 5 as well. */
function labelled(v, splits) {
  const digit = Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9));
  return digit === 1 || (splits.length < 30 && (digit === 2 || digit === 5));
}

export const swatch = (stroke, dashes) =>
  s(
    'svg',
    { class: 'swatch', width: 20, height: 8, 'aria-hidden': 'true' },
    s('line', {
      x1: 0,
      y1: 4,
      x2: 20,
      y2: 4,
      stroke,
      'stroke-width': 2,
      'stroke-dasharray': dashes.join(' ') || null,
    })
  );

const dot = (fill) =>
  s(
    'svg',
    { class: 'swatch dot', width: 20, height: 8, 'aria-hidden': 'true' },
    s('circle', { cx: 10, cy: 4, r: 3, fill })
  );

function canvasSwatch(stroke, kind) {
  const dpr = devicePixelRatio || 1;
  const c = h('canvas', {
    class: 'swatch',
    width: 16 * dpr,
    height: 9 * dpr,
    'aria-hidden': 'true',
  });
  c.style.setProperty('width', '16px');
  c.style.setProperty('height', '9px');
  const ctx = c.getContext('2d');
  ctx.fillStyle = hatch(ctx, kind, stroke);
  ctx.fillRect(0, 0, c.width, c.height);
  return c;
}
const box = (stroke, i) => canvasSwatch(stroke, HATCHES[i % HATCHES.length]);
const tile = (stroke, kind) => canvasSwatch(stroke, kind);
