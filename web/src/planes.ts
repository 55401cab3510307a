// Converts a result to charts that do not have time on the x axis. The first is the distribution of
// the queue delay. The second is Kleinrock's plane, which shows delivery rate and RTT against the
// data in flight.

import type { Chart, Curve } from "./curves";
import { short } from "./dom";
import type { Result, Trace } from "./protocol";
import { charts } from "./words";

/** Largest number of points of a curve. A longer curve keeps points at equal distances. */
const MOST_POINTS = 1500;

/** Returns the charts without time on the x axis. Charts without data are left out. */
export function planes(result: Result): Chart[] {
  const all: Chart[] = [
    { id: "cdf", title: title(result), across: { unit: "ms", line: true }, curves: distributions(result) },
    { id: "rate-plane", title: charts.ratePlane, across: { unit: "", line: false }, curves: plane(result, rates) },
    { id: "rtt-plane", title: charts.rttPlane, across: { unit: "", line: false }, curves: plane(result, rtts) },
  ];
  return all.filter((chart) => chart.curves.length > 0);
}

/** Returns the title of the distribution. The title tells the user if only some of a run's packets
 * are known. */
function title({ watched, summary }: Result): string {
  const whole = watched.from_s <= 0 && watched.until_s >= summary.duration_s;
  return whole ? charts.cdf : charts.cdfOfPart(short(watched.from_s), short(watched.until_s));
}

/** Returns, for each group, the share of forwarded packets that waited no longer than x. Like the
 * summary of the run, it counts only packets that left after the warm-up. */
function distributions(result: Result): Curve[] {
  const { groups, stays } = result.watched;
  const warmup = result.loaded.points[result.point]?.warmup_s ?? 0;
  const waits: number[][] = groups.map(() => []);
  stays.left.forEach((left, at) => {
    if (left >= warmup && stays.fate[at] === 0) waits[stays.group[at] ?? 0]?.push(1e3 * (left - (stays.came[at] ?? 0)));
  });
  return waits.flatMap((own, group) => {
    if (own.length === 0) return [];
    const sorted = Float64Array.from(own).sort();
    const steps = Math.min(sorted.length, MOST_POINTS);
    const ranks = Array.from({ length: steps }, (_, step) => Math.ceil(((step + 1) * sorted.length) / steps));
    const x = Float64Array.from(ranks, (rank) => sorted[rank - 1] ?? 0);
    return [{ label: groups[group]?.name ?? "", group, dash: false, x, y: ranks.map((rank) => rank / sorted.length) }];
  });
}

/** Draws a quantity of each flow against its data in flight, with a point for each sample. */
function plane(result: Result, read: (result: Result, flow: string) => Map<number, number>): Curve[] {
  return result.traces.flatMap((trace) => {
    if (trace.quantity !== "in_flight" || trace.flow === null) return [];
    const values = read(result, trace.flow);
    const points: [number, number][] = [];
    const skip = Math.ceil(trace.time.length / MOST_POINTS);
    for (let at = 0; at < trace.time.length; at += skip) {
      const value = values.get(trace.time[at] ?? 0);
      if (value !== undefined) points.push([trace.value[at] ?? 0, value]);
    }
    points.sort((a, b) => a[0] - b[0]);
    const group = result.watched.groups.findIndex((group) => group.name === trace.flow);
    // uPlot needs a different x for each point of a curve.
    let last = -Infinity;
    const x = Float64Array.from(points, ([x]) => (last = Math.max(x, last + 1e-6)));
    return [{ label: trace.flow, group, dash: false, x, y: points.map(([, y]) => y) }];
  });
}

function find(result: Result, quantity: string, flow: string): Trace | undefined {
  return result.traces.find((trace) => trace.quantity === quantity && trace.flow === flow);
}

/** Returns the delivery rate since the previous sample, in Mbit/s, at each time. */
function rates(result: Result, flow: string): Map<number, number> {
  const found = new Map<number, number>();
  const trace = find(result, "delivered_bytes", flow);
  for (let at = 1; trace !== undefined && at < trace.time.length; at += 1) {
    const [from, to] = [trace.time[at - 1] ?? 0, trace.time[at] ?? 0];
    if (to > from) found.set(to, (8e-6 * ((trace.value[at] ?? 0) - (trace.value[at - 1] ?? 0))) / (to - from));
  }
  return found;
}

/** Returns the smoothed RTT in ms at each time. */
function rtts(result: Result, flow: string): Map<number, number> {
  const trace = find(result, "srtt_ns", flow);
  return new Map(Array.from(trace?.time ?? [], (time, at) => [time, 1e-6 * (trace?.value[at] ?? 0)]));
}
