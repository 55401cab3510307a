// Runs scenarios in a web worker, so that the page stays responsive. A newer request ends the run
// of an older request.

import type { About, FromWorker, Loaded, Log, Problem, Request, Summary, ToWorker, Trace, Value, Watched } from "./protocol";
import { Engine } from "./wasm";

/** Number of simulated events between two checks for new messages. The engine needs about 20 ms for
 * these events. */
const SLICE = 60_000;

/** Largest number of packets whose times in the queue a run stores. */
const MOST_STAYS = 600_000;

/** Largest number of series that the charts draw. */
const MOST_TRACES = 80;

/** Simulated seconds between two checks for new messages while the worker runs up to a moment. */
const STRETCH = 2;

/** The largest size, in bytes, of a moment's state that the worker stores. */
const MOST_KEPT = 1 << 28;

/** The state of a run at a moment, from which the run can continue with other changes. */
let kept: { of: string; state: ArrayBuffer } | null = null;

let module: WebAssembly.Module | null = null;
let engine: Engine | null = null;
let newest: { id: number; request: Request } | null = null;
let busy = false;

function say(message: FromWorker, moved: Transferable[] = []): void {
  postMessage(message, { transfer: moved });
}

const turn = new MessageChannel();
const turns: (() => void)[] = [];
turn.port1.onmessage = () => turns.shift()?.();

/** Waits until pending messages have been handled. */
function breathe(): Promise<void> {
  return new Promise((next) => {
    turns.push(next);
    turn.port2.postMessage(null);
  });
}

addEventListener("message", (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  if (message.kind === "start") {
    void start(message.engine, message.packed);
  } else {
    newest = { id: message.id, request: message.request };
    void work();
  }
});

async function start(bytes: ArrayBuffer, packed: boolean): Promise<void> {
  let plain = bytes;
  if (packed) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    plain = await new Response(stream).arrayBuffer();
  }
  module = await WebAssembly.compile(plain);
  engine = new Engine(module);
  say({ kind: "about", about: JSON.parse(engine.about()) as About });
  void work();
}

async function work(): Promise<void> {
  if (busy || module === null) return;
  busy = true;
  while (newest !== null) {
    const { id, request } = newest;
    newest = null;
    engine ??= new Engine(module);
    try {
      await one(engine, id, request);
    } catch (error) {
      // After a panic, answer with its message, and load a new instance for the next request.
      const message = error instanceof WebAssembly.RuntimeError ? engine.panic() : String(error);
      engine = null;
      say({ kind: "failed", id, message });
    }
  }
  busy = false;
}

type Answer = Loaded & { problems?: Problem[] };

/** Returns the point and the link of a request, reduced to numbers that exist in the scenario. */
function within(request: Request, loaded: Loaded): { point: number; link: number } {
  const point = Math.min(request.point, loaded.points.length - 1);
  return { point, link: Math.min(request.link, (loaded.points[point]?.links.length ?? 1) - 1) };
}

/** Returns an engine that has run up to the moment in a request. Returns null if the request has no
 * moment, or if a newer request has arrived. */
async function reach(request: Request): Promise<Engine | null> {
  const { fork, files } = request;
  if (fork === null || module === null) return null;
  const of = JSON.stringify({ ...request, text: "" });
  if (kept?.of === of) return new Engine(module, kept.state);
  kept = null;
  const forked = new Engine(module);
  // If this engine panics, the answer must contain its message.
  engine = forked;
  const loaded = JSON.parse(forked.load({ text: fork.text, files })) as Answer;
  if (loaded.problems !== undefined) return null;
  const { point, link } = within(request, loaded);
  forked.begin(point, link, MOST_STAYS, request.from_s);
  for (let time = STRETCH; time < fork.time; time += STRETCH) {
    forked.until(time);
    await breathe();
    if (newest !== null) return null;
  }
  forked.until(fork.time);
  const state = forked.snapshot();
  if (state.byteLength <= MOST_KEPT) kept = { of, state };
  return forked;
}

async function one(whole: Engine, id: number, request: Request): Promise<void> {
  const began = performance.now();
  const forked = await reach(request);
  if (newest !== null) return;
  engine = forked ?? whole;
  const { text, files } = request;
  const values = JSON.parse(engine.outline(text)) as Value[];
  const answer = JSON.parse(forked?.change({ text, files }) ?? whole.load({ text, files })) as Answer;
  const loaded = answer.problems === undefined ? answer : null;
  say({ kind: "loaded", id, values, loaded, problems: answer.problems ?? [] });
  if (loaded === null) return;
  const { point, link } = within(request, loaded);
  if (forked === null) engine.begin(point, link, MOST_STAYS, request.from_s);
  for (;;) {
    const fraction = engine.advance(SLICE);
    if (fraction >= 2) break;
    say({ kind: "progress", id, fraction });
    await breathe();
    if (newest !== null) return;
  }
  const took_ms = performance.now() - began;
  const summary_text = engine.summary();
  const { watched, moved } = watch(engine);
  const result = {
    text: request.text,
    loaded,
    point,
    link,
    summary: JSON.parse(summary_text) as Summary,
    summary_text,
    log: JSON.parse(engine.log()) as Log,
    traces: traces(engine, watched),
    watched,
    took_ms,
  };
  say({ kind: "result", id, result }, moved);
}

function watch(engine: Engine): { watched: Watched; moved: Transferable[] } {
  const about = JSON.parse(engine.watched()) as Omit<Watched, "stays">;
  const groups = about.groups.length;
  const binned = (number: number): Float64Array[] => {
    const all = new Float64Array(engine.column(number));
    return Array.from({ length: groups }, (_, at) => all.slice(at * about.bins, (at + 1) * about.bins));
  };
  const columns = [4, 5, 6, 7, 8, 9].map((number) => engine.column(number)) as [
    ArrayBuffer, ArrayBuffer, ArrayBuffer, ArrayBuffer, ArrayBuffer, ArrayBuffer,
  ];
  const stays = {
    came: new Float64Array(columns[0]),
    left: new Float64Array(columns[1]),
    group: new Uint8Array(columns[2]),
    len: new Uint16Array(columns[3]),
    fate: new Uint8Array(columns[4]),
    flags: new Uint8Array(columns[5]),
  };
  const watched = {
    ...about,
    throughput: binned(0),
    delay: binned(1),
    marks: binned(2),
    drops: binned(3),
    stays,
  };
  return { watched, moved: columns };
}

const OF_FLOWS = ["cwnd", "ssthresh", "srtt_ns", "in_flight", "delivered_bytes"];

/** Returns the series for the charts: some series of each flow, and all series of links. */
function traces(engine: Engine, watched: Watched): Trace[] {
  const keys = (JSON.parse(engine.series()) as { keys: { flow: string | null; link: string | null; quantity: string; rows: number }[] }).keys;
  const shown = new Set(watched.groups.map((group) => group.name));
  const found: Trace[] = [];
  keys.forEach((key, number) => {
    const { flow, link, quantity } = key;
    const event = quantity.startsWith("drop.") || quantity.startsWith("mark.");
    const wanted = flow !== null && link === null ? shown.has(flow) && OF_FLOWS.includes(quantity) : flow === null && !event;
    if (!wanted || key.rows === 0 || found.length >= MOST_TRACES) return;
    const rows = engine.rows(number);
    const half = rows.length / 2;
    found.push({ flow, link, quantity, time: rows.slice(0, half), value: rows.slice(half) });
  });
  return found;
}
