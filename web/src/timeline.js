// SPDX-License-Identifier: Apache-2.0
// Columns of numbers over time. A frame holds what changed, so a column keeps its changes only:
// the number of the frame, and the value from there on. A view asks for dense arrays.

export class Broken extends Error {}

const LISTS = new Set(['ports', 'queues', 'pgs', 'pfc', 'pools', 'drops', 'ecn', 'hosts', 'flows']);
const MAX_COLUMNS = 1e6;
const LINE_OVERHEAD = 24; // bytes of a frame on the line beyond its length: preamble, gap, FCS

const keyOf = (sw, list, object, index, fact) =>
  `${sw}\n${list}\n${object}\n${index ?? ''}\n${fact}`;

export class Timeline {
  /** limit: frames that are kept; the oldest go. */
  constructor(limit = Infinity) {
    this.limit = limit;
    this.clear();
  }

  clear() {
    this.columns = [];
    this.byKey = new Map();
    this.times = [];
    this.first = 0; // the number of the frame of times[0]
    this.version = (this.version ?? 0) + 1;
    this.shape = (this.shape ?? 0) + 1; // changes where columns do
  }

  static from(data) {
    if (
      typeof data !== 'object' ||
      data === null ||
      !Array.isArray(data.columns) ||
      !Array.isArray(data.frames)
    )
      throw new Broken('the timeline needs "columns" and "frames", both lists');
    const t = new Timeline();
    t.addColumns(0, data.columns);
    for (const frame of data.frames) t.addFrame(frame);
    return t;
  }

  addColumns(first, columns) {
    if (first === 0 && this.columns.length) this.clear();
    if (!Array.isArray(columns) || first !== this.columns.length)
      throw new Broken(`columns begin at ${first}, and ${this.columns.length} are known`);
    if (first + columns.length > MAX_COLUMNS)
      throw new Broken(`the timeline has more than ${MAX_COLUMNS} columns`);
    for (const c of columns) {
      if (!Array.isArray(c) || c.length !== 5)
        throw new Broken(
          `column ${this.columns.length} is not [switch, list, object, index, fact]`
        );
      const [sw, list, object, index, fact] = c;
      const column = {
        sw: String(sw),
        list: String(list),
        object: String(object),
        index,
        fact: String(fact),
        frames: [],
        values: [],
        known: LISTS.has(list),
      };
      this.byKey.set(keyOf(sw, list, object, index, fact), this.columns.length);
      this.columns.push(column);
    }
    this.shape++;
    this.version++;
  }

  addFrame(frame) {
    const where = `frame ${this.first + this.times.length}`;
    if (!Array.isArray(frame) || frame.length % 2 !== 1 || !Number.isFinite(frame[0]))
      throw new Broken(`${where} is not [t_ns, column, value, ...]`);
    if (this.times.length && frame[0] <= this.times.at(-1)) {
      if (frame[0] < this.times.at(-1)) throw new Broken(`${where} goes back in time`);
      this.times.pop(); // a second frame of the same moment replaces the time only
    }
    this.times.push(frame[0]);
    const number = this.first + this.times.length - 1;
    for (let k = 1; k < frame.length; k += 2) {
      const column = this.columns[frame[k]];
      if (column === undefined) throw new Broken(`${where}: there is no column ${frame[k]}`);
      if (!Number.isFinite(frame[k + 1]))
        throw new Broken(`${where}: column ${frame[k]} gets no number`);
      if (column.frames.at(-1) === number) column.values[column.values.length - 1] = frame[k + 1];
      else {
        column.frames.push(number);
        column.values.push(frame[k + 1]);
      }
    }
    if (this.times.length > this.limit + 300) this.prune();
    this.version++;
  }

  prune() {
    const gone = this.times.length - this.limit;
    this.times.splice(0, gone);
    this.first += gone;
    for (const c of this.columns) {
      let n = 0;
      while (n + 1 < c.frames.length && c.frames[n + 1] <= this.first) n++;
      if (n) {
        c.frames.splice(0, n);
        c.values.splice(0, n);
      }
    }
  }

  get length() {
    return this.times.length;
  }

  /** The number of a column; undefined: it was 0 all the time. */
  find(sw, list, object, index, fact) {
    return this.byKey.get(keyOf(sw, list, object, index, fact));
  }

