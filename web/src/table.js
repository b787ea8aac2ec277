// SPDX-License-Identifier: Apache-2.0
// Tables: of cells, of rows under their keys; sorted by a click on a head.
import { h, natural, replace, scroller } from './dom.js';
import { cell, words } from './format.js';

const MOST = 400; // rows shown at once
const NONE = '–';

/** Ranges of ports stay in one line, and a long sentence is no narrow column. */
const lengthOf = (key, words) =>
  key === 'ports' && words.length < 40 ? 'short' : words.length > 60 ? 'long' : null;

const plain = (v) => (v instanceof Node ? v.textContent : String(v));

/** A table of the run, whose cells are text. */
export function textTable(t) {
  const nLeft = t.n_left ?? 0;
  const kept = (t.heads ?? [])
    .map((_, c) => c)
    .filter((c) => (t.rows ?? []).some((r) => r[c] !== undefined && r[c] !== ''));
  const cells = (row, tag) =>
    kept.map((c) =>
      h(
        tag,
        { class: c < nLeft ? null : 'n', scope: tag === 'th' ? 'col' : null },
        row[c] === 'PASS' || row[c] === 'FAIL' ? verdict(row[c] === 'PASS') : (row[c] ?? '')
      )
    );
  return h(
    'section',
    { class: 'panel' },
    h('h3', {}, t.title),
    scroller(
      h(
        'div',
        { class: 'scroll', 'aria-label': t.title },
        h(
          'table',
          {},
          h('thead', {}, h('tr', {}, cells(t.heads ?? [], 'th'))),
          h(
            'tbody',
            {},
            (t.rows ?? []).map((r) => h('tr', {}, cells(r, 'td')))
          )
        )
      )
    ),
    h('p', { class: 'scroll-word' }, 'scroll →'),
    t.note ? h('p', { class: 'note' }, t.note) : null
  );
}

export const verdict = (passed) =>
  h('span', { class: passed ? 'verdict pass' : 'verdict fail' }, passed ? '✓ PASS' : '✗ FAIL');

/** Rows as `weirctl show --json` has them. `columns`: keys, or {key, head, cell(row)}. */
export class RowTable {
  constructor({ title, columns, empty, onRow, filter = true, sort, id }) {
    Object.assign(this, { title, fixed: columns, empty, onRow, sort, id });
    this.rows = [];
    this.all = false;
    this.filter = filter
      ? h('input', {
          type: 'search',
          placeholder: 'filter',
          'aria-label': `filter ${title}`,
          oninput: () => this.draw(),
        })
      : null;
    this.count = h('span', { class: 'count' });
    this.body = scroller(h('div', { class: 'scroll', 'aria-label': title }));
    this.el = h(
      'section',
      { class: 'panel rows', 'data-table': id ?? title },
      h('div', { class: 'panel-head' }, h('h3', {}, title), this.count, this.filter),
      this.body,
      h('p', { class: 'scroll-word', 'aria-hidden': 'true' }, 'scroll →')
    );
    this.draw();
  }

  set(rows) {
    const text = JSON.stringify([rows, this.empty]);
    if (text === this.last) return; // a selection in it stays
    this.last = text;
    this.rows = rows ?? [];
    this.draw();
  }

  columns() {
    if (this.fixed) return this.fixed.map((c) => (typeof c === 'string' ? { key: c } : c));
    const keys = new Set();
    for (const r of this.rows.slice(0, 50)) for (const k of Object.keys(r)) keys.add(k);
    return [...keys].map((key) => ({ key }));
  }

  draw() {
    const textOf = (c, r) => (c.cell ? c.cell(r) : cell(c.key, r[c.key]));
    const wanted = this.filter?.value.trim().toLowerCase() ?? '';
    let columns = this.columns();
    let rows = this.rows;
    if (wanted)
      rows = rows.filter((r) =>
        columns.some((c) => plain(textOf(c, r)[0]).toLowerCase().includes(wanted))
      );
    if (this.sort) rows = sorted(rows, this.sort);
    this.count.textContent = !this.rows.length
      ? ''
      : wanted
        ? `${rows.length} of ${this.rows.length}`
        : `${this.rows.length}`;
    if (this.filter) this.filter.hidden = this.rows.length < 8;
    const kept = [this.body.scrollLeft, this.body.scrollTop];
    if (!this.rows.length) {
      replace(this.body, h('p', { class: 'missing' }, this.empty ?? 'There are no rows.'));
      return;
    }
    const shown = this.all ? rows : rows.slice(0, MOST);
    const cells = shown.map((r) => columns.map((c) => textOf(c, r)));
    const used = columns.map((c, i) => !shown.length || cells.some((row) => row[i][0] !== NONE));
    const number = columns.map((c, i) => cells.some((row) => row[i][1]));
    columns = columns.map((c, i) => ({ ...c, i })).filter((c) => used[c.i]);
    replace(
      this.body,
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            columns.map((c) => this.head(c, number[c.i]))
          )
        ),
        h(
          'tbody',
          {},
          shown.map((r, n) =>
            h(
              'tr',
              {},
              columns.map((c) =>
                h(
                  'td',
                  {
                    class: number[c.i]
                      ? 'n'
                      : lengthOf(c.key, plain(cells[n][c.i][0])),
                    title: typeof r[c.key] === 'number' ? `${c.key}: ${r[c.key]}` : null,
                    'data-key': c.key,
                  },
                  cells[n][c.i][0]
                )
              )
            )
          )
        )
      ),
      rows.length > shown.length
        ? h(
            'button',
            {
              type: 'button',
              class: 'more',
              onclick: () => {
                this.all = true;
                this.draw();
              },
            },
            `show all ${rows.length}`
          )
        : null
    );
    [this.body.scrollLeft, this.body.scrollTop] = kept;
  }

  head(c, number) {
    const active = this.sort?.key === c.key;
    const sort = () => {
      const down = active ? !this.sort.down : typeof this.rows[0]?.[c.key] === 'number';
      this.sort = { key: c.key, down };
      this.draw();
      this.body.querySelector(`button[data-key="${CSS.escape(c.key)}"]`)?.focus();
    };
    return h(
      'th',
      {
        scope: 'col',
        class: number ? 'n' : null,
        'aria-sort': active ? (this.sort.down ? 'descending' : 'ascending') : null,
      },
      h(
        'button',
        { type: 'button', 'data-key': c.key, title: c.key, onclick: sort },
        c.head ?? words(c.key),
        active ? (this.sort.down ? ' ▼' : ' ▲') : ''
      )
    );
  }
}

function sorted(rows, { key, down }) {
  return [...rows].sort((a, b) => {
    const x = a[key],
      y = b[key];
    const d =
      typeof x === 'number' && typeof y === 'number'
        ? x - y
        : natural(String(x ?? ''), String(y ?? ''));
    return down ? -d : d;
  });
}

/** An object as a list of its keys and values. */
export function facts(object, title, keys = Object.keys(object ?? {})) {
  return h(
    'section',
    { class: 'panel' },
    title ? h('h3', {}, title) : null,
    h(
      'dl',
      { class: 'facts' },
      keys
        .filter((k) => object?.[k] !== undefined && typeof object[k] !== 'object')
        .map((k) => [
          h('dt', {}, words(k)),
          h(
            'dd',
            {
              title: `${k}: ${object[k]}`,
            },
            cell(k, object[k])[0]
          ),
        ])
    )
  );
}
