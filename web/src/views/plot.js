// SPDX-License-Identifier: Apache-2.0
// One chart alone on white, for pictures: #/plot/NAME?width=900&height=420&...
import { h } from '../dom.js';
import { Fabric } from '../fabric.js';
import { causesOf } from './fabric.js';
import { distributionSpecs } from './distributions.js';
import { flowSpecs } from './flows.js';
import { Charts, noPort, noSwitch } from './pieces.js';
import { plotsPicture } from './plots.js';
import { STACKS, poolSpec, usersSpec } from './pools.js';
import { busiest, portSpecs } from './port.js';
import { seriesSpec } from './series.js';
import { sweepSpec } from './sweep.js';

/** Names: fabric; rate, queue, group, marks, pfc, drops (switch, port, class); buffer, egress, users
 *  (switch); flows, hosts, goodput, cnps; fct, slowdown, histogram; series (unit or names);
 *  sweep (column); all, of plots. Returns a text where the data do not have what is asked for. */
function specOf(model, name, q) {
  if (model.kind === 'plots') return null;
  if (model.sweep) {
    const column = Number(q.get('column') ?? 0);
    if (name !== 'sweep') return null;
    return model.data.columns[column]
      ? () => sweepSpec(model.data, column)
      : `There is no column ${q.get('column')}.`;
  }
  const sw = q.get('switch') ?? model.switches[0];
  const none = noSwitch(model, sw);
  if (['rate', 'queue', 'group', 'marks', 'pfc', 'drops'].includes(name)) {
    const port = q.get('port') ?? busiest(model, sw);
    const cls = Number(q.get('class') ?? 3);
    if (none ?? noPort(model, sw, port)) return none ?? noPort(model, sw, port);
    if (!Number.isInteger(cls) || cls < 0 || cls > 7) return `There is no class ${q.get('class')}.`;
    return portSpecs(model, sw, port, cls)[name];
  }
  const stack = STACKS.find(([id]) => id === name);
  if (none && (stack || name === 'users')) return none;
  if (stack) return () => poolSpec(model, sw, stack);
  if (name === 'users') return () => usersSpec(model, sw);
  if (flowSpecs[name]) return () => flowSpecs[name](model);
  if (distributionSpecs[name]) return () => distributionSpecs[name](model);
  if (name === 'series') {
    const names = q.get('names')?.split(';');
    const strange = names?.find((n) => !model.data.series?.columns?.some((c) => c.name === n));
    return strange !== undefined
      ? `There is no series ${strange}.`
      : () => seriesSpec(model, q.get('unit') ?? '', names);
  }
  return null;
}

const picture = (text) => h('p', { class: 'missing', 'data-wrong': true }, text);

export function plotView(app, name, q) {
  const { model } = app;
  const width = Math.min(4000, Math.max(200, Number(q.get('width')) || 900)),
    height = Math.min(3000, Math.max(100, Number(q.get('height')) || 420));
  const box = h('div', { class: 'picture', 'data-picture': name });
  box.style.setProperty('width', `${width}px`);
  if (q.get('at') && !model.sweep) app.time = Number(q.get('at')) * 1e6;
  if (name === 'fabric' && !model.sweep) {
    const fabric = new Fabric(model, () => {});
    box.append(fabric.el);
    return {
      el: box,
      destroy: () => fabric.destroy(),
      update: () => {
        fabric.fit();
        fabric.draw(app.frame());
        const chain = causesOf(model)[Number(q.get('chain')) - 1]?.chain;
        if (chain) fabric.showChain(chain);
      },
    };
  }
  if (model.kind === 'plots' && name === 'all') {
    const { el, charts } = plotsPicture(app, height);
    box.append(el);
    return { el: box, charts, destroy: () => charts.clear() };
  }
  const make = specOf(model, name, q);
  if (typeof make !== 'function') {
    box.append(picture(make ?? `There is no plot ${name ?? ''} here.`));
    return { el: box };
  }
  const charts = new Charts(app);
  charts.group.now = null;
  charts.group.onPick = null;
  box.append(
    charts.add(() => {
      const spec = make();
      const lanes = spec.lanes?.length ? spec.lanes.length * 13 + 3 : 0;
      return {
        ...spec,
        title: q.get('title') ?? spec.title,
        height: Math.max(60, height - 70 - lanes),
      };
    })
  );
  return { el: box, charts, destroy: () => charts.clear() };
}
