// SPDX-License-Identifier: Apache-2.0
// Colours of charts. The series have those of Okabe and Ito, which most kinds of sight tell apart,
// and dashes besides.

export const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [5, 2, 1, 2, 1, 2]];
const LIGHT = ['#0072b2', '#d55e00', '#009e73', '#b57a00', '#9b4d86', '#3b95cc', '#5c6670'];
const DARK = ['#56b4e9', '#ef8a4a', '#2fc79a', '#e69f00', '#dd96bf', '#8fb4ff', '#aab4be'];

let cache = null;
const listeners = new Set();

function read() {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  const dark = get('--dark') === '1';
  return {
    dark,
    series: dark ? DARK : LIGHT,
    text: get('--text'),
    muted: get('--muted'),
    grid: get('--grid'),
    panel: get('--panel'),
    pause: get('--pause'),
    sent: get('--sent'),
    alarm: get('--alarm'),
    accent: get('--accent'),
  };
}

export const theme = () => (cache ??= read());

export const colour = (i) => theme().series[i % theme().series.length];
export const dash = (i) => DASHES[i % DASHES.length];

export function onTheme(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

function changed() {
  cache = null;
  for (const f of [...listeners]) f();
}

/** mode: 'light', 'dark', or null to follow the system. */
export function setTheme(mode) {
  if (mode) document.documentElement.dataset.theme = mode;
  else delete document.documentElement.dataset.theme;
  changed();
}

export function startTheme() {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}

const patterns = new Map();
/** Hatching: kind is one of / \ x . - | or ' ' for a plain tint. */
export function hatch(ctx, kind, strokeColour, scale = devicePixelRatio || 1) {
  const key = `${kind} ${strokeColour} ${scale}`;
  if (patterns.has(key)) return patterns.get(key);
  const size = Math.round(6 * scale);
  const tile = new OffscreenCanvas(size, size);
  const c = tile.getContext('2d');
  c.fillStyle = c.strokeStyle = strokeColour;
  c.globalAlpha = 0.28;
  c.fillRect(0, 0, size, size);
  c.globalAlpha = 0.9;
  c.lineWidth = 1.1 * scale;
  const line = (...p) => {
    c.beginPath();
    c.moveTo(p[0], p[1]);
    c.lineTo(p[2], p[3]);
    c.stroke();
  };
  const diagonals = (sign) => {
    for (const d of [-size, 0, size])
      if (sign > 0) line(d - 1, size + 1, d + size + 1, -1);
      else line(d - 1, -1, d + size + 1, size + 1);
  };
  if (kind === '/' || kind === 'x') diagonals(1);
  if (kind === '\\' || kind === 'x') diagonals(-1);
  if (kind === '-') line(0, size / 2, size, size / 2);
  if (kind === '|') line(size / 2, 0, size / 2, size);
  if (kind === '.') c.fillRect(size / 3, size / 3, size / 3, size / 3);
  const pattern = ctx.createPattern(tile, 'repeat');
  if (patterns.size > 200) patterns.clear();
  patterns.set(key, pattern);
  return pattern;
}
export const HATCHES = [' ', '/', '\\', '-', '.', 'x', '|'];
