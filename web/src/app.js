// SPDX-License-Identifier: Apache-2.0
// The frame of the page: title, tabs, the view of the address, and the time of a run.
import { h, replace, scroller } from './dom.js';
import { time } from './format.js';
import { onTheme, setTheme } from './theme.js';
import { TimeBar } from './timebar.js';
import { cnpsView } from './views/cnps.js';
import { distributionsView } from './views/distributions.js';
import { eventsView } from './views/events.js';
import { fabricView } from './views/fabric.js';
import { flowsView } from './views/flows.js';
import { wrong } from './views/pieces.js';
import { plotView } from './views/plot.js';
import { plotsView } from './views/plots.js';
import { policyView } from './views/policy.js';
import { poolsView } from './views/pools.js';
import { portView } from './views/port.js';
import { runView } from './views/run.js';
import { seriesView } from './views/series.js';
import { sweepView } from './views/sweep.js';
import { switchView } from './views/switch.js';

// Route, word of the tab, view, and where it is shown.
const VIEWS = [
  ['run', 'Run', runView, 'lab'],
  ['sweep', 'Sweep', sweepView, 'sweep'],
  ['plots', 'Plots', plotsView, 'plots'],
  ['switch', 'Switch', switchView, 'live'],
  ['fabric', 'Fabric', fabricView, 'both'],
  ['port', 'Port', portView, 'both'],
  ['pools', 'Buffer', poolsView, 'both'],
  ['flows', 'Flows', flowsView, 'both'],
  ['series', 'Series', seriesView, 'lab'],
  ['distributions', 'Distributions', distributionsView, 'lab'],
  ['cnps', 'CNPs', cnpsView, 'both'],
  ['events', 'Events', eventsView, 'both'],
  ['policy', 'Policy', policyView, 'both'],
];
const WINDOWS = [
  [30e9, '30 s'],
  [60e9, '1 min'],
  [300e9, '5 min'],
  [Infinity, '10 min'],
];
const OTHER_ROUTES = { buffer: 'pools' }; // by the word of the tab
const ADDRESS_MS = 250;
const kindOf = (model) => model.kind ?? (model.sweep ? 'sweep' : model.live ? 'live' : 'lab');

export class App {
  constructor(root, model, ask) {
    this.root = root;
    this.model = model;
    this.ask = ask;
    this.time = model.live || model.sweep ? 0 : model.startTime;
    this.moved = false; // by the reader: only then the address has the time
    this.span = model.live ? 60e9 : Infinity;
    this.views = VIEWS.filter(
      ([, , , where]) => where === kindOf(model) || (where === 'both' && !model.sweep)
    );
    this.offs = [model.on?.((what) => this.changed(what)), onTheme(() => this.view?.theme?.())];
    this.onHash = () => this.route();
    addEventListener('hashchange', this.onHash);
    this.build();
    this.route();
  }

  destroy() {
    removeEventListener('hashchange', this.onHash);
    for (const off of this.offs) off?.();
    this.view?.destroy?.();
    this.timeBar?.destroy();
    clearTimeout(this.written);
    clearInterval(this.model.timer);
    this.model.stream?.close();
  }

