// Declares the messages between the page and its worker.

export interface Problem {
  line: number;
  column: number;
  width: number;
  option: string | null;
  message: string;
  text: string;
  help: string | null;
}

export interface Link {
  name: string;
  aqm: string;
  rate_bit: number;
  /** Times (s) and values (bit/s) of the link's rate, if it changes in steps or by events. */
  rates: [number, number][];
  /** What may change during a run: whether the rate may change, and the names of the options that
   * may change. */
  changeable: { rate: boolean; queue: string[]; impairments: string[][] };
}

export interface Point {
  /** The swept keys with their values, in the order of the labels. */
  params: [string, number | string][];
  labels: string[];
  seed: number;
  run_id: string;
  duration_s: number;
  warmup_s: number;
  packets: number;
  links: Link[];
}

export interface Loaded {
  title: string;
  version: string;
  id: string;
  points: Point[];
  count: number;
  warnings: Problem[];
}

export interface Value {
  path: string;
  kind: "text" | "integer" | "float" | "bool" | "date" | "table" | "array";
  value: string | number | boolean | null;
  start: number;
  end: number;
}

export interface Option {
  name: string;
  doc: string;
  type: string;
  default: string | null;
  words?: string[];
}

export interface Entry {
  name: string;
  doc: string;
  follows: string;
  options: Option[];
  in_order?: boolean | object;
}

export interface Key {
  path: string;
  entry: string | null;
  kind: string;
  words: string[];
  default: string | null;
  doc: string;
}

export interface About {
  version: string;
  registry: {
    cc: Entry[];
    aqm: Entry[];
    traffic: Entry[];
    impairments: Entry[];
    paths: { name: string; doc: string; source: string; toml: string }[];
    series: { name: string; on: string; unit: string; doc: string }[];
  };
  keys: Key[];
}

export interface Stat {
  mean: number | null;
  p50?: number | null;
  p99?: number | null;
  max?: number | null;
}

export interface Summary {
  run_id: string;
  seed: number;
  duration_s: number;
  flows: {
    name: string;
    cc: string;
    throughput_mbit: number | null;
    rtt_ms: Stat;
    retransmits: number;
    drops: number | null;
    marks: number | null;
    completion_s: number | null;
    to_s?: number | null;
  }[];
  queues: Record<
    string,
    { delay_ms: Stat; utilisation: number | null; drops: number | null; marks: number | null; packets: number }
  >;
  traffic: { name: string; kind: string; throughput_mbit: number | null; drops: number | null; marks: number | null }[];
  jain: number | null;
}

export interface Row {
  t: number;
  until?: number;
  kind: "reduction" | "undo" | "slow start" | "drop" | "mark";
  flow: string | null;
  link?: string | null;
  cause: string;
  doc?: string;
  from?: number;
  to?: number;
  count?: number;
  lost?: number;
}

export interface Log {
  rows: Row[];
  more: number;
}

export interface Group {
  name: string;
  what: string;
  count: number;
}

export interface Trace {
  flow: string | null;
  link: string | null;
  quantity: string;
  time: Float64Array;
  value: Float64Array;
}

/** When packets entered and left the queue, as columns with one entry per packet. */
export interface Stays {
  came: Float64Array;
  left: Float64Array;
  group: Uint8Array;
  len: Uint16Array;
  fate: Uint8Array;
  flags: Uint8Array;
}

export interface Watched {
  groups: Group[];
  width_s: number;
  bins: number;
  from_s: number;
  until_s: number;
  causes: string[];
  /** The groups' columns, one for each group. */
  throughput: Float64Array[];
  delay: Float64Array[];
  marks: Float64Array[];
  drops: Float64Array[];
  stays: Stays;
}

export interface Result {
  text: string;
  loaded: Loaded;
  point: number;
  link: number;
  summary: Summary;
  summary_text: string;
  log: Log;
  traces: Trace[];
  watched: Watched;
  /** Wall time of the run in ms. */
  took_ms: number;
}

export interface Request {
  text: string;
  files: Record<string, string>;
  point: number;
  link: number;
  from_s: number;
  /** The scenario without the changes at a moment, and the time of this moment. Up to this
   * moment, both scenarios run identically. */
  fork: { text: string; time: number } | null;
}

export type ToWorker =
  | { kind: "start"; engine: ArrayBuffer; packed: boolean }
  | { kind: "run"; id: number; request: Request };

export type FromWorker =
  | { kind: "about"; about: About }
  | { kind: "loaded"; id: number; values: Value[]; loaded: Loaded | null; problems: Problem[] }
  | { kind: "progress"; id: number; fraction: number }
  | { kind: "result"; id: number; result: Result }
  | { kind: "failed"; id: number; message: string };
