// Runs scenarios in the engine that browsers use. Reads `[{name, text, files, watch}]`, and writes
// the results of each run, with a hash of every series.
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

function run(point, watch) {
  const began = process.cpuUsage();
  if (!engine.begin(point, watch ? 0 : NO_LINK, watch ? 100_000 : 0, 0)) throw new Error("no such point");
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

const jobs = JSON.parse(readFileSync(0, "utf8"));
const out = jobs.map(({ name, text, files, watch }) => {
  try {
    const loaded = engine.load({ text, files, file: name });
    const answer = JSON.parse(loaded);
    if (answer.problems !== undefined) return { name, problems: answer.problems };
    const points = answer.points.map((point, number) => ({ run_id: point.run_id, ...run(number, watch) }));
    return { name, version: answer.version, points };
  } catch (error) {
    const message = error instanceof WebAssembly.RuntimeError ? engine.panic() : String(error);
    engine = new Engine(module);
    return { name, failed: message };
  }
});
process.stdout.write(JSON.stringify(out));