  build() {
    const { model } = this;
    this.main = h('main', { id: 'main', tabindex: '-1' });
    this.banner = h('div', { class: 'banner', role: 'status', hidden: true });
    this.heading = h('h1', {}, model.title);
    this.sub = h('span', { class: 'sub' });
    this.zoomed = h('button', {
      type: 'button',
      hidden: true,
      onclick: () => this.view?.charts?.group.zoom(null),
    });
    this.nav = h(
      'nav',
      { 'aria-label': 'views', onkeydown: (e) => this.tabKey(e) },
      this.views.map(([route, word]) => h('a', { href: `#/${route}`, 'data-view': route }, word))
    );
    const themes = h(
      'select',
      { 'aria-label': 'colours', onchange: () => setTheme(themes.value || null) },
      h('option', { value: '' }, 'system'),
      h('option', { value: 'light' }, 'light'),
      h('option', { value: 'dark' }, 'dark')
    );
    themes.value = document.documentElement.dataset.theme ?? '';
    const windows = model.live
      ? h(
          'select',
          {
            'aria-label': 'span of time',
            onchange: () => {
              this.span = WINDOWS[windows.selectedIndex][0];
              this.view?.update?.('frame');
            },
          },
          WINDOWS.map(([, text]) => h('option', {}, text))
        )
      : null;
    if (windows) windows.selectedIndex = 1;
    this.header = h(
      'header',
      { class: 'top' },
      h(
        'div',
        { class: 'bar' },
        h('span', { class: 'brand' }, 'Weir'),
        this.heading,
        this.pill(),
        this.sub,
        h(
          'div',
          { class: 'push' },
          this.zoomed,
          windows,
          model.live ? null : h('button', { type: 'button', onclick: () => this.ask() }, 'Open …'),
          h('label', {}, h('span', {}, 'colours: '), themes)
        )
      ),
      h('div', { class: 'tabs' }, scroller(this.nav))
    );
    if (!model.live && model.timeline?.length > 1) this.timeBar = new TimeBar(this);
    replace(this.root, this.header, this.banner, this.main, this.timeBar?.el);
    document.title = `${model.title} – Weir`;
    this.changed('state');
  }

  pill() {
    const { report, verdict } = this.model;
    if (verdict)
      return h('span', { class: `pill ${verdict.passed ? 'pass' : 'fail'}` }, verdict.text);
    if (!report || report.passed === undefined) return null;
    const rows = report.expectations ?? [];
    const held = rows.filter((e) => e.passed).length;
    return h(
      'span',
      { class: `pill ${report.passed ? 'pass' : 'fail'}` },
      `${report.passed ? '✓ PASS' : '✗ FAIL'} ${held} of ${rows.length}`
    );
  }

  tabKey(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const tabs = [...this.nav.children];
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    this.go(next.getAttribute('href'));
  }

  go(hash) {
    location.hash = hash;
  }

  route() {
    const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
    const parts = path.split('/').map((p) => {
      try {
        return decodeURIComponent(p);
      } catch {
        return p;
      }
    });
    this.view?.destroy?.();
    this.view = null;
    clearTimeout(this.written);
    this.written = null;
    this.showZoom(null);
    if (parts[0] === 'plot') return this.plain(parts.slice(1));
    document.body.classList.remove('plain');
    this.goTo(new URLSearchParams(query ?? '').get('at'));
    const none = [null, '', () => this.noView(parts[0])];
    const name = OTHER_ROUTES[parts[0]] ?? parts[0];
    const found = name
      ? (this.views.find(([route]) => route === name) ?? none)
      : this.views[0];
    for (const a of this.nav.children) {
      if (a.dataset.view === found[0]) {
        a.setAttribute('aria-current', 'page');
        this.nav.scrollLeft = Math.max(0, a.offsetLeft - this.nav.clientWidth / 2);
      } else a.removeAttribute('aria-current');
    }
    this.show(found[2], parts.slice(1));
    if (this.moved) this.address();
  }

  noView(name) {
    const names = this.views.map(([route]) => route).join(', ');
    return wrong(`There is no view ${name} here. There are ${names}.`);
  }

  /** The time that an address asks for, in ms. */
  goTo(at) {
    const { live, timeline } = this.model;
    if (!live) this.banner.hidden = true;
    if (at === null || live || !timeline?.length) return;
    const t = Number(at) * 1e6;
    const ok = at.trim() !== '' && Number.isFinite(t);
    this.banner.hidden = ok;
    this.banner.textContent = ok ? '' : `“at=${at}” of the address is no time in ms.`;
    if (!ok) return;
    this.time = Math.max(timeline.times[0], Math.min(timeline.times.at(-1), t));
    this.moved = true;
    this.timeBar?.show();
  }

