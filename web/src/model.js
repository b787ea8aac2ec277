// SPDX-License-Identifier: Apache-2.0
// What the views read: a run of the lab, or a live switch. Both have a timeline, switches, and rows
// under the names that `weirctl show --json` gives them.
import { natural } from './dom.js';
import { Broken, Timeline } from './timeline.js';

const KEPT_FRAMES = 3000; // of a live switch: ten minutes
const POLL_MS = 1000;

// Which `show` has a list.
const SHOW = {
  queues: 'queues',
  pfc: 'pfc',
  pgs: 'buffers',
  pools: 'buffers',
  drops: 'drops',
  ports: 'ports',
  clock: 'ports',
  interfaces: 'interfaces',
  ecn: 'ecn',
  ecn_auto: 'ecn-auto',
  pg_config: 'buffers-config',
  buffer: 'buffers-config',
  qos: 'qos',
  pfc_status: 'pfc-status',
  causes: 'causes',
  peers: 'causes',
  flows: 'flows',
  flow_table: 'flows',
  pairing: 'flows',
  cnps: 'cnps',
  ipcc: 'ipcc',
  lldp: 'lldp',
  vlan: 'vlan',
  watchdog: 'watchdog',
  watchdog_state: 'watchdog',
  version: 'version',
  workers: 'workers',
  hints: 'hints',
};

// How many rows the page asks for.
const ASK = { cnps: { count: 200 }, flows: { limit: 500 } };

const isObject = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const list = (v, what) => {
  if (v === undefined || v === null) return [];
  if (!Array.isArray(v)) throw new Broken(`"${what}" is not a list`);
  return v;
};

/** Port -> the address of its flows that is behind it, or how many there are. */
export function addressesOf(flows) {
  const behind = new Map();
  for (const f of flows)
    for (const [port, address] of [
      [f.in_port, f.from],
      [f.out_port, f.to],
    ])
      if (port) behind.set(port, (behind.get(port) ?? new Set()).add(address));
  return new Map(
    [...behind].map(([port, set]) => [port, set.size === 1 ? [...set][0] : `${set.size} addresses`])
  );
}

class Model {
  constructor() {
    this.listeners = new Set();
  }

  on(f) {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }

  changed(what) {
    for (const f of [...this.listeners]) f(what);
  }

  /** Ports of a switch, in order, with what is known of them. */
  ports(sw) {
    const rows = this.rows(sw, 'ports') ?? [];
    const names = new Set(rows.map((r) => r.name));
    for (const c of this.timeline.columns)
      if (c.sw === sw && ['ports', 'queues', 'pgs', 'pfc'].includes(c.list)) names.add(c.object);
    return [...names].sort(natural);
  }

  port(sw, name) {
    return (this.rows(sw, 'ports') ?? []).find((r) => r.name === name);
  }

  speed(sw, port) {
    return (
      this.port(sw, port)?.speed_bps ||
      this.timeline.at(
        this.timeline.find(sw, 'ports', port, null, 'speed_bps'),
        this.timeline.length - 1
      ) ||
      0
    );
  }

  /** How many links are paused in each frame, in one direction or both, by any class. */
  get pausedLinks() {
    const t = this.timeline;
    const count = new Float64Array(t.length);
    const ends = new Set(); // of each link the end that counts
    for (const { a, b } of this.topology.links)
      ends.add((a[1] !== null ? a : b).slice(0, 2).join('\n'));
    const frames = new Map(); // end -> frames in which it was paused
    for (const c of t.columns) {
      const end = `${c.sw}\n${c.object}`;
      if (c.list !== 'pfc' || !c.fact.endsWith('_pause_duration_us')) continue;
      if (ends.size && !ends.has(end)) continue;
      if (!frames.has(end)) frames.set(end, new Set());
      for (const f of c.frames) if (f > t.first) frames.get(end).add(f - t.first);
    }
    for (const set of frames.values()) for (const k of set) count[k]++;
    return count;
  }

