// SPDX-License-Identifier: Apache-2.0
// Where the nodes of a fabric are drawn: hosts below, switches above by their distance from hosts.
import { natural } from './dom.js';

const TIER_LEAST = 92,
  TIER_MOST = 132,
  TOP = 44,
  MARGIN = 14;
const SWITCH_H = 38,
  SWITCH_MOST = 132,
  SWITCH_LEAST = 30;
const HOST_LEAST = 24,
  HOST_MOST = 74,
  HOST_H = 26;
export const NAME_LETTER = 6.4; // wide
const CELL = 15,
  CELL_LEAST = 9,
  SLOT_LEAST = 42;

/** Of the boxes of hosts: with room for each name. */
const hostWidth = (topology) =>
  Math.max(
    HOST_MOST,
    ...topology.nodes
      .filter((n) => n.kind !== 'switch' && n.label)
      .map((n) => n.label.length * NAME_LETTER + 12)
  );

/** h16: 16; other names stay. */
const numberOf = (name) => /\d+$/.exec(name)?.[0] ?? name;

function neighbours(topology) {
  const next = new Map(topology.nodes.map((n) => [n.name, []]));
  topology.links.forEach((l, i) => {
    next.get(l.a[0]).push({ to: l.b[0], link: i });
    next.get(l.b[0]).push({ to: l.a[0], link: i });
  });
  return next;
}

/** Name of a switch -> its tier: 1 has hosts. */
function tiersOf(topology, next) {
  const tier = new Map();
  let front = topology.nodes.filter((n) => n.kind === 'host').map((n) => n.name);
  if (!front.length) front = topology.nodes.slice(0, 1).map((n) => n.name);
  for (const name of front) tier.set(name, 0);
  if (topology.nodes.length && topology.nodes.every((n) => n.kind !== 'host'))
    for (const n of topology.nodes) tier.set(n.name, 1);
  while (front.length) {
    const after = [];
    for (const name of front)
      for (const { to } of next.get(name))
        if (!tier.has(to)) {
          tier.set(to, tier.get(name) + 1);
          after.push(to);
        }
    front = after;
  }
  for (const n of topology.nodes)
    if (!tier.has(n.name)) tier.set(n.name, n.kind === 'host' ? 0 : 1);
  return tier;
}

/** Switches with links to each other: along these links. Others: by name. */
function along(names, next) {
  const inside = new Set(names);
  const near = (n) =>
    [
      ...new Set(
        next
          .get(n)
          .map((x) => x.to)
          .filter((x) => inside.has(x))
      ),
    ].sort(natural);
  const sorted = [...names].sort(natural);
  if (sorted.every((n) => near(n).length === 0)) return sorted;
  const out = [],
    seen = new Set();
  const starts = [...sorted.filter((n) => near(n).length === 1), ...sorted];
  for (const start of starts) {
    const stack = [start];
    while (stack.length) {
      const n = stack.pop();
      if (seen.has(n)) continue;
      seen.add(n);
      out.push(n);
      stack.push(
        ...near(n)
          .filter((x) => !seen.has(x))
          .reverse()
      );
    }
  }
  return out;
}

/** Places of all nodes for a drawing at least `width` wide:
 *  {width, height, nodes: Map(name -> {x, y, w, h, cell}), groups: [{sw, x, y, w, h, text}], dense} */
