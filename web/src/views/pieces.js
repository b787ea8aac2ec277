// SPDX-License-Identifier: Apache-2.0
// What several views use: charts that follow the model, and choices.
import { Chart, Group } from '../chart.js';
import { h, replace } from '../dom.js';

/** Charts of one view. Each spec comes from a function, which is asked again when data arrive. */
export class Charts {
  constructor(app) {
    this.app = app;
    this.group = new Group();
    this.group.window = app.window;
    this.group.now = app.model.live ? null : app.time;
    if (!app.model.live) this.group.onPick = (t) => app.setTime(t);
    this.group.onZoom = () => app.showZoom(this.group.range);
    this.made = [];
  }

  add(makeSpec) {
    const chart = new Chart(this.group, makeSpec());
    this.made.push([chart, makeSpec]);
    return chart.el;
  }

  clear() {
    this.group.destroy();
    this.made = [];
  }

  update() {
    this.group.window = this.app.window;
    for (const [chart, makeSpec] of this.made) chart.update(makeSpec());
  }

  tick() {
    this.group.setNow(this.app.time);
  }
}

/** A row of choices, one pressed. */
export function chips(names, chosen, pick, label) {
  return h(
    'div',
    { class: 'chips', role: 'group', 'aria-label': label },
    names.map(([key, text]) =>
      h(
        'button',
        { type: 'button', 'aria-pressed': String(key === chosen), onclick: () => pick(key) },
        text
      )
    )
  );
}

export function picker(label, values, chosen, pick) {
  const el = h(
    'select',
    { onchange: () => pick(el.value) },
    values.map((v) => h('option', { value: v, selected: v === chosen }, v))
  );
  el.value = chosen;
  return h('label', {}, label, el);
}

/** Charts follow the slider of a run, and tables of its report do not. */
export const atTheEnd = (model) => (model.live ? '' : ', at the end of the run');

export const missing = (text) =>
  h('section', { class: 'panel' }, h('p', { class: 'missing' }, text));

/** A view of what the address names and the data do not have. web/shot.mjs refuses it. */
export const wrong = (text) => ({
  el: h('section', { class: 'panel' }, h('p', { class: 'missing', 'data-wrong': true }, text)),
});

const some = (names) => `${names.slice(0, 12).join(', ')}${names.length > 12 ? ', …' : ''}`;

/** What is wrong with the name of a switch in the address; null: nothing. */
export function noSwitch(model, name) {
  if (name === undefined || model.switches.includes(name) || !model.switches.length) return null;
  const are = model.switches.length > 1 ? 'are' : 'is';
  return `There is no switch ${name}. There ${are} ${some(model.switches)}.`;
}

export function noPort(model, sw, port) {
  const ports = model.ports(sw);
  return ports.includes(port)
    ? null
    : `There is no port ${port} at ${sw}. It has ${some(ports) || 'none'}.`;
}

/** A place whose content is made anew. */
export function slot(cls = 'stack') {
  const el = h('div', { class: cls });
  return { el, set: (...children) => replace(el, ...children) };
}
