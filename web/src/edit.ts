// Changes values in the text of a scenario. The engine returns the position of each value in the
// text (`outline` in crates/scenario), so this file does not parse TOML.

import type { About, Entry, Key, Option, Value } from "./protocol";

export interface Draft {
  text: string;
  values: Value[];
}

/** Replaces a range of the text, and updates the positions of the values behind it. */
function splice(draft: Draft, start: number, end: number, by: string): Draft {
  const shift = by.length - (end - start);
  const moved = draft.values.map((value) => ({
    ...value,
    start: value.start >= end ? value.start + shift : value.start,
    end: value.end >= end ? value.end + shift : value.end,
  }));
  return { text: draft.text.slice(0, start) + by + draft.text.slice(end), values: moved };
}

export function replace(draft: Draft, path: string, by: string): Draft {
  const value = draft.values.find((value) => value.path === path);
  return value === undefined ? draft : splice(draft, value.start, value.end, by);
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A number and its unit, as in values such as "50Mbit". */
export interface Quantity {
  number: number;
  unit: string;
}

export function quantity(value: Value): Quantity | null {
  if (value.kind === "integer" || value.kind === "float") {
    return { number: Number(value.value), unit: "" };
  }
  const found = /^(\d+(?:\.\d+)?)\s*([A-Za-z%]+)$/.exec(String(value.value));
  return value.kind === "text" && found !== null ? { number: Number(found[1]), unit: found[2] ?? "" } : null;
}

/** Formats a quantity with the unit that the value has in the file. */
export function written(value: Value, number: number): string {
  const { unit } = quantity(value) ?? { unit: "" };
  if (value.kind === "integer") return String(Math.round(number));
  const digits = plain(number);
  if (value.kind === "float") return digits.includes(".") ? digits : `${digits}.0`;
  return quoted(digits + unit);
}

/** Formats a number with three significant digits and without an exponent. */
export function plain(number: number): string {
  if (number === 0) return "0";
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number))));
  const text = number.toFixed(Math.min(places, 12));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

export function parent(path: string): string {
  return path.replace(/\.?[^.[\]]+$/, "");
}

/** Returns the algorithm that a table configures, or null if it configures no algorithm. */
export function algorithmAt(values: Value[], table: string): string | null {
  for (const word of ["aqm", "name", "kind"]) {
    const found = values.find((value) => value.path === `${table}.${word}`);
    if (found !== undefined && found.kind === "text") return String(found.value);
  }
  const itself = values.find((value) => value.path === table);
  return itself?.kind === "text" ? String(itself.value) : null;
}

/** Returns whether a path matches a key's path, in which NAME means any name or index. */
function matches(key: string, path: string): boolean {
  const keys = key.split(".");
  const parts = path.replace(/^(flows|traffic|programs)\[\d+\]/, "$1.NAME").replace(/\[\d+\]/g, "[0]").split(".");
  return keys.length === parts.length && keys.every((part, at) => part === "NAME" || part === parts[at]);
}

/** Returns the engine's description of the key at a path. */
export function keyOf(about: About, values: Value[], path: string): Key | null {
  const algorithm = algorithmAt(values, parent(path));
  const found = about.keys.filter((key) => matches(key.path, path));
  return found.find((key) => key.entry === algorithm) ?? found.find((key) => key.entry === null) ?? null;
}

/** Returns the keys that a table may have and that the scenario does not set. */
export function missing(about: About, values: Value[], table: string): Key[] {
  const algorithm = algorithmAt(values, table);
  const nested = new Set(["list", "table", "text"]);
  return about.keys.filter((key) => {
    const name = key.path.slice(key.path.lastIndexOf(".") + 1);
    const path = table === "" ? name : `${table}.${name}`;
    const fits = matches(key.path, path) && (key.entry === null || key.entry === algorithm);
    const there = values.some((value) => value.path === path || value.path.startsWith(`${path}.`));
    return fits && !there && !nested.has(key.kind) && name !== "NAME";
  });
}

/** Returns a value for a new key: its default, or an example of its kind if it has no default. */
function first(key: Key): string {
  const raw = ["bool", "count", "number"].includes(key.kind);
  const made: Record<string, string> = { time: "10ms", rate: "10Mbit", size: "100p", count: "1", number: "0.1", bool: "true" };
  const value = key.default ?? key.words[0] ?? made[key.kind] ?? "";
  return raw || /^["[{]/.test(value) || (key.kind === "choice" && /^(true|false|\d+)$/.test(value)) ? value : quoted(value);
}

/** Adds a key with its default to a table. */
export function add(draft: Draft, table: string, key: Key, word: "aqm" | "name"): Draft {
  const name = key.path.slice(key.path.lastIndexOf(".") + 1);
  const line = `${name} = ${first(key)}`;
  const itself = draft.values.find((value) => value.path === table);
  if (itself?.kind === "table") {
    const inside = draft.text.slice(itself.start + 1, itself.end - 1).trimEnd();
    const comma = inside.trim() === "" ? " " : ", ";
    return { ...draft, text: `${draft.text.slice(0, itself.start)}{${inside}${comma}${line} }${draft.text.slice(itself.end)}` };
  }
  if (itself?.kind === "text") {
    return replace(draft, table, `{ ${word} = ${quoted(String(itself.value))}, ${line} }`);
  }
  // Add the key below the last value of the table.
  const prefix = table === "" ? "" : `${table}.`;
  const own = draft.values.filter((value) => value.path.startsWith(prefix) && !value.path.slice(prefix.length).includes("["));
  const direct = own.filter((value) => !value.path.slice(prefix.length).includes(".") || own.some((other) => other.kind === "table" && value.path.startsWith(`${other.path}.`)));
  const end = Math.max(...direct.map((value) => value.end));
  if (!Number.isFinite(end)) return draft;
  const at = draft.text.indexOf("\n", end);
  const place = at === -1 ? draft.text.length : at;
  return { ...draft, text: `${draft.text.slice(0, place)}\n${line}${draft.text.slice(place)}` };
}

/** Returns whether two options have the same name and accept the same values. */
function alike(one: Option, other: Option): boolean {
  const kind = (of: Option) => JSON.stringify({ ...of, doc: "", default: "", tc: "" });
  return kind(one) === kind(other);
}

/** Replaces an algorithm. Options that the new algorithm also has are kept. */
export function choose(draft: Draft, table: string, name: string, entries: Entry[], word: "aqm" | "name"): Draft {
  const itself = draft.values.find((value) => value.path === table);
  if (itself === undefined) return draft;
  if (itself.kind !== "table") return replace(draft, table, quoted(name));
  const prefix = `${table}.`;
  const options = (of: string | null) => entries.find((entry) => entry.name === of)?.options ?? [];
  const before = options(algorithmAt(draft.values, table));
  const known = options(name).filter((option) => before.some((other) => alike(option, other))).map((option) => option.name);
  const kept = draft.values.filter((value) => {
    const option = value.path.startsWith(prefix) ? value.path.slice(prefix.length) : "";
    return option !== word && known.includes(option);
  });
  const lines = kept.map((value) => `, ${value.path.slice(prefix.length)} = ${draft.text.slice(value.start, value.end)}`);
  return replace(draft, table, `{ ${word} = ${quoted(name)}${lines.join("")} }`);
}
