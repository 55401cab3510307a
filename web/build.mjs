// Builds the page: `dist/index.html` with its files for a server, and `dist/single.html`, which
// contains everything in one file and also works without a server.
import zopfli from "@gfx/zopfli";
import binaryen from "binaryen";
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The largest size of single.html, bytes. */
export const BUDGET = 800_000;

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const wasm = optimised(readFileSync(join(root, "target/wasm32-unknown-unknown/wasm/tailback_wasm.wasm")));

const options = { bundle: true, minify: true, format: "iife", target: "es2022", write: false };

/** Returns an equivalent engine that is some 3 % smaller when compressed. `-Os` of Binaryen keeps the
 * engine's speed. Only features are enabled that Rust's target has too. */
function optimised(bytes) {
  const { MutableGlobals, SignExt, NontrappingFPToInt, BulkMemory, BulkMemoryOpt, ReferenceTypes, Multivalue } = binaryen.Features;
  const module = binaryen.readBinary(bytes);
  module.setFeatures(MutableGlobals | SignExt | NontrappingFPToInt | BulkMemory | BulkMemoryOpt | ReferenceTypes | Multivalue);
  binaryen.setOptimizeLevel(2);
  binaryen.setShrinkLevel(1);
  module.optimize();
  return Buffer.from(module.emitBinary());
}

/** Returns the source of a module whose default export is a text from this script. */
function made(name, text) {
  return {
    name,
    setup(at) {
      at.onResolve({ filter: new RegExp(`^made:${name}$`) }, (found) => ({ path: found.path, namespace: name }));
      at.onLoad({ filter: /.*/, namespace: name }, () => ({ contents: text(), loader: "json" }));
    },
  };
}

function examples() {
  const folder = join(root, "python/tailback/examples");
  const files = readdirSync(folder).filter((name) => name.endsWith(".toml"));
  const pairs = files.sort().map((name) => [name.replace(".toml", ""), readFileSync(join(folder, name), "utf8")]);
  return Object.fromEntries(pairs);
}

/** Packs bytes for an element of the page. Zopfli deflates them 5 % smaller than zlib. */
async function element(id, bytes) {
  const deflated = await zopfli.deflateAsync(bytes, { numiterations: 5, blocksplittingmax: 0 });
  return `<script type="text/plain" id="${id}" data-bytes="${deflated.length}">${inText(deflated)}</script>`;
}

/** The lessons of `tailback new --lesson`: the scenario, the question to predict, and the answer.
 * */
function lessons() {
  const folder = join(root, "python/tailback/teaching/lessons");
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => existsSync(join(folder, entry.name, "lesson.md")));
  const one = (name) => {
    const text = (file) => readFileSync(join(folder, name, file), "utf8");
    // The page omits the sections of a lesson about the command line.
    const sections = (markdown) => markdown.split(/^(?=## )/m).filter((section) => !/^## (Run|Then)/.test(section)).join("");
    return { name, scenario: text("scenario.toml"), lesson: sections(text("lesson.md")), answer: sections(text("answer.md")) };
  };
  return names.map((entry) => one(entry.name));
}

/** The published experiments, which `scripts/generate.py` writes. They are stored by field, because
 * texts and numbers compress better apart. */
function exhibits() {
  const all = JSON.parse(readFileSync(join(here, "exhibits.json"), "utf8"));
  const fields = ["of", "title", "label", "text", "rows", "points"].map((key) => [key, all.map((one) => one[key])]);
  const columns = all.map((one) => one.columns.map(({ values, ...about }) => about));
  const values = all.map((one) => one.columns.map((column) => column.values));
  return { ...Object.fromEntries(fields), columns, values };
}

const worker = await build({ ...options, entryPoints: [join(here, "src/worker.ts")] });
const plugins = [
  made("worker", () => JSON.stringify(worker.outputFiles[0].text)),
];
const main = await build({ ...options, entryPoints: [join(here, "src/main.ts")], plugins });
// A text in the bundle must not end the bundle's script element.
const script = main.outputFiles[0].text.replaceAll("</script", "<\\/script");
const small = await build({ ...options, entryPoints: [join(here, "src/loader.ts")] });
const loader = small.outputFiles[0].text;
const sheet = await build({ ...options, entryPoints: [join(here, "src/lab.css")], loader: { ".css": "css" } });
const style = sheet.outputFiles[0].text;
const page = readFileSync(join(here, "src/page.html"), "utf8");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Defines what the page may do: it may run its own script and the engine, but load nothing from
 * elsewhere. */
function policy(parts) {
  return [
    "default-src 'none'",
    `script-src ${parts.script} 'wasm-unsafe-eval'`,
    `style-src ${parts.style}`,
    "worker-src blob:",
    "img-src data: blob:",
    `connect-src ${parts.connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function filled(parts) {
  // Replace with functions, because `$` in a plain replacement text would refer to a match.
  return Object.entries(parts).reduce((text, [name, value]) => text.replace(`<!--${name}-->`, () => value), page);
}

/** Characters that the text of an element cannot contain unchanged. */
const AVOIDED = [0x00, 0x0d, 0x3c];

/**
 * Returns bytes as text for an element of the page, with seven bits in each byte: base64 would be a
 * sixth longer. If the seven bits are those of an avoided character, a character of two bytes
 * encodes them together with the next nine bits. `packed.ts` decodes the text.
 */
function inText(bytes) {
  let [held, bits, at] = [0, 0, 0];
  const take = (count) => {
    for (; bits < count; bits += 8) held = (held << 8) | (bytes[at++] ?? 0);
    bits -= count;
    const taken = held >> bits;
    held &= (1 << bits) - 1;
    return taken;
  };
  const codes = [];
  for (let left = 8 * bytes.length; left > 0; left -= 7) {
    const seven = take(7);
    const avoided = AVOIDED.indexOf(seven);
    codes.push(avoided === -1 ? seven : 128 + avoided * 512 + take(9));
    if (avoided !== -1) left -= 9;
  }
  return codes.map((code) => String.fromCharCode(code)).join("");
}

const texts = await element("texts", Buffer.from(JSON.stringify({ examples: examples(), lessons: lessons(), exhibits: exhibits() })));
const packed = await element("engine", wasm);
const dist = join(here, "dist");
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const meta = (parts) => `<meta http-equiv="Content-Security-Policy" content="${policy(parts)}">`;
writeFileSync(join(dist, "lab.js"), script);
writeFileSync(join(dist, "lab.css"), style);
writeFileSync(join(dist, "tailback.wasm"), wasm);
writeFileSync(
  join(dist, "index.html"),
  filled({
    policy: meta({ script: "'self'", style: "'self'", connect: "'self'" }),
    style: '<link rel="stylesheet" href="lab.css">',
    engine: texts,
    script: '<script src="lab.js"></script>',
  }),
);
const single = filled({
  policy: meta({ script: `${hash(loader)} ${hash(script)}`, style: hash(style), connect: "'none'" }),
  style: `<style>${style}</style>`,
  engine: texts + packed + (await element("script", Buffer.from(script))),
  script: `<script>${loader}</script>`,
});
writeFileSync(join(dist, "single.html"), single);
const size = Buffer.byteLength(single);
console.log(`web/dist/single.html: ${size} bytes; the engine: ${wasm.length}, packed ${Buffer.byteLength(packed)}; the script: ${script.length}`);
if (size > BUDGET) {
  console.error(`single.html has ${size} bytes, more than ${BUDGET}`);
  process.exit(1);
}
