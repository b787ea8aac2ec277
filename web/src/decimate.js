// SPDX-License-Identifier: Apache-2.0
// Long series for narrow plots: of each pixel column the first, least, most and last sample stay,
// so that no peak is lost.

/** The first index whose x is not below. */
export function lowerBound(xs, x) {
  let lo = 0,
    hi = xs.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (xs[mid] < x) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** The index whose x is closest. -1: there is none. */
export function nearest(xs, x) {
  if (!xs.length) return -1;
  const i = lowerBound(xs, x);
  if (i === 0) return 0;
  if (i === xs.length) return i - 1;
  return x - xs[i - 1] <= xs[i] - x ? i - 1 : i;
}

/** [xs, ys...] of the samples from `lo` to `hi`, `columns` pixel columns wide, aligned. */
export function decimate(xs, ys, lo, hi, columns) {
  const n = hi - lo;
  if (n <= columns * 4) return [xs.slice(lo, hi), ...ys.map((y) => y.slice(lo, hi))];
  const size = columns * 2;
  const outX = new Float64Array(size);
  const out = ys.map(() => new Array(size));
  for (let c = 0; c < columns; c++) {
    const from = lo + Math.floor((n * c) / columns),
      to = lo + Math.floor((n * (c + 1)) / columns);
    outX[2 * c] = xs[from];
    outX[2 * c + 1] = to - from > 1 ? xs[to - 1] : xs[from];
    ys.forEach((y, s) => {
      let least = Infinity,
        most = -Infinity,
        leastAt = -1,
        mostAt = -1;
      for (let i = from; i < to; i++) {
        const v = y[i];
        if (v === null || v !== v) continue;
        if (v < least) {
          least = v;
          leastAt = i;
        }
        if (v > most) {
          most = v;
          mostAt = i;
        }
      }
      const none = leastAt < 0;
      const rising = leastAt <= mostAt;
      out[s][2 * c] = none ? null : rising ? least : most;
      out[s][2 * c + 1] = none ? null : rising ? most : least;
    });
  }
  return [outX, ...out];
}
