// Changes that the user makes at one moment of a run. They are written as `[[events]]` at the end
// of the scenario.

import { quoted } from "./edit";

/** A moment, and what changes at this moment. */
export class Moment {
  /** New values by path, as TOML. */
  readonly sets = new Map<string, string>();
  readonly start = new Set<string>();
  readonly stop = new Set<string>();

  /** `base` is the scenario without these changes. */
  constructor(
    readonly base: string,
    readonly time: number,
  ) {}

  /** Returns the scenario with the changes. */
  text(): string {
    const names = (key: string, of: Set<string>) => (of.size === 0 ? [] : [`${key} = [${[...of].map(quoted).join(", ")}]`]);
    const sets = [...this.sets].map(([path, value]) => `${quoted(path)} = ${value}`);
    const lines = [...(sets.length === 0 ? [] : [`set = { ${sets.join(", ")} }`]), ...names("start", this.start), ...names("stop", this.stop)];
    if (lines.length === 0) return this.base;
    return `${this.base.trimEnd()}\n\n[[events]]\nat = "${this.time}s"\n${lines.join("\n")}\n`;
  }
}

/** Returns a moment of the run in whole microseconds, before the end of the run. */
export function moment(time: number, end: number): number {
  return Number(Math.max(0, Math.min(time, end - 0.001)).toFixed(6));
}
