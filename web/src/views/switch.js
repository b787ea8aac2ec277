// SPDX-License-Identifier: Apache-2.0
// A live switch as a whole: ports, workers, what is wrong.
import { h, replace } from '../dom.js';
import { time, value } from '../format.js';
import { RowTable } from '../table.js';
import { Charts } from './pieces.js';

const tile = (label, text, bad) =>
  h('div', { class: bad ? 'tile bad' : 'tile' }, h('b', {}, text), h('span', {}, label));

export function switchView(app) {
  const { model } = app;
  const tiles = h('div', { class: 'tiles' });
  const charts = new Charts(app);
  const ratesSpec = (way, title) => {
    const t = model.timeline;
    const all = t.select(model.name, 'ports', `${way}_bytes`);
    return {
      id: `all-${way}_bytes`,
      title,
      unit: 'bps',
      xs: all.length ? t.times : [],
      empty: 'No frame has moved yet.',
      height: 210,
      series: all
        .slice(0, 40)
        .map((c) => ({
          name: c.object,
          values: t.lineRate(model.name, 'ports', c.object, way),
          kind: 'step',
        })),
    };
  };
  const port = {
    key: 'port',
    cell: (r) => [
      h(
        'a',
        {
          href: `#/port/${encodeURIComponent(model.name)}/${encodeURIComponent(r.port ?? r.name)}`,
        },
        r.port ?? r.name
      ),
      false,
    ],
  };
  const tables = [
    [
      'interfaces',
      new RowTable({
        id: 'interfaces',
        title: 'Ports: rates',
        filter: false,
        empty: 'The switch has not answered yet.',
        columns: [
          port,
          'up',
          'speed_bps',
          { key: 'rx_bps', head: 'rx rate of frames' },
          'rx_pps',
          'rx_util_percent',
          { key: 'tx_bps', head: 'tx rate of frames' },
          'tx_pps',
          'tx_util_percent',
          'rx_packets',
          'tx_packets',
        ],
      }),
    ],
    [
      'ports',
      new RowTable({
        id: 'ports',
        title: 'Ports: state and counters',
        filter: false,
        empty: 'The switch has not answered yet.',
        columns: [
          { ...port, key: 'name', head: 'port' },
          'device',
          'up',
          'mtu',
          'rx_missed',
          'tx_errors',
          'bad_l3',
          'queued',
          'tx_enabled',
          'pfc_rx',
          'pfc_tx',
          'rx_guard_possible',
        ],
      }),
    ],
    [
      'workers',
      new RowTable({
        id: 'workers',
        title: 'Workers',
        filter: false,
        empty: 'The switch has not answered yet.',
        columns: [
          'worker',
          'core',
          'ports',
          'busy_percent',
          'loops_per_s',
          'late_loops',
          'gap_max_ns',
          'stalls',
          'stalled_ns',
        ],
      }),
    ],
    [
      'drops',
      new RowTable({
        id: 'drops',
        title: 'Drops',
        empty: 'Nothing was dropped.',
        columns: ['port', 'class', 'reason', 'packets', 'bytes', 'lossless'],
      }),
    ],
    [
      'hints',
      new RowTable({
        id: 'hints',
        title: 'Signs of a wrong configuration',
        filter: false,
        empty: 'None.',
      }),
    ],
  ];
  const rows = () => {
    const version = model.rows(null, 'version'),
      ports = model.rows(null, 'ports') ?? [],
      total = model.cache.get('drops')?.total;
    replace(
      tiles,
      tile('ports up', `${ports.filter((p) => p.up).length} of ${ports.length}`),
      tile('time scale', String(model.timeScale ?? '–')),
      tile('frames dropped', value(total?.packets, '', 6)),
      tile(
        'lossless frames lost',
        value(total?.lossless_packets, '', 6),
        total?.lossless_packets > 0
      ),
      tile(
        'rx missed',
        value(
          ports.reduce((a, p) => a + (p.rx_missed ?? 0), 0),
          '',
          6
        ),
        ports.some((p) => p.rx_missed > 0)
      ),
      tile('up for', version ? time((version.uptime_ms ?? 0) * 1e6) : '–'),
      version?.held ? tile('HELD: no frame is admitted', 'yes', true) : null,
      version?.drop_all ? tile('DROP-ALL is on', 'yes', true) : null,
      version?.confirm_in_ms
        ? tile('the policy before comes back in', value(version.confirm_in_ms * 1e6, 'ns'), true)
        : null
    );
    for (const [name, table] of tables) {
      let list = model.rows(null, name) ?? [];
      if (name === 'drops') list = list.filter((r) => r.packets > 0);
      if (name === 'hints')
        list = list.filter((r) => Object.entries(r).some(([k, v]) => k !== 'port' && v > 0));
      if (model.why(name)) table.empty = model.why(name);
      table.set(list);
    }
  };
  const el = h(
    'div',
    { class: 'stack' },
    tiles,
    h(
      'div',
      { class: 'two' },
      charts.add(() => ratesSpec('tx', 'Sent by port, on the line')),
      charts.add(() => ratesSpec('rx', 'Received by port, on the line'))
    ),
    tables.map(([, t]) => t.el)
  );
  return {
    el,
    charts,
    needs: ['interfaces', 'ports', 'workers', 'drops', 'hints', 'version'],
    destroy: () => charts.clear(),
    update: (what) => (what === 'frame' ? charts.update() : rows()),
  };
}
