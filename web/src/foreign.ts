// Reads measurements from files, so that the page can draw them beside a run. The files are the
// series of a run folder, qlog, data files of Flent, or CSV that this page saved. All names in a
// file are untrusted text.

import { type Curve, thinned } from "./curves";
import { isParquet, parquet } from "./parquet";
import { charts, foreign as words } from "./words";

/** The largest size of a file in bytes, both compressed and decompressed. */
const MOST_BYTES = 32 << 20;

/** The largest number of series to read from one file. */
const MOST_SERIES = 24;

/** The largest number of rows of a run's series. */
const MOST_ROWS = 2_000_000;

/** The largest number of run folders to draw at once, and of files to look at in a folder. */
export const MOST_RUNS = 8;
const MOST_FILES = 5_000;

/** The file with the time series of a run folder. */
const SERIES = "series.parquet";

/** The largest length of a name that is shown. */
const MOST_NAME = 60;

/** The number of the first group of a series from a file. Groups of a run have lower numbers. */
const FIRST_GROUP = 1004;

/** Bytes in a segment, if a file does not state them. It is the default of a scenario. */
const MSS = 1448;

export interface Series {
  chart: string;
  curve: Curve;
  /** The times of all points. The curve of a long series has fewer points. */
  times: Float64Array;
}

export interface Foreign {
  name: string;
  series: Series[];
  /** Tells the user what was read and what was ignored. */
  said: string;
}

/** Collects the series of a file. */
class Found {
  readonly notes: string[] = [];
  private readonly columns = new Map<string, { chart: string; name: string; points: [number, number][] }>();
  private readonly ignored = new Map<string, number>();

  /** Adds a point. Counts it as ignored if its time or value is negative or not a number. */
  add(chart: string, name: string, time: unknown, value: unknown, scale = 1): void {
    if (typeof time !== "number" || typeof value !== "number" || !(time >= 0 && value >= 0 && Number.isFinite(time + value))) {
      this.ignore(words.noNumber);
      return;
    }
    const key = JSON.stringify([chart, name]);
    let column = this.columns.get(key);
    if (column === undefined) this.columns.set(key, (column = { chart, name, points: [] }));
    column.points.push([time, value * scale]);
  }

  ignore(why: string): void {
    this.ignored.set(why, (this.ignored.get(why) ?? 0) + 1);
  }

  done(file: string, kind: string): Foreign {
    const columns = [...this.columns.values()];
    const ignored = () => [...this.ignored].map(([why, count]) => `${why} (${count})`);
    if (columns.length === 0) throw new Error(words.nothing(kind, ignored()));
    columns.splice(MOST_SERIES).forEach(() => this.ignore(words.tooMany(MOST_SERIES)));
    const series = columns.map(({ chart, name, points }) => {
      points.sort(([a], [b]) => a - b);
      const column = (at: 0 | 1) => Float64Array.from(points, (point) => point[at]);
      const curve = { label: `${cut(file)}: ${cut(name)}`, group: 0, dash: true, ...thinned(column(0), column(1)) };
      return { chart, curve, times: column(0) };
    });
    // Add up the numbers of points of curves with the same name. Such curves may be in several
    // charts.
    const counts = new Map<string, number>();
    for (const { name, points } of columns) counts.set(name, (counts.get(name) ?? 0) + points.length);
    const read = [...counts].map(([name, count]) => words.points(cut(name), count));
    return { name: file, series, said: words.read(kind, read, ignored(), this.notes) };
  }
}

function cut(name: string): string {
  return name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name;
}

type Table = Record<string, unknown>;

/** Returns a value if it is a JSON object, else an empty object. */
function table(value: unknown): Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Table) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

let groups = FIRST_GROUP;

/** Reads a file. Throws an error with a message for the user if the file cannot be drawn. */
export async function read(file: File): Promise<Foreign> {
  const found = await parsedFile(file);
  const known = new Map<string, number>();
  for (const { curve } of found.series) {
    // Skip the colour of the run's first flow, so that the measurements differ from it.
    if (groups % 8 === 0) groups += 1;
    if (!known.has(curve.label)) known.set(curve.label, groups++);
    curve.group = known.get(curve.label) ?? 0;
  }
  return found;
}

async function parsedFile(file: File): Promise<Foreign> {
  if (file.size > MOST_BYTES) throw new Error(words.tooLarge(MOST_BYTES >> 20));
  if (!isParquet(new Uint8Array(await file.slice(0, 4).arrayBuffer()))) return parse(file.name, await content(file));
  let groups;
  try {
    groups = parquet(new Uint8Array(await file.arrayBuffer()), MOST_ROWS);
  } catch {
    throw new Error(words.notSeries);
  }
  return ofRun(file.name, groups);
}

/** A file, with its path below the chosen folder. */
export interface Chosen {
  path: string;
  file: File;
}

/** Returns the files to read, and whether run folders above the limit were left out. From a run
 * folder, returns only the file with the time series, which gets the name of the folder. */
