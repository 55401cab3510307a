// Converts a result to chart data. Each chart has one or more curves over time.

import type { Result, Trace } from "./protocol";
import { charts } from "./words";

export interface Curve {
  label: string;
  /** The group that sets the colour of the curve. A number below 0 means a separate colour. */
  group: number;
  dash: boolean;
  x: Float64Array;
  y: (number | null)[];
}

export interface Chart {
  id: string;
  title: string;
  curves: Curve[];
  /** Set if x is not time: the unit of x, and whether a line joins the points. */
  across?: { unit: string; line: boolean };
}

/** The largest number of points of a curve that is drawn unchanged. Longer curves are thinned. */
const MOST_POINTS = 6000;

/** Thins a curve. Keeps the first, the smallest and the largest point of each stretch. */
export function thinned(x: Float64Array, y: Float64Array): { x: Float64Array; y: (number | null)[] } {
  if (x.length <= MOST_POINTS) return { x, y: Array.from(y, (value) => (Number.isFinite(value) ? value : null)) };
  const stretch = Math.ceil((3 * x.length) / MOST_POINTS);
  const kept: number[] = [];
  for (let begin = 0; begin < x.length; begin += stretch) {
    let [least, most] = [begin, begin];
    for (let at = begin; at < Math.min(begin + stretch, x.length); at += 1) {
      if ((y[at] ?? 0) < (y[least] ?? 0)) least = at;
      if ((y[at] ?? 0) > (y[most] ?? 0)) most = at;
    }
    kept.push(...[...new Set([begin, least, most])].sort((a, b) => a - b));
  }
  return { x: Float64Array.from(kept, (at) => x[at] ?? 0), y: kept.map((at) => y[at] ?? null) };
}

function ofTrace(result: Result, trace: Trace, scale: number): Curve {
  const group = result.watched.groups.findIndex((group) => group.name === trace.flow);
  // End each curve when the flow stops or completes, because the flow's state has no meaning after
  // that.
  const end = result.summary.flows.find((flow) => flow.name === trace.flow)?.to_s ?? Infinity;
  const count = trace.time.filter((time) => time <= end).length;
  const { x, y } = thinned(trace.time.subarray(0, count), trace.value.subarray(0, count));
  return {
    label: trace.flow ?? trace.link ?? "",
    group,
    dash: false,
    x,
    y: scale === 1 ? y : y.map((value) => (value === null ? null : value * scale)),
  };
}

function times(result: Result): Float64Array {
  const { bins, width_s } = result.watched;
  return Float64Array.from({ length: bins }, (_, at) => (at + 0.5) * width_s);
}

function ofGroups(result: Result, columns: Float64Array[]): Curve[] {
  const x = times(result);
  return columns.map((column, group) => ({
    label: result.watched.groups[group]?.name ?? "",
    group,
    dash: false,
    x,
    y: Array.from(column, (value) => (Number.isFinite(value) ? value : null)),
  }));
}

/** Returns the sum of all groups' columns as a curve. */
function total(result: Result, columns: Float64Array[], label: string, group: number): Curve {
  const sums = new Array<number>(result.watched.bins).fill(0);
  for (const column of columns) column.forEach((value, at) => (sums[at] = (sums[at] ?? 0) + value));
  return { label, group, dash: false, x: times(result), y: sums };
}

/** The numbers for the colours of marks and of drops. They are below 0, so they differ from the
 * numbers of groups. */
export const MARKS = -1;
export const DROPS = -2;

/** Returns the state variables of queues for which a result has series. */
export function states(result: Result): string[] {
  const link = result.loaded.points[result.point]?.links[result.link]?.name;
  const own = result.traces.filter((trace) => trace.flow === null && trace.link === link);
  return [...new Set(own.map((trace) => trace.quantity))];
}

/** Returns every chart of a result. `state` names the state variable of the queue to draw. */
export function curves(result: Result, state: string): Chart[] {
  const { watched, traces } = result;
  const of = (quantity: string, scale = 1) =>
    traces.filter((trace) => trace.quantity === quantity && trace.flow !== null).map((trace) => ofTrace(result, trace, scale));
  const link = result.loaded.points[result.point]?.links[result.link]?.name;
  const own = traces.filter((trace) => trace.quantity === state && trace.flow === null && trace.link === link);
  return [
    { id: "delay", title: charts.delay, curves: ofGroups(result, watched.delay) },
    { id: "throughput", title: charts.throughput, curves: ofGroups(result, watched.throughput) },
    { id: "cwnd", title: charts.cwnd, curves: of("cwnd") },
    { id: "srtt", title: charts.srtt, curves: of("srtt_ns", 1e-6) },
    {
      id: "signals",
      title: charts.signals,
      curves: [total(result, watched.marks, "marks", MARKS), total(result, watched.drops, "drops", DROPS)],
    },
    { id: "state", title: `${charts.state}: ${state}`, curves: own.map((trace) => ofTrace(result, trace, 1)) },
  ];
}
