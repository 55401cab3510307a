// Runs scenarios in the engine that browsers use. Reads `[{name, text, files, watch, fork}]`, and
// writes the results of each run, with a hash of every series. If `fork` is given, the run begins
// with another scenario. It continues with this scenario from a snapshot at the moment of the fork.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const bundle = await build({ entryPoints: [join(web, "src/wasm.ts")], bundle: true, format: "esm", write: false });
const { Engine, NO_LINK } = await import(`data:text/javascript,${encodeURIComponent(bundle.outputFiles[0].text)}`);
const module = await WebAssembly.compile(readFileSync(join(web, "dist/tailback.wasm")));
let engine = new Engine(module);

const sha = (data) => createHash("sha256").update(data).digest("hex").slice(0, 16);

function begin(point, watch) {
  if (!engine.begin(point, watch ? 0 : NO_LINK, watch ? 100_000 : 0, 0)) throw new Error("no such point");
}

function measure() {
  const began = process.cpuUsage();
  while (engine.advance(100_000) < 2);
  const used = process.cpuUsage(began);
  const cpu_s = (used.user + used.system) / 1e6;
  const { keys } = JSON.parse(engine.series());
  const series = {};
  keys.forEach(({ flow, link, quantity, rows }, number) => {
    if (rows > 0) series[[flow ?? "", link ?? "", quantity].join("\t")] = sha(Buffer.from(engine.rows(number).buffer));
  });
  return { summary: sha(engine.summary()), account: sha(engine.account()), series, cpu_s };
}

function forked({ name, text, files, watch, fork }) {
  engine.load({ text: fork.text, files, file: name });
  begin(0, watch);
  engine.until(fork.time);
  const snapshot = engine.snapshot();
  // First run to the end without the changes. This must not affect the run from the snapshot.
  while (engine.advance(100_000) < 2);
  engine = new Engine(module, snapshot);
  return JSON.parse(engine.change({ text, files, file: name }));
}

const jobs = JSON.parse(readFileSync(0, "utf8"));
const out = jobs.map((job) => {
  const { name, text, files, watch, fork } = job;
  try {
    const answer = fork === undefined ? JSON.parse(engine.load({ text, files, file: name })) : forked(job);
    if (answer.problems !== undefined) return { name, problems: answer.problems };
    const points = answer.points.map((point, number) => {
      if (fork === undefined) begin(number, watch);
      return { run_id: point.run_id, ...measure() };
    });
    return { name, version: answer.version, points };
  } catch (error) {
    const message = error instanceof WebAssembly.RuntimeError ? engine.panic() : String(error);
    engine = new Engine(module);
    return { name, failed: message };
  }
});
process.stdout.write(JSON.stringify(out));