export function ofFolders(chosen: Chosen[]): { files: File[]; leftOut: boolean } {
  const alone = chosen.filter(({ path }) => !path.includes("/")).map(({ file }) => file);
  const runs = chosen.filter(({ path }) => path.endsWith(`/${SERIES}`));
  if (alone.length === 0 && runs.length === 0 && chosen.length > 0) throw new Error(words.noRun);
  const drawn = runs.slice(0, MOST_RUNS).map(({ path, file }) => new File([file], path.split("/").at(-2) ?? path));
  return { files: [...alone, ...drawn], leftOut: runs.length > MOST_RUNS };
}

/** A dropped folder or file. Browsers have two interfaces for it. */
interface Entry {
  name: string;
  file: (() => Promise<File>) | null;
  inside: () => AsyncIterable<Entry>;
}

/** Chromium's interface. It also reads folders if the page was opened from a disk. */
interface Handle {
  name: string;
  kind: "file" | "directory";
  getFile(): Promise<File>;
  values(): AsyncIterable<Handle>;
}

function ofHandle(handle: Handle): Entry {
  const inside = async function* (): AsyncIterable<Entry> {
    for await (const one of handle.values()) yield ofHandle(one);
  };
  return { name: handle.name, file: handle.kind === "file" ? () => handle.getFile() : null, inside };
}

/** The older interface, which other browsers have. */
function ofEntry(entry: FileSystemEntry): Entry {
  const inside = async function* (): AsyncIterable<Entry> {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const next = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (next.length === 0) return;
      yield* next.map(ofEntry);
    }
  };
  const file = () => new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
  return { name: entry.name, file: entry.isFile ? file : null, inside };
}

/** Returns the dropped files, including those in dropped folders. */
export async function dropped(transfer: DataTransfer): Promise<Chosen[]> {
  // Copy the items now, because the browser empties `transfer` when this function first waits.
  const files = [...transfer.files];
  const items = [...transfer.items];
  const older = items.map((item) => item.webkitGetAsEntry());
  const newer = items.map((item) => (item as { getAsFileSystemHandle?: () => Promise<Handle | null> }).getAsFileSystemHandle?.());
  if (!older.some((entry) => entry?.isDirectory)) return files.map((file) => ({ path: file.name, file }));
  const handles = await Promise.all(newer);
  const entries = older.map((entry, at) => {
    const handle = handles[at];
    return handle ? ofHandle(handle) : entry === null ? null : ofEntry(entry);
  });
  const found: Chosen[] = [];
  let runs = 0;
  let seen = 0;
  const walk = async (entry: Entry, above: string): Promise<void> => {
    const path = above + entry.name;
    if (entry.file !== null) {
      const run = above !== "" && entry.name === SERIES;
      if (run) runs += 1;
      if (run || above === "") found.push({ path, file: await entry.file() });
      return;
    }
    for await (const one of entry.inside()) {
      seen += 1;
      // One run folder above the limit is enough to tell the user that not all are drawn.
      if (seen > MOST_FILES || runs > MOST_RUNS) return;
      await walk(one, `${path}/`);
    }
  };
  for (const entry of entries) {
    if (entry !== null) await walk(entry, "");
  }
  if (found.length === 0) throw new Error(words.noRun);
  return found;
}

/** The series of a run that have a chart, and the factor to the chart's unit. */
const RUN = new Map<unknown, [string, number]>([["cwnd", ["cwnd", 1]], ["srtt_ns", ["srtt", 1e-6]]]);

function ofRun(file: string, groups: Record<string, (number | string | null)[]>[]): Foreign {
  const found = new Found();
  const before = new Map<string, [number, number]>();
  for (const { time_ns: times, flow: flows, quantity, value: values } of groups) {
    if (!times || !flows || !quantity || !values) throw new Error(words.notSeries);
    quantity.forEach((name, row) => {
      const [flow, value, time] = [flows[row], values[row], Number(times[row]) / 1e9];
      const place = RUN.get(name);
      if (typeof flow !== "string" || typeof value !== "number" || (place === undefined && name !== "delivered_bytes")) {
        found.ignore(words.otherSeries);
        return;
      }
      if (place !== undefined) return found.add(place[0], flow, time, value, place[1]);
      const [earlier, had] = before.get(flow) ?? [0, 0];
      if (time > earlier) found.add("throughput", flow, time, (8e-6 * (value - had)) / (time - earlier));
      before.set(flow, [time, value]);
    });
  }
  return found.done(file, words.run);
}

/** Returns the text of a file, decompressed if necessary. */
async function content(file: File): Promise<string> {
  const tooLarge = new Error(words.tooLarge(MOST_BYTES >> 20));
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (start[0] !== 0x1f || start[1] !== 0x8b) return file.text();
  const reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts: BlobPart[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error(words.damaged);
    });
    if (done) return new Blob(parts).text();
    size += value.length;
    if (size > MOST_BYTES) {
      void reader.cancel();
      throw tooLarge;
    }
    parts.push(value);
  }
}

