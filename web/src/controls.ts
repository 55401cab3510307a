// Makes sliders, menus and switches for the values of a scenario. The engine supplies the keys, the
// registries, and the position of each value in the text.

import { el, menu } from "./dom";
import { type Draft, add, algorithmAt, choose, keyOf, missing, parent, plain, quantity, quoted, replace, written } from "./edit";
import type { About, Entry, Key, Link, Value } from "./protocol";
import { words } from "./words";

const HIDDEN = /^(title|sweep|assert|record|with|kernel|events)\b|^(flows|traffic)\[\d+\]\.name$|\.(route|back)\b/;

/** Values of links that may change during a run, if the queue and the impairments allow it. */
const CHANGES = /^(?:bottleneck|links\.[^.]+)\.(?:(?:rate|delay)$|(?:loss|queue|impairments|reorder|duplicate|policer)\b)/;

/** Returns the paths of the values that the sweep of a scenario sets. */
function sweptPaths(values: Value[]): string[] {
  const named = new Map<string, string>();
  for (const { path, value } of values) {
    const list = /^(.+)\[\d+\]\.name$/.exec(path)?.[1];
    if (list !== undefined) named.set(`${list}.${String(value)}.`, path.slice(0, -"name".length));
  }
  return values.flatMap(({ path, kind }) => {
    const swept = kind === "array" ? /^sweep\.(?:zip\[\d+\]\.)?([^[]+(?:\[\d+\][^[]+)?)$/.exec(path)?.[1] : undefined;
    if (swept === undefined) return [];
    const [name, place] = [...named].find(([name]) => swept.startsWith(name)) ?? ["", ""];
    return [place + swept.slice(name.length)];
  });
}

/** A value that the user changes: its path, and the new value as TOML. */
export interface Edit {
  path: string;
  by: string;
}

export class Controls {
  /** Values, by path, that differ from the scenario's text because they change during the run. */
  now: Map<string, string> = new Map();
  readonly element = el("div", { class: "controls" });
  private shape = "";
  /** Whether a control changes the run only from the present moment on. */
  private live = false;
  /** The links of the shown point. */
  private links: Link[] = [];
  private readonly anchors = new Map<string, number>();
  private readonly updates = new Map<string, (value: Value, back: boolean) => void>();
  private draft: Draft = { text: "", values: [] };

  constructor(
    private readonly about: About,
    private readonly changed: (draft: Draft, began: boolean, edit: Edit | null) => void,
  ) {}

  /** Forgets the ranges of the sliders, because another scenario was opened. */
  reset(): void {
    this.anchors.clear();
    this.shape = "";
  }

  /** Stores the links of a loaded scenario, which determine what may change during a run. */
  learn(links: Link[]): void {
    this.links = links;
    this.limit(this.live);
  }

  /** Returns whether a value may change during a run. */
  private changes(path: string): boolean {
    const [, name, key, option] = /^(?:bottleneck|links\.([^.]+))\.([^.[]+)(?:\.([^.]+)|$)?/.exec(path) ?? [];
    if (!CHANGES.test(path)) return false;
    // If a link of the scenario has `both_directions`, the engine has two links, which share the
    // values of the scenario's link.
    const own = this.links.filter((link) => (name === undefined ? /^bottleneck(\.back)?$/.test(link.name) : link.name === name));
    const place = /\.impairments\[(\d+)\]\.([^.]+)/.exec(path);
    if (place !== null) return own.every(({ changeable }) => changeable.impairments[Number(place[1])]?.includes(place[2] ?? "") ?? true);
    if (key === "rate") return own.every(({ changeable }) => changeable.rate);
    // The algorithm of a queue never changes.
    return key !== "queue" || (option !== undefined && option !== "aqm" && own.every(({ changeable }) => changeable.queue.includes(option)));
  }

  /** Disables the controls of values that the sweep sets, because these controls would have no
   * effect. If `live` is true, also disables the controls of values that cannot change during a
   * run. */
  limit(live: boolean): void {
    this.live = live;
    const swept = sweptPaths(this.draft.values);
    for (const row of this.element.querySelectorAll<HTMLElement>(".row[data-path]")) {
      const path = row.dataset["path"] ?? "";
      const set = swept.some((one) => path === one || path.startsWith(`${one}.`));
      row.title = set ? words.swept : live && !this.changes(path) ? words.fixed : "";
      for (const input of row.querySelectorAll<HTMLInputElement | HTMLSelectElement>("label > :is(input, select)")) input.disabled = row.title !== "";
    }
  }

  /** Builds the controls for the values of a scenario. If `back` is true, also moves the slider in
   * use back to its old value, because its new value was rejected. */
  show(draft: Draft, back = false): void {
    this.draft = draft;
    const shown = draft.values.filter((value) => !HIDDEN.test(value.path));
    const algorithm = (value: Value) => (/\.(aqm|cc|queue|kind|name)$/.test(value.path) ? String(value.value) : "");
    const shape = JSON.stringify(shown.map((value) => [value.path, value.kind, algorithm(value)]));
    if (shape === this.shape) {
      this.update(shown, back);
      return;
    }
    this.shape = shape;
    this.updates.clear();
    const groups = new Map<string, Value[]>();
    for (const value of shown) {
      const group = section(value.path);
      groups.set(group, [...(groups.get(group) ?? []), value]);
    }
    const open = new Set([...this.element.querySelectorAll("details")].filter((at) => !at.open).map((at) => at.dataset["section"]));
    this.element.replaceChildren(...[...groups].map(([name, values]) => this.section(name, values, !open.has(name))));
    this.update(shown, back);
    this.limit(this.live);
  }

  private update(values: Value[], back: boolean): void {
    for (const value of values) {
      const now = this.now.get(value.path);
      this.updates.get(value.path)?.(now === undefined ? value : { ...value, value: JSON.parse(now) as Value["value"] }, back);
    }
  }

  private section(name: string, values: Value[], open: boolean): HTMLElement {
    const rows = values.flatMap((value) => {
      const row = this.row(name, value);
      if (row !== null) row.dataset["path"] = value.path;
      return row === null ? [] : [row];
    });
    const title = name === "" ? "run" : this.title(name);
    const made = el("details", { open, "data-section": name }, el("summary", {}, title), ...rows);
    const keys = missing(this.about, this.draft.values, name);
    if (keys.length > 0) made.append(this.adding(words.addKey, keys, name, "name"));
    return made;
  }

  /** Returns the name of a flow or source with its path. */
  private title(name: string): string {
    const at = (key: string) => this.draft.values.find((value) => value.path === `${name}.${key}`);
    const own = at("name")?.value ?? algorithmAt(this.draft.values, `${name}.cc`) ?? at("kind")?.value;
    return own === null || own === undefined ? name : `${name}: ${String(own)}`;
  }

  private row(group: string, value: Value): HTMLElement | null {
    const label = group === "" ? value.path : value.path.slice(group.length + 1);
    const key = keyOf(this.about, this.draft.values, value.path);
    const registry = this.registry(value);
    if (registry !== null) return this.algorithm(label, value, registry, key);
    if (value.kind === "bool") return this.flag(label, value, key);
    if (quantity(value) !== null) return this.slider(label, value, key);
    if (value.kind === "text" && key !== null && key.words.length > 0) {
      const choice = menu(value.path, key.words.map((word) => [word, word]), String(value.value), (word) => {
        this.change(value.path, quoted(word));
      });
      this.updates.set(value.path, (now) => (choice.value = String(now.value)));
      return labelled(label, key, choice);
    }
    return null;
  }

  /** Returns the registry that contains the entry that a value names. */
  private registry(value: Value): { entries: Entry[]; word: "aqm" | "name"; table: string } | null {
    const { aqm, cc } = this.about.registry;
    const isText = value.kind === "text";
    if (/queue\.aqm$/.test(value.path)) return { entries: aqm, word: "aqm", table: parent(value.path) };
    if (isText && /queue$/.test(value.path)) return { entries: aqm, word: "aqm", table: value.path };
    if (/\.cc\.name$/.test(value.path)) return { entries: cc, word: "name", table: parent(value.path) };
    if (isText && /\.cc$/.test(value.path)) return { entries: cc, word: "name", table: value.path };
    return null;
  }

  private algorithm(label: string, value: Value, of: { entries: Entry[]; word: "aqm" | "name"; table: string }, key: Key | null): HTMLElement {
    const chosen = String(value.value);
    const entry = of.entries.find((entry) => entry.name === chosen);
    const choice = menu(value.path, of.entries.map((entry) => [entry.name, entry.name]), chosen, (name) => {
      this.emit(choose(this.draft, of.table, name, of.entries, of.word), true, { path: value.path, by: quoted(name) });
    });
    const row = labelled(label, key, choice);
    if (entry !== undefined) row.append(el("p", { class: "doc" }, entry.doc));
    const keys = missing(this.about, this.draft.values, of.table).filter((key) => key.entry === chosen);
    if (keys.length > 0) row.append(this.adding(words.addOption, keys, of.table, of.word));
    return row;
  }

  private adding(label: string, keys: Key[], table: string, word: "aqm" | "name"): HTMLElement {
    const name = (key: Key) => key.path.slice(key.path.lastIndexOf(".") + 1);
    const title = (key: Key) => (key.default === null ? name(key) : `${name(key)} = ${key.default}`);
    const choice = menu(`${label} ${table}`, [["", label], ...keys.map((key): [string, string] => [name(key), title(key)])], "", (chosen) => {
      const key = keys.find((key) => name(key) === chosen);
      if (key !== undefined) this.emit(add(this.draft, table, key, word), true);
    });
    [...choice.options].forEach((option, at) => (option.title = keys[at - 1]?.doc ?? ""));
    choice.classList.add("adding");
    return choice;
  }

  private flag(label: string, value: Value, key: Key | null): HTMLElement {
    const box = el("input", { type: "checkbox", "aria-label": value.path });
    box.checked = value.value === true;
    box.addEventListener("change", () => this.change(value.path, String(box.checked)));
    this.updates.set(value.path, (now) => (box.checked = now.value === true));
    return labelled(label, key, box);
  }

  private slider(label: string, value: Value, key: Key | null): HTMLElement {
    const now = quantity(value) ?? { number: 0, unit: "" };
    const anchor = this.anchors.get(value.path) ?? now.number;
    this.anchors.set(value.path, anchor);
    const scale = range(anchor, value, key);
    const input = el("input", { type: "range", min: "0", max: "1000", step: "1", "aria-label": value.path });
    const shown = el("output", {});
    const say = (number: number, unit = now.unit) => {
      const text = `${plain(number)}${unit === "" ? "" : ` ${unit}`}`;
      shown.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    const set = (of: Value) => {
      const { number, unit } = quantity(of) ?? now;
      input.value = String(Math.round(1000 * scale.place(number)));
      say(number, unit);
    };
    set(value);
    let fresh = true;
    input.addEventListener("input", () => {
      const of = this.draft.values.find((other) => other.path === value.path);
      if (of === undefined) return;
      const by = written(of, scale.number(Number(input.value) / 1000));
      this.emit(replace(this.draft, value.path, by), fresh, { path: value.path, by });
      fresh = false;
      const number = scale.number(Number(input.value) / 1000);
      say(value.kind === "integer" ? Math.round(number) : number);
    });
    input.addEventListener("change", () => (fresh = true));
    this.updates.set(value.path, (of, back) => {
      if (back || document.activeElement !== input) set(of);
    });
    return labelled(label, key, input, shown);
  }

  private change(path: string, by: string): void {
    this.emit(replace(this.draft, path, by), true, { path, by });
  }

  private emit(draft: Draft, began: boolean, edit: Edit | null = null): void {
    this.draft = draft;
    this.changed(draft, began, edit);
  }
}

/** Returns the table, or the entry of a list, under which the page shows a value. */
function section(path: string): string {
  const found = /^(?:links\.[^.]+|[^.[]+\[\d+\]|[^.[]+(?=\.))/.exec(path);
  return found === null ? "" : found[0];
}

function labelled(label: string, key: Key | null, ...inputs: HTMLElement[]): HTMLElement {
  const name = el("span", { class: "key", title: key?.doc ?? "" }, label);
  return el("div", { class: "row" }, el("label", {}, name, ...inputs));
}

interface Scale {
  place(number: number): number;
  number(place: number): number;
}

/** Returns the range of a slider: from a tenth of the value in the file to ten times the value. */
function range(anchor: number, value: Value, key: Key | null): Scale {
  const share = value.kind === "float" && anchor <= 1 && key?.kind === "number";
  if (anchor <= 0 || value.path === "seed") {
    const most = value.path === "seed" ? Math.max(20, anchor) : 10;
    const least = value.path === "seed" ? 1 : 0;
    return {
      place: (number) => (number - least) / (most - least),
      number: (place) => least + place * (most - least),
    };
  }
  const [low, high] = [anchor / 10, share ? Math.min(1, anchor * 10) : anchor * 10];
  const least = value.kind === "integer" ? Math.max(1, low) : low;
  const span = Math.log(high / least) || 1;
  return {
    place: (number) => Math.log(Math.max(number, least) / least) / span,
    number: (place) => least * Math.exp(place * span),
  };
}
