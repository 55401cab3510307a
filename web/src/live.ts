// Handles changes that the user makes at one moment of a run. The changes are written as
// `[[events]]` at the end of the scenario. If the scenario's list of events is inline, the changes
// become the last entry of this list.

import { quoted } from "./edit";
import type { Value } from "./protocol";

/** The position at which an entry is added to an inline list, and the text that separates it from
 * the previous entry. */
export interface Place {
  at: number;
  separator: string;
}

/** Returns the place for another event in a scenario whose list of events is inline. */
export function inline(values: Value[]): Place | null {
  const list = values.find((value) => value.path === "events" && value.kind === "array");
  if (list === undefined) return null;
  const last = values.filter((value) => /^events\[\d+\]$/.test(value.path)).at(-1);
  return last === undefined ? { at: list.start + 1, separator: "" } : { at: last.end, separator: ", " };
}

/** A moment of the run, and the changes at this moment. */
export class Moment {
  /** `base` is the scenario without these changes. `place` is the place for another event, if this
   * scenario has an inline list of events. `sets` are new values by path, as TOML. */
  constructor(
    readonly base: string,
    readonly time: number,
    private readonly place: Place | null,
    readonly sets: Map<string, string> = new Map(),
    readonly start: Set<string> = new Set(),
    readonly stop: Set<string> = new Set(),
  ) {}

  copy(): Moment {
    return new Moment(this.base, this.time, this.place, new Map(this.sets), new Set(this.start), new Set(this.stop));
  }

  /** Starts or stops a flow or source. If this moment already has the opposite change, removes that
   * change instead. */
  turn(name: string, starts: boolean): void {
    const [to, from] = starts ? [this.start, this.stop] : [this.stop, this.start];
    if (!from.delete(name)) to.add(name);
  }

  /** Returns the scenario with the changes. */
  text(): string {
    const { base, place } = this;
    const lines = this.lines();
    if (lines.length === 0) return base;
    if (place !== null) return base.slice(0, place.at) + this.entry(place) + base.slice(place.at);
    return `${base.trimEnd()}\n\n[[events]]\n${lines.join("\n")}\n`;
  }

  /** Returns the place for another event in the scenario with the changes. */
  after(): Place | null {
    const { place } = this;
    if (place === null || this.lines().length === 0) return place;
    return { at: place.at + this.entry(place).length, separator: ", " };
  }

  private entry(place: Place): string {
    return `${place.separator}{ ${this.lines().join(", ")} }`;
  }

  /** Returns the lines with the keys of the event. Empty if nothing changes. */
  private lines(): string[] {
    const names = (key: string, of: Set<string>) => (of.size === 0 ? [] : [`${key} = [${[...of].map(quoted).join(", ")}]`]);
    const sets = [...this.sets].map(([path, value]) => `${quoted(path)} = ${value}`);
    const lines = [...(sets.length === 0 ? [] : [`set = { ${sets.join(", ")} }`]), ...names("start", this.start), ...names("stop", this.stop)];
    return lines.length === 0 ? [] : [`at = "${this.time}s"`, ...lines];
  }
}

/** Returns a moment of the run in whole microseconds, before the end of the run. */
export function moment(time: number, end: number): number {
  return Number(Math.max(0, Math.min(time, end - 0.001)).toFixed(6));
}