  /** The other end of a port: [node, port] or null. */
  peer(sw, port) {
    for (const { a, b } of this.topology.links) {
      if (a[0] === sw && a[1] === port) return b;
      if (b[0] === sw && b[1] === port) return a;
    }
    return null;
  }
}

export class Lab extends Model {
  constructor(data) {
    super();
    if (!isObject(data)) throw new Broken('the data is no JSON object');
    if (!isObject(data.report)) throw new Broken('the data has no report');
    this.live = false;
    this.data = data;
    this.report = data.report;
    this.title = String(data.title || data.report.scenario || 'a run');
    this.hasTimeline = data.timeline !== undefined && data.timeline !== null;
    this.timeline = this.hasTimeline ? Timeline.from(data.timeline) : new Timeline();
    this.topology = topologyOf(data.topology);
    this.switches = list(this.report.switches, 'report.switches')
      .map((x) => String(x.name))
      .sort(natural);
    this.byName = new Map(
      list(this.report.switches, 'report.switches').map((x) => [String(x.name), x])
    );
    this.settings = isObject(data.settings) ? data.settings : {};
    this.events = list(data.events, 'events');
    this.endNs = this.report.end_ns ?? this.timeline.times.at(-1) ?? 0;
  }

  rows(sw, name) {
    return this.settings[sw]?.[name] ?? this.byName.get(sw)?.[name] ?? null;
  }

  /** The moment that is shown first: in the middle of those with the most PAUSE, or the end. */
  get startTime() {
    const counts = this.pausedLinks;
    const most = counts.reduce((a, b) => Math.max(a, b), 0);
    if (!most) return this.endNs;
    const at = [...counts.keys()].filter((k) => counts[k] === most);
    return this.timeline.times[at[at.length >> 1]];
  }

  need() {}
}

function topologyOf(t) {
  if (t === undefined || t === null) return { nodes: [], links: [], missing: true };
  const nodes = list(t.nodes, 'topology.nodes'),
    links = list(t.links, 'topology.links');
  const names = new Set(nodes.map((n) => String(n?.name)));
  for (const l of links)
    if (
      !Array.isArray(l?.a) ||
      !Array.isArray(l?.b) ||
      !names.has(String(l.a[0])) ||
      !names.has(String(l.b[0]))
    )
      throw new Broken('a link of the topology joins what is no node');
  return { nodes, links };
}

export class Live extends Model {
  constructor() {
    super();
    this.live = true;
    this.hasTimeline = true;
    this.timeline = new Timeline(KEPT_FRAMES);
    this.token = new URLSearchParams(location.search).get('token');
    this.cache = new Map(); // what -> JSON
    this.refused = new Map(); // what -> why
    this.wanted = new Set();
    this.name = '';
    this.title = 'a switch';
    this.state = 'connecting';
    this.events = [];
    this.lastSeq = null;
    this.pollable = true;
    this.connect();
    this.need(['version', 'ports']);
    this.timer = setInterval(() => this.poll(), POLL_MS);
  }

  get switches() {
    return this.name ? [this.name] : [];
  }

  query(path, more = {}) {
    const q = new URLSearchParams({ ...more, ...(this.token ? { token: this.token } : {}) });
    return q.size ? `${path}?${q}` : path;
  }

