// Stores when each packet entered and left the queue, in order of arrival, and finds the packets in
// the queue at a given time.

import type { Watched } from "./protocol";

export const ACK = 1;
export const RETRANSMITTED = 2;
export const LEFT_CE = 8;
export const LEFT_SCE = 16;

export class Queue {
  readonly came: Float64Array;
  readonly left: Float64Array;
  readonly group: Uint8Array;
  readonly fate: Uint8Array;
  readonly flags: Uint8Array;
  /** Largest number of packets that are in the queue at the same time. */
  readonly most: number;
  /** Indices of packets in the order in which they left the queue or were dropped. */
  private readonly gone: Uint32Array;
  private readonly goneAt: Float64Array;
  private readonly longest: number;

  constructor(readonly watched: Watched) {
    const { stays } = watched;
    const order = sorted(stays.came);
    this.came = order.map(stays.came);
    // If a packet is still in the queue at the end of the run, it counts as never leaving.
    this.left = order.map(stays.left).map((left) => (Number.isNaN(left) ? Infinity : left));
    this.group = Uint8Array.from(order.index, (at) => stays.group[at] ?? 0);
    this.fate = Uint8Array.from(order.index, (at) => stays.fate[at] ?? 0);
    this.flags = Uint8Array.from(order.index, (at) => stays.flags[at] ?? 0);
    const leaving = sorted(this.left);
    this.gone = leaving.index;
    this.goneAt = leaving.map(this.left);
    let longest = 0;
    for (let at = 0; at < this.came.length; at += 1) {
      const stay = (this.left[at] ?? 0) - (this.came[at] ?? 0);
      if (stay > longest && stay < Infinity) longest = stay;
    }
    this.longest = longest;
    this.most = this.largest();
  }

  private largest(): number {
    let [most, there, next] = [0, 0, 0];
    for (const came of this.came) {
      while (next < this.goneAt.length && (this.goneAt[next] ?? Infinity) <= came) {
        there -= 1;
        next += 1;
      }
      there += 1;
      if (there > most) most = there;
    }
    return most;
  }

  /** Returns whether packets were recorded at a time. */
  knows(time: number): boolean {
    return time >= this.watched.from_s && time <= this.watched.until_s;
  }

  /** Returns the packets that are in the queue at a time, in order of arrival. */
  at(time: number): number[] {
    const there: number[] = [];
    const end = before(this.came, time, true);
    for (let at = before(this.came, time - this.longest, false); at < end; at += 1) {
      if ((this.left[at] ?? 0) > time) there.push(at);
    }
    // The search begins at `time` minus the longest stay. Only packets that left the queue
    // determine the longest stay, so the search may miss a packet that never leaves.
    return there;
  }

  /** Returns the packets that leave or are dropped between two times. */
  leaving(from: number, to: number): number[] {
    const found: number[] = [];
    const end = before(this.goneAt, to, true);
    for (let at = before(this.goneAt, from, true); at < end; at += 1) found.push(this.gone[at] ?? 0);
    return found;
  }

  /** Returns the packets that arrive between two times. */
  coming(from: number, to: number): number[] {
    const begin = before(this.came, from, true);
    const end = before(this.came, to, true);
    return Array.from({ length: end - begin }, (_, at) => begin + at);
  }

  /** Returns the time of the next arrival, departure or drop. */
  next(time: number): number | null {
    const times = [this.came[before(this.came, time, true)], this.goneAt[before(this.goneAt, time, true)]];
    const found = Math.min(...times.map((at) => at ?? Infinity));
    return found === Infinity ? null : found;
  }

  /** Returns the time of the previous arrival, departure or drop. */
  previous(time: number): number | null {
    const times = [this.came[before(this.came, time, false) - 1], this.goneAt[before(this.goneAt, time, false) - 1]];
    const found = Math.max(...times.map((at) => at ?? -Infinity));
    return found === -Infinity ? null : found;
  }
}

/** Returns how many of some ascending numbers are below a limit. If `included` is true, also counts
 * the numbers that equal the limit. */
function before(numbers: Float64Array, limit: number, included: boolean): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const number = numbers[middle] ?? 0;
    if (number < limit || (included && number === limit)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function sorted(keys: Float64Array): { index: Uint32Array; map: (column: Float64Array) => Float64Array } {
  const index = Uint32Array.from(keys, (_, at) => at);
  const key = (at: number) => (Number.isNaN(keys[at] ?? NaN) ? Infinity : (keys[at] ?? 0));
  let ascending = true;
  for (let at = 1; at < keys.length && ascending; at += 1) ascending = key(at - 1) <= key(at);
  if (!ascending) index.sort((a, b) => key(a) - key(b) || a - b);
  return { index, map: (column) => Float64Array.from(index, (at) => column[at] ?? 0) };
}
