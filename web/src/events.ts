// The event log. A click on a row moves the animation of the bottleneck to the time of the event.

import { el, menu, short } from "./dom";
import type { Log, Row } from "./protocol";
import { causes, words } from "./words";

/** Largest number of rows to show at once. */
const MOST = 400;

export class Events {
  readonly element = el("section", { class: "log", "aria-label": words.log });
  private readonly body = el("tbody", {});
  private readonly note = el("p", { class: "note" });
  private readonly chosen = el("span", {});
  private log: Log = { rows: [], more: 0 };
  private wanted = "";
  private shown: { at: number; element: HTMLElement }[] = [];

  constructor(private readonly go: (time: number) => void) {
    const head = el("tr", {}, ...["time", "flow", "what", "why"].map((name) => el("th", { scope: "col" }, name)));
    const table = el("table", {}, el("thead", {}, head), this.body);
    this.element.append(el("h2", {}, `${words.log} `, this.chosen), el("div", { class: "wide scroll" }, table), this.note);
  }

  show(log: Log): void {
    this.log = log;
    const kinds = [...new Set(log.rows.map((row) => row.kind))].sort();
    if (!kinds.some((kind) => kind === this.wanted)) this.wanted = "";
    this.chosen.replaceChildren(
      menu(words.log, [["", words.logAll], ...kinds.map((kind): [string, string] => [kind, kind])], this.wanted, (kind) => {
        this.wanted = kind;
        this.fill();
      }),
    );
    this.fill();
  }

  /** Marks the row of the last event before a time. */
  follow(time: number): void {
    let last: HTMLElement | null = null;
    for (const { at, element } of this.shown) {
      if (at > time) break;
      last = element;
    }
    const marked = this.body.querySelector("[aria-current]");
    if (marked === last) return;
    marked?.removeAttribute("aria-current");
    last?.setAttribute("aria-current", "true");
  }

  private fill(): void {
    const rows = this.log.rows.filter((row) => this.wanted === "" || row.kind === this.wanted);
    this.shown = rows.slice(0, MOST).map((row) => ({ at: row.t, element: this.row(row) }));
    this.body.replaceChildren(...this.shown.map((one) => one.element));
    const more = Math.max(0, rows.length - MOST) + this.log.more;
    this.note.textContent = more > 0 ? words.more(more) : words.logHint;
  }

  private row(row: Row): HTMLElement {
    const place = el("button", { type: "button" }, `${row.t.toFixed(4)} s`);
    const what = el("td", { class: row.kind.replace(" ", "-") }, phrase(row));
    const made = el("tr", {}, el("td", {}, place), el("td", {}, row.flow ?? ""), what, el("td", {}, reason(row)));
    made.addEventListener("click", () => this.go(row.t));
    return made;
  }
}

function phrase(row: Row): string {
  const change = `${row.from ?? 0} → ${row.to ?? 0} segments`;
  switch (row.kind) {
    case "reduction":
      return `window reduced, ${change}`;
    case "undo":
      return `reduction undone, ${change}`;
    case "slow start":
      return `slow start ends at ${row.from ?? 0} segments`;
    case "drop":
      return row.count === 1 ? "packet dropped" : `${row.count ?? 0} packets dropped in ${short(1e3 * ((row.until ?? row.t) - row.t))} ms`;
    case "mark":
      return row.count === 1 ? "packet marked" : `${row.count ?? 0} packets marked in ${short(1e3 * ((row.until ?? row.t) - row.t))} ms`;
  }
}

function reason(row: Row): string {
  if (row.kind === "drop" || row.kind === "mark") {
    return `${causes[row.cause] ?? row.cause}, at ${row.link ?? ""}`;
  }
  const lost = row.lost === undefined || row.lost === 0 ? "" : `; its overshoot cost ${row.lost} segments`;
  return `${row.cause}${row.doc === undefined ? "" : `: ${row.doc}`}${lost}`;
}
