// SPDX-License-Identifier: Apache-2.0
// Room in a drawing: boxes that are taken, and the first of several places that is free.

export class Places {
  constructor() {
    this.taken = [];
    this.lines = []; // to be kept clear where that is possible
  }

  /** A box around its middle. */
  take(x, y, w, h) {
    this.taken.push([x - w / 2, y - h / 2, x + w / 2, y + h / 2]);
  }

  free(x, y, w, h) {
    const [l, t, r, b] = [x - w / 2, y - h / 2, x + w / 2, y + h / 2];
    return this.taken.every((o) => r <= o[0] || l >= o[2] || b <= o[1] || t >= o[3]);
  }

  /** No line crosses the box. */
  clear(x, y, w, h) {
    return !this.lines.some(([x1, y1, x2, y2]) =>
      crosses(x1 - x, y1 - y, x2 - x, y2 - y, w / 2, h / 2)
    );
  }

  /** The first free one of [x, y] is taken and returned, one without a line if there is; null: none
   *  is free. */
  first(places, w, h) {
    const free = places.filter(([x, y]) => this.free(x, y, w, h));
    const found = free.find(([x, y]) => this.clear(x, y, w, h)) ?? free[0] ?? null;
    if (found) this.take(found[0], found[1], w, h);
    return found;
  }

  /** The same boxes, for what may lie on lines. */
  copy() {
    const other = new Places();
    other.taken = [...this.taken];
    return other;
  }
}

/** Does a line cross the box of these halves around 0, 0? */
function crosses(x1, y1, x2, y2, w, h) {
  let from = 0,
    to = 1;
  for (const [a, d, most] of [
    [x1, x2 - x1, w],
    [y1, y2 - y1, h],
  ]) {
    if (d === 0) {
      if (Math.abs(a) > most) return false;
      continue;
    }
    const ends = [(-most - a) / d, (most - a) / d];
    from = Math.max(from, Math.min(...ends));
    to = Math.min(to, Math.max(...ends));
  }
  return from <= to;
}