  /** The value of a column at the frame k of times. */
  at(i, k) {
    if (i === undefined) return 0;
    const { frames, values } = this.columns[i];
    const number = this.first + k;
    let lo = 0,
      hi = frames.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (frames[mid] <= number) lo = mid + 1;
      else hi = mid;
    }
    return lo ? values[lo - 1] : 0;
  }

  /** The last frame at or before the time; 0 where there is none. */
  frameAt(t) {
    let lo = 0,
      hi = this.times.length;
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (this.times[mid] <= t) lo = mid + 1;
      else hi = mid;
    }
    return Math.max(0, lo - 1);
  }

  /** Growth of a counter in the frame k, per ns. */
  rateAt(i, k) {
    if (i === undefined || k < 1) return 0;
    const grown = this.at(i, k) - this.at(i, k - 1);
    return grown > 0 ? grown / (this.times[k] - this.times[k - 1]) : 0;
  }

  gauge(i) {
    const out = new Float64Array(this.length);
    if (i === undefined) return out;
    const { frames, values } = this.columns[i];
    let n = 0,
      v = 0;
    for (let k = 0; k < out.length; k++) {
      while (n < frames.length && frames[n] <= this.first + k) v = values[n++];
      out[k] = v;
    }
    return out;
  }

  /** Growth of a counter since the frame before; NaN in the first one. */
  growth(i) {
    const out = this.gauge(i);
    for (let k = out.length - 1; k > 0; k--) out[k] = Math.max(0, out[k] - out[k - 1]);
    if (out.length) out[0] = NaN;
    return out;
  }

  /** Growth by time, times `scale`: 8e9 makes bits per second of bytes. */
  rate(i, scale) {
    const out = this.growth(i);
    for (let k = 1; k < out.length; k++) out[k] *= scale / (this.times[k] - this.times[k - 1]);
    return out;
  }

  /** Bits per second on the line: those of the frames, and 24 bytes of overhead for each. `way`:
   *  tx or rx, of a port or a host. Only this rate can reach the speed of a port. n: a mean over so
   *  many frames of the timeline. */
  lineRate(sw, list, object, way, n = 0) {
    const of = (fact) => {
      const i = this.find(sw, list, object, null, `${way}_${fact}`);
      return n ? this.meanRate(i, 8e9, n) : this.rate(i, 8e9);
    };
    const frames = of('packets');
    return of('bytes').map((v, k) => v + LINE_OVERHEAD * frames[k]);
  }

  /** The same of one frame, by the numbers of both columns. */
  lineRateAt(bytes, frames, k) {
    return (this.rateAt(bytes, k) + LINE_OVERHEAD * this.rateAt(frames, k)) * 8e9;
  }

  /** How many frames a mean takes: at least 8, and a hundredth of the timeline. */
  get meanFrames() {
    const span = (this.times.at(-1) - this.times[0]) / 100;
    const mean = (this.times.at(-1) - this.times[0]) / Math.max(1, this.length - 1);
    return Math.max(1, Math.min(this.length - 1, Math.max(8, Math.ceil(span / mean))));
  }

  /** Of a counter that grows in steps: four of them at least, but a tenth of it all at most. */
  stepFrames(i) {
    const { frames } = this.columns[i];
    const gaps = frames.slice(1).map((f, k) => f - frames[k]);
    const gap = gaps.sort((a, b) => a - b)[gaps.length >> 1] ?? 1;
    return Math.max(this.meanFrames, Math.min(4 * gap, Math.floor(this.length / 10)));
  }

  /** The rate of a counter that grows in steps: the mean over the `n` frames around each one. */
  meanRate(i, scale, n = this.stepFrames(i)) {
    const v = this.gauge(i);
    return v.map((_, k) => {
      const from = Math.max(0, Math.min(k - (n >> 1), v.length - 1 - n));
      const to = Math.min(v.length - 1, from + n);
      const span = this.times[to] - this.times[from];
      return span > 0 ? (Math.max(0, v[to] - v[from]) * scale) / span : NaN;
    });
  }

  /** The sum of columns. */
  total(columns) {
    const out = new Float64Array(this.length);
    for (const i of columns)
      this.gauge(i).forEach((v, k) => {
        out[k] += v;
      });
    return out;
  }

  /** Columns of a list, in a map by object and index. */
  select(sw, list, fact) {
    const out = [];
    this.columns.forEach((c, i) => {
      if (c.list === list && c.fact === fact && (sw === null || c.sw === sw)) out.push({ ...c, i });
    });
    return out;
  }
}
