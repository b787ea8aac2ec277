// SPDX-License-Identifier: Apache-2.0
// Events: alarms and changes, the newest first in a live switch.
import { h, replace } from '../dom.js';
import { time } from '../format.js';
import { chips } from './pieces.js';

const SIGN = { alarm: '■ alarm', warning: '▲ warning', info: '· info' };
const RANK = { info: 0, warning: 1, alarm: 2 };
const MOST = 500;
const SHOWN = new Set(['seq', 'time', 't_ns', 'time_ns', 'event', 'severity', 'text']);

/** What an event carries beside its sentence: port=p2 class=3. */
const details = (e) =>
  Object.entries(e)
    .filter(([k, v]) => !SHOWN.has(k) && v !== null && typeof v !== 'object')
    .map(([k, v]) => `${k}=${v}`)
    .join(' ');

export function eventsView(app) {
  const { model } = app;
  let least = 'info',
    last = '';
  const list = h('div'),
    head = h('div'),
    count = h('span', { class: 'count' });
  const filter = h('input', {
    type: 'search',
    placeholder: 'filter',
    'aria-label': 'filter events',
    oninput: () => draw(true),
  });
  const draw = (forced) => {
    const refused = model.live ? model.refused.get('events') : null;
    const text = `${model.events.length} ${model.events.at(-1)?.seq} ${least} ${refused}`;
    if (!forced && text === last) return;
    last = text;
    replace(
      head,
      chips(
        [
          ['info', 'all'],
          ['warning', 'warnings and alarms'],
          ['alarm', 'alarms'],
        ],
        least,
        (k) => {
          least = k;
          draw(true);
        },
        'severity'
      )
    );
    const wanted = filter.value.trim().toLowerCase();
    let rows = model.events.filter(
      (e) =>
        (RANK[e.severity] ?? 0) >= RANK[least] &&
        (!wanted || `${e.event ?? ''} ${e.text}`.toLowerCase().includes(wanted))
    );
    if (model.live) rows = [...rows].reverse();
    count.textContent = `${rows.length} of ${model.events.length}`;
    replace(
      list,
      rows.length
        ? rows
            .slice(0, MOST)
            .map((e) =>
              h(
                'div',
                { class: 'event' },
                model.live
                  ? h(
                      'span',
                      { title: `${e.time ?? ''}, ${time(e.time_ns ?? 0, 9)} of the switch` },
                      String(e.time ?? '').slice(11, 23)
                    )
                  : h(
                      'a',
                      { href: '#/fabric', onclick: () => app.setTime(e.time_ns) },
                      time(e.time_ns ?? 0, 5)
                    ),
                h(
                  'span',
                  { class: `sev-${RANK[e.severity] === undefined ? 'info' : e.severity}` },
                  SIGN[e.severity] ?? e.severity
                ),
                h(
                  'span',
                  {},
                  e.event ? h('b', {}, `${e.event} `) : null,
                  e.text,
                  h('small', {}, ` ${details(e)}`)
                )
              )
            )
        : h(
            'p',
            { class: 'missing' },
            refused
              ? refused
              : model.events.length
                ? 'No event fits the filter.'
                : model.data?.events === undefined && !model.live
                  ? 'This file has no list of events.'
                  : 'Nothing has happened.'
          ),
      rows.length > MOST
        ? h('p', { class: 'note' }, `the first ${MOST} of ${rows.length}; filter for others`)
        : null
    );
  };
  draw(true);
  return {
    el: h(
      'section',
      { class: 'panel' },
      h('div', { class: 'panel-head' }, h('h3', {}, 'Events'), count, head, filter),
      list
    ),
    needs: ['events'],
    update: (what) => what !== 'frame' && draw(),
  };
}
