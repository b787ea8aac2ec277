// SPDX-License-Identifier: Apache-2.0
// The time of a run: play, pause, a slider, and above the slider how much PAUSE there is when.
import { h } from './dom.js';
import { time } from './format.js';
import { hatch, onTheme, theme } from './theme.js';

const WHOLE_MS = 20000; // a run takes so long at speed 1

export class TimeBar {
  constructor(app) {
    this.app = app;
    const { times } = app.model.timeline;
    this.canvas = h('canvas', { 'aria-hidden': 'true', title: 'PAUSE over time' });
    this.range = h('input', {
      type: 'range',
      min: 0,
      max: times.length - 1,
      step: 1,
      'aria-label': 'moment of the run',
      oninput: () => {
        this.stop();
        app.setTime(times[this.range.value]);
      },
    });
    this.counts = app.model.pausedLinks;
    this.most = this.counts.reduce((a, b) => Math.max(a, b), 0);
    this.out = h('output');
    this.words = h('small', { class: 'time-words' });
    this.play = h(
      'button',
      { type: 'button', class: 'play', onclick: () => (this.timer ? this.stop() : this.start()) },
      '▶ play'
    );
    this.speed = h(
      'select',
      { class: 'speed', 'aria-label': 'speed' },
      [
        ['0.25', '¼ ×'],
        ['1', '1 ×'],
        ['4', '4 ×'],
      ].map(([v, t]) => h('option', { value: v }, t))
    );
    this.speed.value = '1';
    this.el = h(
      'div',
      { class: 'time', role: 'group', 'aria-label': 'time of the run' },
      h(
        'div',
        { class: 'time-in' },
        this.play,
        this.speed,
        h('div', { class: 'track' }, this.canvas, this.range),
        this.out
      ),
      this.words
    );
    this.off = onTheme(() => this.strip());
    this.watch = new ResizeObserver(() => this.strip());
    this.watch.observe(this.canvas);
    this.show();
  }

  destroy() {
    this.stop();
    this.off();
    this.watch.disconnect();
  }

  start() {
    const { app } = this,
      { times } = app.model.timeline;
    if (app.frame() >= times.length - 1) app.setTime(times[0]);
    this.play.textContent = '❚❚ pause';
    let last = performance.now(),
      at = app.frame();
    const step = (now) => {
      at += (((now - last) * times.length) / WHOLE_MS) * Number(this.speed.value);
      last = now;
      const k = Math.min(times.length - 1, Math.floor(at));
      if (k !== app.frame()) app.setTime(times[k]);
      this.timer = k < times.length - 1 ? requestAnimationFrame(step) : null;
      if (!this.timer) this.stop();
    };
    this.timer = requestAnimationFrame(step);
  }

  stop() {
    cancelAnimationFrame(this.timer);
    this.timer = null;
    this.play.textContent = '▶ play';
  }

  show() {
    const k = this.app.frame();
    this.range.value = k;
    const { times } = this.app.model.timeline;
    const text = time(this.app.model.timeline.times[k] ?? 0, 4);
    this.out.textContent = `${text} of ${time(times.at(-1), 4)}`;
    this.range.setAttribute('aria-valuetext', text);
    this.words.textContent = this.most
      ? `links paused now: ${this.counts[k]}, up to ${this.most}`
      : 'no link is paused in this run';
    if (!this.app.moved)
      this.words.append(
        this.most
          ? ' · opened at the moment of most PAUSE'
          : ' · opened at the end of the run'
      );
  }

  strip() {
    const width = this.canvas.clientWidth,
      dpr = devicePixelRatio || 1;
    if (!width) return;
    this.canvas.width = width * dpr;
    this.canvas.height = 20 * dpr;
    const c = this.canvas.getContext('2d');
    const { most } = this;
    c.fillStyle = theme().grid;
    c.fillRect(0, 19 * dpr, width * dpr, dpr);
    if (!most) return;
    c.fillStyle = hatch(c, '/', theme().pause);
    const n = this.counts.length;
    for (let x = 0; x < width; x++) {
      let top = 0;
      for (
        let k = Math.floor((x * n) / width);
        k <= Math.min(n - 1, Math.floor(((x + 1) * n) / width));
        k++
      )
        top = Math.max(top, this.counts[k]);
      if (top) c.fillRect(x * dpr, (19 - (17 * top) / most) * dpr, dpr, ((17 * top) / most) * dpr);
    }
  }
}
