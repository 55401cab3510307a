// Shows the summary of a run as a table. In a comparison, each cell contains the numbers of both
// runs.

import { el, short } from "./dom";
import type { Result, Summary } from "./protocol";
import { colour } from "./theme";
import { words } from "./words";

type Get<T> = (of: T) => number | null | undefined;

type Flow = Summary["flows"][number];
type Queue = Summary["queues"][string];

const FLOWS: [string, Get<Flow>][] = [
  ["Mbit/s", (flow) => flow.throughput_mbit],
  ["RTT ms", (flow) => flow.rtt_ms.mean],
  ["p99", (flow) => flow.rtt_ms.p99],
  ["sent again", (flow) => flow.retransmits],
  ["drops", (flow) => flow.drops],
  ["marks", (flow) => flow.marks],
];

const QUEUES: [string, Get<Queue>][] = [
  ["delay ms", (queue) => queue.delay_ms.mean],
  ["p99", (queue) => queue.delay_ms.p99],
  ["used %", (queue) => (queue.utilisation === null ? null : 100 * queue.utilisation)],
  ["packets", (queue) => queue.packets],
  ["drops", (queue) => queue.drops],
  ["marks", (queue) => queue.marks],
];

/** Largest number of flows to list. */
const MOST = 20;

export function results(result: Result, before: Result | null): HTMLElement {
  const { summary, watched } = result;
  const old = before?.summary;
  const group = (name: string) => watched.groups.findIndex((group) => group.name === name);
  const flows = summary.flows.slice(0, MOST).map((flow) => {
    const other = old?.flows.find((one) => one.name === flow.name);
    return row(flow.name, group(flow.name), FLOWS, flow, other);
  });
  const queues = Object.entries(summary.queues).slice(0, MOST).map(([name, queue]) => row(name, -1, QUEUES, queue, old?.queues[name]));
  const more = summary.flows.length - MOST;
  return el(
    "section",
    { class: "results", "aria-label": words.results },
    el("h2", {}, words.results),
    table("flow", FLOWS.map(([name]) => name), flows),
    more > 0 ? el("p", { class: "note" }, words.more(more)) : null,
    table("link", QUEUES.map(([name]) => name), queues),
  );
}

function table(first: string, columns: string[], rows: HTMLElement[]): HTMLElement {
  const head = el("tr", {}, ...[first, ...columns].map((name) => el("th", { scope: "col" }, name)));
  return el("div", { class: "wide" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
}

function row<T>(name: string, group: number, columns: [string, Get<T>][], now: T, old: T | undefined): HTMLElement {
  const head = el("th", { scope: "row" }, name);
  if (group >= 0) {
    const swatch = el("i", { class: "swatch" });
    swatch.style.background = colour(group);
    head.prepend(swatch);
  }
  const cells = columns.map(([, get]) => {
    const [value, was] = [get(now), old === undefined ? undefined : get(old)];
    const cell = el("td", {}, short(value));
    if (old !== undefined && short(was) !== short(value)) cell.append(el("s", { title: words.before }, short(was)));
    return cell;
  });
  return el("tr", {}, head, ...cells);
}
