// SPDX-License-Identifier: Apache-2.0
// Numbers as text. Bytes are in powers of 1000, as in the tables of the programs.

const PREFIXES = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'K'],
];

export const integer = (v) => Math.round(v).toLocaleString('en-US');

/** A number with about `digits` significant digits, and no zeros behind them. */
export function short(v, digits = 3) {
  if (v === 0) return '0';
  const size = Math.abs(v);
  if (size >= 10 ** digits) return integer(v);
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  if (decimals > 8) return v.toPrecision(digits);
  const text = v.toFixed(decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function prefixed(v, unit, digits) {
  for (const [size, prefix] of PREFIXES)
    if (Math.abs(v) >= size) return `${short(v / size, digits)} ${prefix}${unit}`;
  return `${short(v, digits)} ${unit}`;
}

function count(v, digits) {
  if (Math.abs(v) >= 1e6) return prefixed(v, '', digits).trimEnd();
  return Number.isInteger(v) ? integer(v) : short(v, digits);
}

export function time(ns, digits = 3) {
  const size = Math.abs(ns);
  if (size >= 60e9) {
    const seconds = Math.floor(ns / 1e9);
    const rest = seconds % 60;
    return `${Math.floor(seconds / 60)}:${String(rest).padStart(2, '0')} min`;
  }
  if (size >= 1e9) return `${short(ns / 1e9, digits)} s`;
  if (size >= 1e6) return `${short(ns / 1e6, digits)} ms`;
  if (size >= 1e3) return `${short(ns / 1e3, digits)} us`;
  return `${short(ns, digits)} ns`;
}

/** A value with its unit: '', bytes, bps, ns, us, share, percent, pps, per_s. */
export function value(v, unit, digits = 3) {
  if (v === null || v === undefined || Number.isNaN(v)) return '–';
  switch (unit) {
    case 'bytes':
      return prefixed(v, 'B', digits);
    case 'bps':
      return prefixed(v, 'b/s', digits);
    case 'ns':
      return time(v, digits);
    case 'us':
      return time(v * 1000, digits);
    case 'share':
      return `${short(v * 100, digits)} %`;
    case 'percent':
      return `${short(v, digits)} %`;
    case 'pps':
    case 'per_s':
      return `${count(v, digits)}/s`;
    default:
      return count(v, digits);
  }
}

/** For a hover: bytes and counts below 10^9 with all digits, all else with six. */
export function fine(v, unit) {
  const isCount = unit === 'bytes' || (!unit && Number.isInteger(v));
  if (isCount && v !== null && Math.abs(v) < 1e9) return `${integer(v)}${unit ? ' B' : ''}`;
  const seconds = v * { ns: 1e-9, us: 1e-6 }[unit];
  return Math.abs(seconds) >= 60 ? `${short(seconds, 6)} s` : value(v, unit, 6);
}

/** A name in so many letters: without its domain, or without its middle, because the names of a
 *  fabric differ at their ends. */
export function fitted(name, most) {
  if (name.length <= most) return name;
  const [first] = name.split('.');
  if (/\D/.test(first) && first.length <= most) return first;
  const tail = Math.floor((most - 1) / 2);
  return `${name.slice(0, Math.max(1, most - 1 - tail))}…${name.slice(name.length - tail)}`;
}

/** Labels of an axis: one prefix for all of them. */
export function ticks(splits, unit) {
  const most = Math.max(...splits.map((v) => Math.abs(v ?? 0)));
  const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) : most;
  const scaled = (size, suffix) => {
    let decimals = 0;
    while (
      decimals < 6 &&
      Math.abs((step / size) * 10 ** decimals - Math.round((step / size) * 10 ** decimals)) > 1e-6
    )
      decimals++;
    return splits.map((v) =>
      v === null ? '' : `${(v / size).toFixed(decimals).replace(/^-0$/, '0')}${suffix}`
    );
  };
  const table = {
    ns: [
      [1e9, ' s'],
      [1e6, ' ms'],
      [1e3, ' us'],
      [1, ' ns'],
    ],
    bytes: [...PREFIXES.map(([n, p]) => [n, ` ${p}B`]), [1, ' B']],
    bps: [...PREFIXES.map(([n, p]) => [n, ` ${p}b/s`]), [1, ' b/s']],
  }[unit];
  if (unit === 'share') return scaled(0.01, ' %');
  if (table) {
    const [size, suffix] = table.find(([n]) => most >= n) ?? table.at(-1);
    return scaled(size, suffix);
  }
  const [size, prefix] = PREFIXES.find(([n]) => most >= n * 10) ?? [1, ''];
  return scaled(size, (prefix && ` ${prefix}`) + (unit === 'per_s' ? '/s' : ''));
}

/** The unit that the name of a key says. */
export function unitOf(key) {
  const ends = [
    ['_bytes', 'bytes'],
    ['_bps', 'bps'],
    ['_ns', 'ns'],
    ['_us', 'us'],
    ['_percent', 'percent'],
    ['_pps', 'pps'],
    ['_share', 'share'],
  ];
  if (key === 'bytes') return 'bytes';
  return ends.find(([end]) => key.endsWith(end))?.[1] ?? '';
}

/** The name of a key as words, without its unit where the values show it. */
export const words = (key) =>
  key
    .replace(/^([rt]x)_bytes$/, '$1 bytes')
    .replace(/^speed_bps$/, 'speed')
    .replace(/^rate_bps$/, 'rate')
    .replace(/_bps$/, ' rate')
    .replace(/_pps$/, ' frames/s')
    .replace(/_(bytes|ns|us|percent)$/, '')
    .replaceAll('_', ' ')
    .replace(/\bxo(ff|n)\b/g, (word) => word.toUpperCase());

/** A cell of a table of rows: text and whether it is a number. */
export function cell(key, v) {
  if (v === null || v === undefined) return ['–', false];
  if (v === true) return ['yes', false];
  if (v === false) return ['no', false];
  if (typeof v === 'number') {
    if (/(^|_)qp$/.test(key)) return [`0x${v.toString(16)}`, true]; // as weirctl writes it
    const plain = /(^|_)(sport|dport|seq|class|queue|pg|vlan|worker|psn|port)$/.test(key);
    return [plain ? String(v) : value(v, unitOf(key), 4), true];
  }
  if (Array.isArray(v))
    return [v.map((x) => (typeof x === 'object' ? JSON.stringify(x) : x)).join(' '), false];
  if (typeof v === 'object') return [JSON.stringify(v), false];
  return [String(v), false];
}