export function layout(topology, wanted) {
  const next = neighbours(topology);
  const tier = tiersOf(topology, next);
  const isSwitch = new Map(topology.nodes.map((n) => [n.name, n.kind === 'switch']));
  const hosts = topology.nodes
    .filter((n) => n.kind !== 'switch')
    .map((n) => n.name)
    .sort(natural);
  const tiers = [];
  for (const n of topology.nodes)
    if (isSwitch.get(n.name)) (tiers[tier.get(n.name)] ??= []).push(n.name);
  const rows = tiers.filter(Boolean);
  if (!rows.length)
    return { width: wanted, height: 60, nodes: new Map(), groups: [], dense: false };
  const bottom = along(rows[0], next);
  const hostsOf = new Map(bottom.map((n) => [n, []]));
  const loose = [];
  for (const name of hosts) {
    const sw = next
      .get(name)
      .map((x) => x.to)
      .find((x) => hostsOf.has(x));
    (sw ? hostsOf.get(sw) : loose).push(name);
  }
  if (loose.length) hostsOf.get(bottom[0]).push(...loose);
  const nodes = new Map();
  const groups = [];
  // Few switches in a wide drawing may stand further apart.
  const gap = Math.max(TIER_LEAST, Math.min(TIER_MOST, wanted / 8));
  const topY = TOP + (rows.length - 1) * gap;
  const hostY = topY + SWITCH_H / 2 + gap * 0.62;
  const most = Math.max(...rows.map((r) => r.length));
  const single = hosts.length * HOST_LEAST + bottom.length * 8 <= wanted - 2 * MARGIN;
  const width = Math.max(wanted, most * (single ? SWITCH_LEAST + 6 : SLOT_LEAST) + 2 * MARGIN);
  let height = hostY + HOST_H + 16;
  let x = MARGIN;
  const inner = width - 2 * MARGIN;
  if (single) {
    const hostMost = hostWidth(topology);
    // A switch without hosts takes the place of one.
    const units = bottom.reduce((sum, n) => sum + Math.max(1, hostsOf.get(n).length), 0);
    const step = (inner - bottom.length * 8) / units;
    for (const sw of bottom) {
      const mine = hostsOf.get(sw),
        span = step * Math.max(1, mine.length);
      const pitch = Math.min(step, hostMost * 1.6);
      const start = x + (span - pitch * mine.length) / 2;
      mine.forEach((name, i) =>
        nodes.set(name, {
          x: start + pitch * (i + 0.5),
          y: hostY,
          w: Math.min(hostMost, pitch - 4),
          h: HOST_H,
          cell: false,
        })
      );
      nodes.set(sw, {
        x: x + span / 2,
        y: topY,
        w: Math.min(Math.max(SWITCH_MOST, mine.length * 26), Math.max(SWITCH_LEAST, span * 0.8)),
        h: SWITCH_H,
      });
      x += span + 8;
    }
  } else {
    const slot = inner / bottom.length;
    let deepest = 0;
    for (const sw of bottom) {
      const mine = hostsOf.get(sw);
      const across = slot - 10;
      const square = Math.ceil(Math.sqrt(mine.length || 1));
      const perRow = Math.max(
        1,
        Math.min(
          mine.length || 1,
          Math.floor(across / CELL_LEAST),
          Math.max(square, Math.floor(across / 40))
        )
      );
      const size = Math.max(CELL_LEAST, Math.min(bottom.length > 2 ? CELL : 40, across / perRow));
      const w = perRow * size,
        left = x + (slot - w) / 2;
      const tall = Math.min(size, 24);
      mine.forEach((name, i) =>
        nodes.set(name, {
          x: left + ((i % perRow) + 0.5) * size,
          y: hostY + (Math.floor(i / perRow) + 0.5) * tall,
          w: size - 2,
          h: tall - 2,
          cell: true,
        })
      );
      const rowsOf = Math.ceil(mine.length / perRow);
      deepest = Math.max(deepest, rowsOf * tall);
      if (mine.length)
        groups.push({
          sw,
          hosts: mine,
          x: left - 3,
          y: hostY - 3,
          w: w + 6,
          h: rowsOf * tall + 6,
          text: mine.length > 1 ? `${mine[0]}–${numberOf(mine.at(-1))}` : mine[0],
        });
      nodes.set(sw, {
        x: x + slot / 2,
        y: topY,
        w: Math.min(SWITCH_MOST, Math.max(SWITCH_LEAST, slot * 0.78)),
        h: SWITCH_H,
      });
      x += slot;
    }
    height = hostY + deepest + 30;
  }
  rows.slice(1).forEach((row, i) => {
    const mean = (n) => {
      const xs = next
        .get(n)
        .map((e) => nodes.get(e.to)?.x)
        .filter((v) => v !== undefined);
      return xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : width / 2;
    };
    const order = [...row]
      .map((n) => [n, mean(n)])
      .sort((a, b) => (Math.abs(a[1] - b[1]) > 2 ? a[1] - b[1] : natural(a[0], b[0])));
    const slot = inner / row.length;
    order.forEach(([n], k) =>
      nodes.set(n, {
        x: MARGIN + slot * (k + 0.5),
        y: topY - (i + 1) * gap,
        w: Math.min(SWITCH_MOST, Math.max(SWITCH_LEAST, slot * 0.7)),
        h: SWITCH_H,
      })
    );
  });
  const order = new Map(bottom.map((n, i) => [n, i]));
  const { ends, pitch } = endsOf(topology, nodes, order);
  return {
    width,
    height,
    nodes,
    groups,
    dense: topology.links.length > 120,
    ends,
    pitch: (name) => pitch.get(name) ?? 0,
    top: Math.min(16, ...ends.map((e) => Math.min(e[1], e[3]) - e[4] * 0.75 - 10)),
  };
}

/** Of each link [x1, y1, x2, y2, arc]. The links of a node leave its edge in the order of where they
 *  lead to, so that they cross little. Switches of one tier that are not neighbours have an arc. */
function endsOf(topology, nodes, order) {
  const sides = new Map();
  const ends = topology.links.map(() => [0, 0, 0, 0, 0]);
  const pitch = new Map(); // name of a node -> between its links
  const attach = (link, end, from, to, side) => {
    const key = `${topology.links[link][end ? 'b' : 'a'][0]} ${side}`;
    if (!sides.has(key)) sides.set(key, { node: from, side, links: [] });
    sides.get(key).links.push({ link, end, to });
  };
  topology.links.forEach((l, i) => {
    const a = nodes.get(l.a[0]),
      b = nodes.get(l.b[0]);
    if (!a || !b) return;
    if (a.y !== b.y) {
      attach(i, 0, a, b, a.y > b.y ? -1 : 1);
      attach(i, 1, b, a, a.y > b.y ? 1 : -1);
      return;
    }
    const right = b.x > a.x ? 1 : -1;
    const near = order.has(l.a[0]) && Math.abs(order.get(l.a[0]) - order.get(l.b[0])) === 1;
    if (near) ends[i] = [a.x + (right * a.w) / 2, a.y, b.x - (right * b.w) / 2, b.y, 0];
    else {
      attach(i, 0, a, b, -1);
      attach(i, 1, b, a, -1);
      ends[i][4] = Math.min(70, 24 + Math.abs(b.x - a.x) * 0.09);
    }
  });
  for (const [key, { node, side, links }] of sides) {
    const name = key.slice(0, key.lastIndexOf(' '));
    pitch.set(name, Math.min(pitch.get(name) ?? Infinity, (node.w * 0.84) / links.length));
    links.sort((p, q) => p.to.x - q.to.x || p.link - q.link);
    links.forEach(({ link, end, to }, k) => {
      const room = node.w * 0.84;
      const alone = Math.max(-room / 2, Math.min(room / 2, to.x - node.x));
      const x = links.length === 1 ? alone : ((k + 0.5) / links.length - 0.5) * room;
      ends[link][end * 2] = node.x + x;
      ends[link][end * 2 + 1] = node.y + (side * node.h) / 2;
    });
  }
  return { ends, pitch };
}