  /** Writes a view and the time into the address, without a step of the history. */
  address(hash = location.hash) {
    const [path] = hash.split('?');
    const at = this.moved ? `?at=${Number((this.time / 1e6).toFixed(6))}` : '';
    history.replaceState(null, '', (path || `#/${this.views[0][0]}`) + at);
  }

  show(make, args) {
    try {
      this.view = make(this, args);
    } catch (e) {
      console.warn(e);
      this.view = {
        el: h('p', { class: 'panel missing' }, `This view cannot be shown: ${e.message}`),
      };
    }
    replace(this.main, this.view.el);
    this.main.classList.toggle('timed', !!this.timeBar && !!this.view.timed);
    if (this.timeBar) this.timeBar.el.hidden = !this.view.timed;
    this.model.need?.(this.view.needs ?? []);
    this.view.update?.('all');
  }

  /** One chart alone, for pictures. */
  plain(args) {
    document.body.classList.add('plain');
    if (!document.documentElement.dataset.theme) setTheme('light');
    for (const el of [this.header, this.banner, this.timeBar?.el]) el?.remove();
    this.view = plotView(this, args[0], new URLSearchParams(location.hash.split('?')[1] ?? ''));
    replace(this.root, this.view.el);
    this.view.update?.('all');
  }

  /** The span of time that charts of a live switch show, in its time. */
  get window() {
    return this.span / (this.model.timeScale || 1);
  }

  // ---- time

  /** The frame that is shown. */
  frame() {
    const t = this.model.timeline;
    return this.model.live ? t.length - 1 : t.frameAt(this.time);
  }

  setTime(t) {
    this.time = t;
    this.moved = true;
    this.timeBar?.show();
    // A browser allows few changes of the address in a second.
    this.written ??= setTimeout(() => {
      this.written = null;
      this.address();
    }, ADDRESS_MS);
    this.view?.charts?.tick();
    this.view?.tick?.();
  }

  showZoom(range) {
    if (!this.zoomed) return;
    this.zoomed.hidden = !range;
    if (range) this.zoomed.textContent = `${time(range[0], 4)} to ${time(range[1], 4)} – show all`;
  }

  changed(what) {
    const { model } = this;
    if (model.live && model.name && !this.named) {
      this.named = true; // a name in the address can be checked now
      if (this.view) this.route();
    }
    if (what === 'state' || what === 'rows') this.showState();
    if (what === 'state') return;
    if (what === 'frame') {
      if (this.pending) return;
      this.pending = true;
      requestAnimationFrame(() => {
        this.pending = false;
        if (!document.hidden) this.view?.update?.('frame');
      });
    } else this.view?.update?.(what);
    if (model.live && model.timeline.length) this.time = model.timeline.times.at(-1);
  }

  showState() {
    const { model } = this;
    if (!model.live) {
      this.sub.textContent = model.data?.version ? `weir-lab ${model.data.version}` : '';
      return;
    }
    this.heading.textContent = model.title;
    document.title = `${model.title} – Weir`;
    const up = model.rows(null, 'version')?.uptime_ms;
    this.sub.textContent = [
      model.version && `weir ${model.version}`,
      model.timeScale > 1 && `time scale ${model.timeScale}: times and rates are the model's`,
      up !== undefined && up !== null && `up for ${time(up * 1e6)}`,
    ]
      .filter(Boolean)
      .join(' · ');
    const text =
      model.state === 'lost'
        ? `${model.trouble ?? 'The stream of the switch has ended.'} The page tries to connect again; what is below is the last that it sent.`
        : model.state === 'connecting'
          ? 'Connecting to the switch …'
          : (model.trouble ?? '');
    this.banner.hidden = !text;
    this.banner.classList.toggle('alarm', model.state === 'lost');
    this.banner.textContent = text;
  }
}
