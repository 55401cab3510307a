// Provides the editor for the scenario's text. It marks the lines that have errors or warnings.

import { el } from "./dom";
import type { Problem } from "./protocol";
import { words } from "./words";

export class Editor {
  readonly element: HTMLElement;
  private readonly area = el("textarea", {
    "aria-label": words.editor,
    "aria-describedby": "problems",
    spellcheck: "false",
    autocapitalize: "off",
    wrap: "off",
  });
  private readonly lines = el("div", { class: "lines", "aria-hidden": "true" });
  private readonly problems = el("ul", { id: "problems", class: "problems", role: "alert" });
  private readonly warnings = el("ul", { class: "warnings" });
  private found: Problem[] = [];

  constructor(changed: (text: string) => void) {
    this.element = el("div", { class: "editor" }, this.problems, el("div", { class: "text" }, this.lines, this.area), this.warnings);
    let waiting: number | undefined;
    this.area.addEventListener("input", () => {
      this.number();
      clearTimeout(waiting);
      waiting = window.setTimeout(() => changed(this.area.value), 250);
    });
    this.area.addEventListener("scroll", () => (this.lines.scrollTop = this.area.scrollTop));
  }

  /** Replaces the text, without treating it as typed by the user. */
  set(text: string): void {
    if (this.area.value !== text) this.area.value = text;
    this.number();
  }

  /** Shows problems and warnings, each at its line. */
  complain(problems: Problem[], warnings: Problem[]): void {
    this.found = problems;
    this.problems.replaceChildren(...problems.map((problem) => this.item(problem)));
    this.warnings.replaceChildren(...warnings.map((problem) => this.item(problem)));
    this.number();
  }

  private item(problem: Problem): HTMLElement {
    const place = el("button", { type: "button", class: "place" }, `${problem.line}:${problem.column}`);
    place.addEventListener("click", () => this.go(problem));
    const help = problem.help === null ? null : el("span", { class: "help" }, problem.help);
    return el("li", {}, place, " ", problem.text, help === null ? null : " ", help);
  }

  /** Selects the text that a problem concerns. */
  private go(problem: Problem): void {
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, problem.line - 1).reduce((sum, line) => sum + line.length + 1, 0);
    const line = [...(lines[problem.line - 1] ?? "")];
    const units = (count: number) => line.slice(0, count).join("").length;
    this.area.focus();
    this.area.setSelectionRange(before + units(problem.column - 1), before + units(problem.column - 1 + Math.max(1, problem.width)));
    this.area.scrollTop = Math.max(0, (problem.line - 4) * 18);
  }

  /** Numbers the lines, and marks the lines with a problem. */
  private number(): void {
    const bad = new Set(this.found.map((problem) => problem.line));
    const count = this.area.value.split("\n").length;
    const made = Array.from({ length: count }, (_, at) => el("div", { class: bad.has(at + 1) ? "bad" : "" }, String(at + 1)));
    this.lines.replaceChildren(...made);
    this.lines.scrollTop = this.area.scrollTop;
    this.area.setAttribute("aria-invalid", String(bad.size > 0));
  }
}