function parse(file: string, text: string): Foreign {
  if (text.startsWith("time_s,chart,curve,value")) return ofCsv(file, text);
  const whole = table(parsed(text));
  if (Array.isArray(whole["traces"])) return ofQlog(file, whole["traces"].map((trace) => [table(trace), list(table(trace)["events"])]), new Found());
  if ("x_values" in whole && "results" in whole) return ofFlent(file, whole);
  // Split a JSON text sequence into records. Each record begins with an RS character, or is one
  // line.
  const records = text.split(text.startsWith("\x1e") ? "\x1e" : "\n").filter((record) => record.trim() !== "");
  const head = table(parsed(records.shift() ?? ""))["trace"];
  if (head === undefined) throw new Error(words.unknown);
  const found = new Found();
  const events = records.map((record) => parsed(record)).filter((event) => event !== undefined || found.ignore(words.noRecord));
  return ofQlog(file, [[table(head), events]], found);
}

/** The quantities of an event of qlog: chart, name, and whether the value is in bytes. */
const METRICS: Record<string, [string, string, boolean]> = {
  congestion_window: ["cwnd", "cwnd", true],
  bytes_in_flight: ["cwnd", words.inFlight, true],
  smoothed_rtt: ["srtt", words.srtt, false],
};

function ofQlog(file: string, traces: [Table, unknown[]][], found: Found): Foreign {
  let largest = 0;
  const sizes = new Set<number>();
  traces.forEach(([head, events], number) => {
    const format = table(head["common_fields"])["time_format"];
    const delta = format === "delta" || format === "relative_to_previous_event";
    const prefix = traces.length > 1 ? `${number + 1} ` : "";
    let [now, first, mss] = [0, NaN, MSS];
    for (const event of events.map(table)) {
      const { time, name, data } = event;
      if (typeof time !== "number" || typeof name !== "string") {
        found.ignore(words.noEvent);
        continue;
      }
      now = delta ? now + time : time;
      // If times are counted from 1970, convert them to times since the first event.
      if (Number.isNaN(first)) first = now > 1e11 ? now : 0;
      if (/(^|:)(recovery_)?parameters_set$/.test(name)) {
        const size = table(data)["max_datagram_size"];
        if (typeof size === "number" && size > 0) mss = size;
      }
      if (!/(^|:)(recovery_)?metrics_updated$/.test(name)) {
        found.ignore(words.otherEvent);
        continue;
      }
      for (const [key, [chart, label, bytes]] of Object.entries(METRICS)) {
        const value = table(data)[key];
        if (value === undefined) continue;
        found.add(chart, prefix + label, (now - first) / 1000, value, bytes ? 1 / mss : 1);
        if (bytes) sizes.add(mss);
        else if (typeof value === "number") largest = Math.max(largest, value);
      }
    }
  });
  if (sizes.size > 0) found.notes.push(words.segments([...sizes]));
  if (largest > 0 && largest < 1) found.notes.push(words.seconds);
  return found.done(file, "qlog");
}

/** The series of Flent that have a chart, and the unit of their values if the file states it. */
const FLENT: [RegExp, string, RegExp][] = [
  [/^TCP .*::tcp_cwnd$/, "cwnd", /^(packets|segments)$/i],
  [/^TCP .*::tcp_rtt$/, "srtt", /^ms$/i],
  [/^Ping \(ms\)(?!.* avg$)/, "srtt", /^ms$/i],
  [/^TCP (upload|download)\b(?!.*(::tcp_|\b(avg|sum|fairness|totals)$))/, "throughput", /^mbits?\/s$/i],
];

function ofFlent(file: string, whole: Table): Foreign {
  const found = new Found();
  const times = list(whole["x_values"]);
  const units = table(table(whole["metadata"])["SERIES_META"]);
  for (const [name, values] of Object.entries(table(whole["results"]))) {
    const place = FLENT.find(([pattern]) => pattern.test(name));
    const unit = table(units[name])["UNITS"];
    if (place === undefined || (typeof unit === "string" && !place[2].test(unit))) {
      found.ignore(place === undefined ? words.otherSeries : words.otherUnit);
      continue;
    }
    list(values).forEach((value, at) => (value === null ? found.ignore(words.missing) : found.add(place[1], name, times[at], value)));
  }
  return found.done(file, "Flent");
}

/** The fields of a row of CSV. A field is in quotes, with two quotes for each quote in it, or
 * without quotes. */
const FIELD = /(?:"((?:[^"]|"")*)"|([^",\n\r]*))(,|\r?\n|$)/y;

function ofCsv(file: string, text: string): Foreign {
  const found = new Found();
  const places = new Map(["cwnd", "srtt", "throughput", "delay"].map((id) => [charts[id as "cwnd"], id]));
  let row: string[] = [];
  let number = 0;
  FIELD.lastIndex = 0;
  while (FIELD.lastIndex < text.length) {
    const match = FIELD.exec(text);
    if (match === null) throw new Error(words.brokenCsv(number + 1));
    row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === ",") continue;
    const [time, chart, curve, value] = row;
    const place = places.get(chart ?? "");
    row = [];
    number += 1;
    if (number === 1) continue;
    if (place === undefined) found.ignore(words.otherChart);
    else if (value === "") found.ignore(words.missing);
    else found.add(place, curve ?? "", Number(time || NaN), Number(value ?? NaN));
  }
  return found.done(file, "CSV");
}
