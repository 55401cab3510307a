// Draws time charts of a run with uPlot. The charts share a cursor. The lines of a second run, for
// comparison, are dashed.

import uPlot from "uplot";
import { type Chart, type Curve, DROPS, MARKS, curves, states } from "./curves";
import { el, menu, short } from "./dom";
import type { Series } from "./foreign";
import { planes } from "./planes";
import type { Result } from "./protocol";
import { colour, inks } from "./theme";
import { charts as titles, words } from "./words";

const HEIGHT = 132;

export function inkOf(curve: Curve): string {
  if (curve.group === DROPS) return inks().bad;
  if (curve.group === MARKS) return inks().mark;
  return colour(Math.max(0, curve.group));
}

interface Drawn {
  plot: uPlot;
  head: HTMLElement;
  values: HTMLElement;
  playhead: HTMLElement;
  curves: Curve[];
  across: Chart["across"];
}

export class Charts {
  readonly element = el("section", { class: "charts", "aria-label": words.charts });
  private readonly drawn: Drawn[] = [];
  private state = "backlog_packets";
  private hidden = new Set<number>();
  private result: Result | null = null;
  private before: Result | null = null;
  private beside: Series[] = [];
  private zoomed = false;
  private time = 0;

  constructor(private readonly go: (time: number) => void) {
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  /** Returns the charts over time that were drawn last, so that they can be saved to a file. */
  current(): Chart[] {
    return this.result === null ? [] : this.both(this.result).filter((chart) => chart.across === undefined);
  }

  canvases(): HTMLCanvasElement[] {
    return this.drawn.map((one) => one.plot.ctx.canvas);
  }

  hide(groups: Set<number>): void {
    this.hidden = groups;
    this.show(this.result, this.before);
  }

  /** Draws series from files beside the run. */
  besides(series: Series[]): void {
    this.beside = series;
    this.show(this.result, this.before);
  }

  /** Returns the curves from files for a chart, up to the end of the run. */
  private ofFiles(id: string, end: number): Curve[] {
    const own = this.beside.filter((one) => one.chart === id).map((one) => one.curve);
    return own.map((curve) => {
      const count = curve.x.filter((time) => time <= end).length;
      return { ...curve, x: curve.x.slice(0, count), y: curve.y.slice(0, count) };
    });
  }

  /** Returns the curves of both runs and of files, grouped by chart. */
  private both(result: Result): Chart[] {
    const all = (one: Result) => [...curves(one, this.state), ...planes(one)];
    const before = this.before === null ? [] : all(this.before);
    return all(result).map((chart) => {
      const old = (before.find((one) => one.id === chart.id)?.curves ?? []).map((curve) => ({ ...curve, dash: true, label: `${curve.label}, before` }));
      const all = [...old, ...chart.curves, ...this.ofFiles(chart.id, result.summary.duration_s)].filter((curve) => !this.hidden.has(curve.group));
      return { ...chart, curves: all };
    });
  }

  show(result: Result | null, before: Result | null): void {
    this.result = result;
    this.before = before;
    if (result === null) return;
    const all = states(result);
    if (!all.includes(this.state)) this.state = all[0] ?? "";
    const x = this.zoomed ? this.drawn[0]?.plot.scales["x"] : undefined;
    const charts = this.both(result);
    const same = charts.length === this.drawn.length && charts.every((chart, at) => fits(chart, this.drawn[at]));
    if (same) {
      charts.forEach((chart, at) => {
        const drawn = this.drawn[at];
        if (drawn === undefined) return;
        drawn.curves = chart.curves;
        drawn.plot.setData(data(chart), !this.zoomed || chart.across !== undefined);
      });
    } else {
      this.clear();
      charts.forEach((chart) => this.draw(chart, all));
    }
    if (x?.min !== undefined && x.max !== undefined) this.zoom(x.min, x.max);
    // Wait until uPlot has computed the scales of the new charts.
    requestAnimationFrame(() => this.playhead(this.time));
  }

  /** Draws all charts again, after a change of colours. */
  refresh(): void {
    this.clear();
    this.show(this.result, this.before);
  }

  /** Marks the time of the animation in all charts. */
  playhead(time: number): void {
    this.time = time;
    for (const { plot, playhead, across } of this.drawn) {
      if (across !== undefined) continue;
      // Use whole pixels, because a line between two pixels is blurred.
      const left = Math.round(plot.valToPos(time, "x"));
      playhead.style.transform = `translateX(${left}px)`;
      playhead.hidden = !(left >= 0 && left <= plot.over.clientWidth);
    }
  }

  private clear(): void {
    this.drawn.forEach((one) => one.plot.destroy());
    this.drawn.length = 0;
    this.element.replaceChildren();
  }

  private draw(chart: Chart, all: string[]): void {
    const ink = inks();
    const head = el("h3", {}, chart.id === "state" ? `${titles.state} ` : chart.title);
    if (chart.id === "state") {
      head.append(
        menu(titles.state, all.map((name) => [name, name]), this.state, (name) => {
          this.state = name;
          this.refresh();
        }),
      );
    }
    const values = el("span", { class: "values" });
    head.append(values);
    const host = el("div", { class: "chart", role: "img", "aria-label": chart.title });
    this.element.append(head, host);
    const { across } = chart;
    const axis = { stroke: ink.muted, grid: { stroke: ink.grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const end = () => this.result?.summary.duration_s ?? 1;
    const plot = new uPlot(
      {
        width: Math.max(200, host.clientWidth),
        height: HEIGHT,
        legend: { show: false },
        padding: [6, 18, 0, 0],
        cursor: { ...(across === undefined ? { sync: { key: "lab" } } : {}), drag: { x: true, y: false }, points: { size: 5 } },
        scales: {
          x: { time: false, range: (_, min, max) => (across !== undefined ? [Math.min(0, min), (max || 1) * 1.04] : this.zoomed ? [min, max] : [0, end()]) },
          y: { range: (_, min, max) => [Math.min(0, min ?? 0), (max ?? 0) > 0 ? (max ?? 1) * 1.08 : 1] },
        },
        axes: [
          { ...axis, size: 22, values: (_, marks) => marks.map((mark) => `${mark} ${across?.unit ?? "s"}`.trim()), ...(across === undefined ? {} : { space: 90 }) },
          { ...axis, size: 44 },
        ],
        series: [{}, ...chart.curves.map((curve) => line(curve, chart))],
        hooks: {
          setCursor: [(plot) => this.tell(plot)],
          setScale: [(plot, key) => (key === "x" && across === undefined ? this.scaled(plot) : undefined)],
          ready: [(plot) => (across === undefined ? this.listen(plot) : undefined)],
        },
      },
      data(chart),
      host,
    );
    const playhead = el("div", { class: "playhead" });
    if (across === undefined) plot.over.append(playhead);
    this.drawn.push({ plot, head, values, playhead, curves: chart.curves, across });
  }

  private listen(plot: uPlot): void {
    let down = 0;
    plot.over.addEventListener("mousedown", (event) => (down = event.clientX));
    plot.over.addEventListener("click", (event) => {
      if (Math.abs(event.clientX - down) > 4) return;
      this.go(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
    });
    plot.over.addEventListener("dblclick", () => {
      this.zoomed = false;
      const end = this.result?.summary.duration_s ?? 1;
      this.zoom(0, end);
      this.zoomed = false;
    });
  }

  private busy = false;

  /** Applies the zoom of one chart to all charts. */
  private scaled(plot: uPlot): void {
    const { min, max } = plot.scales["x"] ?? {};
    const end = this.result?.summary.duration_s ?? 1;
    if (this.busy || min === undefined || max === undefined) return;
    if (min <= 0 && max >= end) return;
    this.zoomed = true;
    this.zoom(min, max);
    this.playhead(this.time);
  }

  private zoom(min: number, max: number): void {
    this.busy = true;
    for (const { plot, across } of this.drawn) {
      if (across === undefined) plot.setScale("x", { min, max });
    }
    this.busy = false;
  }

  private tell(plot: uPlot): void {
    const drawn = this.drawn.find((one) => one.plot === plot);
    const at = plot.cursor.idx;
    if (drawn === undefined) return;
    if (at === null || at === undefined) {
      drawn.values.replaceChildren();
      return;
    }
    const time = plot.data[0][at];
    const parts = drawn.curves.map((curve, number) => {
      const value = nearest(plot.data[number + 1], at);
      const swatch = el("i", { class: curve.dash ? "dash" : "" });
      swatch.style.background = inkOf(curve);
      return el("span", { title: curve.label }, swatch, short(value));
    });
    drawn.values.replaceChildren(`${short(time, 4)} ${drawn.across?.unit ?? "s"} `, ...parts.slice(0, 12));
  }

  private fit(): void {
    for (const { plot } of this.drawn) {
      const width = Math.max(200, plot.root.parentElement?.clientWidth ?? 0);
      if (Math.abs(width - plot.width) > 1) plot.setSize({ width, height: HEIGHT });
    }
    requestAnimationFrame(() => this.playhead(this.time));
  }
}

/** Returns the value at an index. If there is no value, returns the last value before the index. */
function nearest(column: ArrayLike<number | null | undefined> | undefined, at: number): number | null {
  for (let place = at; place >= 0 && column !== undefined; place -= 1) {
    const value = column[place];
    if (value !== undefined) return value;
  }
  return null;
}

/** Returns whether a drawn chart can show new data without being built again. */
function fits(chart: Chart, drawn: Drawn | undefined): boolean {
  const same = (curve: Curve, other: Curve | undefined) => curve.label === other?.label && curve.dash === other.dash && curve.group === other.group;
  return drawn !== undefined && chart.curves.length === drawn.curves.length && chart.curves.every((curve, at) => same(curve, drawn.curves[at]));
}

function data(chart: Chart): uPlot.AlignedData {
  if (chart.curves.length === 0) return [[], []];
  return uPlot.join(chart.curves.map((curve) => [curve.x, curve.y] as unknown as uPlot.AlignedData));
}

function line(curve: Curve, { id, across }: Chart): uPlot.Series {
  const stepped = id === "cwnd" && uPlot.paths.stepped !== undefined;
  return {
    stroke: inkOf(curve),
    width: curve.dash ? 1 : 1.5,
    alpha: curve.dash ? 0.7 : 1,
    points: { show: false },
    spanGaps: id !== "delay",
    ...(curve.dash ? { dash: [4, 4] } : {}),
    ...(across?.line === false ? { paths: () => null, points: { show: true, size: 4, fill: curve.dash ? inks().page : inkOf(curve), width: 1 } } : {}),
    ...(stepped ? { paths: uPlot.paths.stepped?.({ align: 1 }) } : {}),
  };
}
