// Exports the charts as one SVG, and their numbers as CSV.

import { inkOf } from "./charts";
import type { Chart } from "./curves";
import { plain } from "./edit";
import { inks } from "./theme";

const WIDTH = 760;
const HEIGHT = 150;
const LEFT = 52;
const RIGHT = 12;
const TOP = 24;
const BOTTOM = 20;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** Returns round numbers between 0 and a maximum. */
function ticks(most: number): number[] {
  const step = 10 ** Math.floor(Math.log10(most || 1));
  const fine = [step / 2, step, step * 2].find((size) => most / size <= 5) ?? step * 2;
  return Array.from({ length: Math.floor(most / fine) + 1 }, (_, at) => at * fine);
}

function one(chart: Chart, end: number, top: number): string {
  const ink = inks();
  const most = Math.max(1e-12, ...chart.curves.map((curve) => curve.y.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)));
  const x = (value: number) => LEFT + ((WIDTH - LEFT - RIGHT) * value) / end;
  const y = (value: number) => top + HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most;
  const parts = [`<text x="${LEFT}" y="${top + 14}" font-weight="600" fill="${ink.ink}">${escaped(chart.title)}</text>`];
  for (const tick of ticks(most)) {
    parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}" stroke="${ink.grid}"/>`);
    parts.push(`<text x="${LEFT - 6}" y="${(y(tick) + 4).toFixed(1)}" text-anchor="end" fill="${ink.muted}">${plain(tick)}</text>`);
  }
  for (const tick of ticks(end)) {
    parts.push(`<text x="${x(tick).toFixed(1)}" y="${top + HEIGHT - 4}" text-anchor="middle" fill="${ink.muted}">${plain(tick)} s</text>`);
  }
  let place = LEFT + 7 * chart.title.length + 20;
  for (const curve of chart.curves) {
    let path = "";
    let down = false;
    curve.y.forEach((value, at) => {
      if (value === null) {
        down = false;
        return;
      }
      path += `${down ? "L" : "M"}${x(curve.x[at] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`;
      down = true;
    });
    const dash = curve.dash ? ' stroke-dasharray="4 4" opacity="0.7"' : "";
    parts.push(`<path d="${path}" fill="none" stroke="${inkOf(curve)}"${dash}/>`);
    parts.push(`<text x="${place}" y="${top + 14}" fill="${inkOf(curve)}">${escaped(curve.label)}</text>`);
    place += 7 * curve.label.length + 16;
  }
  return parts.join("\n");
}

/** Returns an SVG of the charts, one below the other, with a title. */
export function svg(charts: Chart[], end: number, title: string): string {
  const drawn = charts.filter((chart) => chart.curves.length > 0);
  const height = 30 + drawn.length * HEIGHT;
  const ink = inks();
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="11">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" fill="${ink.page}"/>`,
    `<text x="${LEFT}" y="20" font-size="14" font-weight="600" fill="${ink.ink}">${escaped(title)}</text>`,
    ...drawn.map((chart, at) => one(chart, end, 30 + at * HEIGHT)),
    "</svg>",
    "",
  ].join("\n");
}

/** Quotes a field of CSV. */
function field(text: string): string {
  // A spreadsheet would execute a field that begins like a formula, so put an apostrophe first.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the data of the charts as CSV, with a row for each point. */
export function csv(charts: Chart[]): string {
  const rows = charts.flatMap((chart) =>
    chart.curves.flatMap((curve) =>
      curve.y.map((value, at) => [String(curve.x[at] ?? ""), field(chart.title), field(curve.label), value === null ? "" : String(value)].join(",")),
    ),
  );
  return ["time_s,chart,curve,value", ...rows, ""].join("\n");
}