  connect() {
    const stream = new EventSource(this.query('/live'));
    const read = (f) => (e) => {
      try {
        f(JSON.parse(e.data));
      } catch (error) {
        this.trouble = `the switch sent what this page cannot read: ${error.message}`;
        this.changed('state');
      }
    };
    stream.addEventListener(
      'hello',
      read((d) => {
        this.name = String(d.name);
        this.title = this.name;
        this.version = d.version;
        this.timeScale = d.time_scale;
        this.lastSeq = null; // the numbers of events may begin anew
        this.events = [];
        this.setState('live');
      })
    );
    stream.addEventListener(
      'columns',
      read((d) => this.timeline.addColumns(d.first, d.columns))
    );
    stream.addEventListener(
      'frame',
      read((d) => {
        if (this.timeline.length && d[0] < this.timeline.times.at(-1)) this.forgetTimes(); // it began anew
        this.timeline.addFrame(d);
        this.trouble = null;
        if (this.state !== 'live') this.setState('live');
        this.changed('frame');
      })
    );
    stream.onerror = () => {
      this.setState('lost');
      if (stream.readyState === EventSource.CLOSED) this.again();
    };
    this.stream = stream;
  }

  /** A refusal ends an EventSource for good: its reason is shown, and another one tried. */
  again() {
    clearTimeout(this.later);
    this.later = setTimeout(async () => {
      try {
        const answer = await fetch(this.stream.url);
        if (answer.ok) await answer.body.cancel();
        else this.trouble = (await answer.text()).trim();
      } catch (e) {
        this.trouble = null; // nobody answers
      }
      this.changed('state');
      this.connect();
    }, 2000);
  }

  forgetTimes() {
    const columns = this.timeline.columns.map((c) => [c.sw, c.list, c.object, c.index, c.fact]);
    this.timeline.clear();
    this.timeline.addColumns(0, columns);
  }

  setState(state) {
    if (state === this.state) return;
    this.state = state;
    this.changed('state');
  }

  /** Lists that the open view shows; they are asked for once a second. */
  need(names) {
    this.wanted = new Set(['version', 'ports', ...names.map((n) => SHOW[n] ?? n)]);
    this.poll();
  }

  async poll() {
    if (document.hidden && this.cache.size) return;
    if (this.polling) return;
    this.polling = true;
    await Promise.all([...this.wanted].map((what) => this.ask(what)));
    this.polling = false;
    this.changed('rows');
  }

  async ask(what) {
    const more = { ...ASK[what] };
    if (what === 'events' && this.lastSeq !== null) more.since = this.lastSeq;
    try {
      const answer = await fetch(this.query(`/show/${what}`, more), { cache: 'no-store' });
      const body = await answer.text();
      if (!answer.ok) throw new Error(body.trim().slice(0, 200) || `status ${answer.status}`);
      const data = JSON.parse(body);
      this.cache.set(what, data);
      this.refused.delete(what);
      if (what === 'events') this.addEvents(data.events ?? []);
    } catch (error) {
      this.refused.set(what, String(error.message));
    }
  }

  addEvents(rows) {
    for (const r of [...rows].sort((a, b) => a.seq - b.seq)) {
      if (this.lastSeq !== null && r.seq <= this.lastSeq) continue;
      this.events.push({ ...r, time_ns: r.t_ns });
      this.lastSeq = r.seq;
    }
    if (this.events.length > 5000) this.events.splice(0, this.events.length - 5000);
  }

  rows(sw, name) {
    return this.cache.get(SHOW[name] ?? name)?.[name] ?? null;
  }

  /** Why a list is not there. */
  why(name) {
    return this.refused.get(SHOW[name] ?? name);
  }

  get topology() {
    const ports = this.rows(null, 'ports') ?? [];
    const neighbours = new Map((this.rows(null, 'lldp') ?? []).map((r) => [r.port, r]));
    const addresses = addressesOf(this.rows(null, 'flows') ?? []);
    const nodes = [{ name: this.name, kind: 'switch' }],
      links = [];
    for (const p of ports) {
      const n = neighbours.get(p.name);
      const name = `peer of ${p.name}`;
      const label = n?.neighbour || addresses.get(p.name);
      nodes.push({ name, kind: 'host', label, known: !!label, port: p.name });
      links.push({
        a: [this.name, p.name],
        b: [name, n?.neighbour_port ?? null],
        speed_bps: p.speed_bps,
      });
    }
    return { nodes, links };
  }
}
