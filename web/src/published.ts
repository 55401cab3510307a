// Shows the published values of an experiment beside the values of the runs that the page makes.

import { button, el, menu, short } from "./dom";
import type { Result, Summary } from "./protocol";
import { published as words } from "./words";

/** A published quantity: its values by row, and the place of the measured value in the summary. */
export interface Column {
  name: string;
  unit: string;
  values: (number | null)[];
  /** A list of the summary. Empty or missing for a number of the whole run. */
  list?: "flows" | "queues" | "classes" | "";
  /** The name of an entry of the list. The name also selects the entries `item/1`, `item/2`, ....
   * */
  item?: string;
  field?: string;
  how?: "sum" | "first";
  /** The item whose value is the divisor, if the quantity is a ratio. */
  over?: string;
  factor?: number;
}

export interface Published {
  title: string;
  rows: string[];
  /** The sweep point of each row. If this is null, row n is sweep point n. */
  points: number[] | null;
  columns: Column[];
}

/** If the ratio of the largest to the smallest value is at least this number, the scale is
 * logarithmic. */
const WIDE = 30;

/** Returns the measured value of a quantity. */
export function measured(summary: Summary, column: Column): number | null {
  const { list, item = "", field, how, over, factor = 1 } = column;
  if (field === undefined) return null;
  const value = (item: string): number | null => {
    const all = list ? Object.values((summary as unknown as Record<string, Record<string, unknown>>)[list] ?? {}) : [summary];
    const own = all.filter((one) => {
      const name = (one as { name?: string }).name ?? "";
      return !list || name === item || name.startsWith(`${item}/`);
    });
    const found = own.slice(0, how === "first" ? 1 : undefined).map((one) => field.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | null)?.[key], one));
    const numbers = found.filter((one): one is number => typeof one === "number");
    return numbers.length === 0 || numbers.length < found.length ? null : numbers.reduce((sum, one) => sum + one, 0);
  };
  const first = value(item);
  const divisor = over === undefined ? 1 : value(over);
  return first === null || !divisor ? null : (factor * first) / divisor;
}

export class PublishedValues {
  readonly element = el("section", { class: "published", "aria-label": words.title, hidden: true });
  private shown: Published | null = null;
  private column = 0;
  /** The scenario as it was opened, and the scenario of the runs in `here`. */
  private opened = "";
  private text = "";
  private current = 0;
  private count = 0;
  /** The summaries of the runs so far, by point. */
  private readonly here = new Map<number, Summary>();
  /** Points to simulate next. */
  private waiting: number[] = [];

  /** The function `go` opens a point of the sweep. */
  constructor(private readonly go: (point: number) => void) {}

  /** Shows the published values of a scenario that was just opened. Shows nothing if the scenario
   * has no such values. */
  open(published: Published | null, text: string): void {
    this.shown = published;
    this.column = 0;
    this.opened = this.text = text;
    this.here.clear();
    this.waiting = [];
    this.element.hidden = true;
  }

  /** Adds the values of a run. Then continues with the next point, if all points were requested. */
  show(result: Result): void {
    if (this.shown === null) return;
    if (result.text !== this.text) {
      this.here.clear();
      this.waiting = [];
      this.text = result.text;
    }
    this.here.set(result.point, result.summary);
    this.current = result.point;
    this.count = result.loaded.count;
    this.draw();
    const next = this.waiting.find((point) => !this.here.has(point));
    if (next !== undefined) this.go(next);
  }

  private points(): number[] {
    return this.shown?.points ?? this.shown?.rows.map((_, at) => at) ?? [];
  }

  private draw(): void {
    const { shown } = this;
    const points = this.points();
    // If the user has changed the sweep, show nothing, because the rows of published values no
    // longer match the points of the sweep.
    this.element.hidden = shown === null || this.count <= Math.max(...points);
    if (shown === null || this.element.hidden) return;
    const column = shown.columns[this.column];
    if (column === undefined) return;
    const known = column.field !== undefined;
    const values = points.map((point, row): [number | null, number | null] => {
      const summary = this.here.get(point);
      return [column.values[row] ?? null, summary === undefined ? null : measured(summary, column)];
    });
    const place = scale(values.flat().filter((value): value is number => value !== null));
    const choice = menu(words.quantity, shown.columns.map(({ name }, at) => [String(at), name]), String(this.column), (chosen) => {
      this.column = Number(chosen);
      this.draw();
    });
    const left = points.filter((point) => !this.here.has(point));
    const running = this.waiting.some((point) => !this.here.has(point));
    const all = button(running ? words.stop : words.all(new Set(left).size), words.allTitle, () => {
      this.waiting = running ? [] : left;
      if (!running && left[0] !== undefined) this.go(left[0]);
      this.draw();
    });
    all.hidden = left.length === 0 || !known;
    const unit = column.unit === "" ? "" : `, ${column.unit}`;
    const rows = values.map(([theirs, ours], row) => {
      const point = points[row] ?? 0;
      const open = button(shown.rows[row] ?? "", words.open, () => this.go(point));
      const track = el("div", { class: "track" });
      for (const [value, kind] of [[theirs, "theirs"], [ours, "ours"]] as const) {
        if (value === null) continue;
        const dot = el("i", { class: kind });
        dot.style.left = `${100 * place.at(value)}%`;
        track.append(dot);
      }
      const made = el("tr", {}, el("th", { scope: "row" }, open), el("td", {}, track), el("td", {}, short(theirs)), el("td", {}, short(ours)));
      if (point === this.current) made.setAttribute("aria-current", "true");
      return made;
    });
    const head = [words.run, place.said, `${words.theirs}${unit}`, `${words.ours}${unit}`].map((name) => el("th", { scope: "col" }, name));
    const scrolled = this.element.querySelector(".scroll")?.scrollTop ?? 0;
    const table = el("div", { class: "scroll wide" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)));
    this.element.replaceChildren(
      el("h2", {}, words.title),
      el("p", { class: "note" }, shown.title),
      el("p", { class: "note" }, this.text === this.opened ? words.same : words.changed, known ? "" : ` ${words.unknown}`),
      el("div", { class: "choices" }, choice, all),
      table,
    );
    table.scrollTop = scrolled;
  }
}

/** Returns where values are on a scale from 0 to 1, and the range of the scale in words. */
function scale(values: number[]): { at: (value: number) => number; said: string } {
  const most = Math.max(...values, Number.MIN_VALUE);
  const least = Math.min(...values, most);
  if (least > 0 && most / least > WIDE) {
    const width = Math.log(most / least);
    return { at: (value) => Math.log(value / least) / width, said: words.range(short(least), short(most), true) };
  }
  return { at: (value) => value / most, said: words.range("0", short(most), false) };
}
