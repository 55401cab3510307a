// Uses the page in a browser as a person does. Writes what the page showed as JSON, which the
// caller checks.
import { chromium } from "playwright-core";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");
const single = pathToFileURL(join(dist, "single.html")).href;
const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--disable-gpu"] });
const seen = { errors: [], outside: [] };

async function open(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce", acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  page.on("request", (request) => {
    const own = ["file:", "blob:", "data:"].some((scheme) => request.url().startsWith(scheme));
    if (!own && !request.url().startsWith(address.split("#")[0].replace("index.html", ""))) seen.outside.push(request.url());
  });
  await page.goto(address);
  return page;
}

/** Waits until the page shows a run other than the run that was shown before. */
async function ran(page, before = "") {
  const wait = (before) => (document.body.dataset.run ?? "") !== before;
  await page.waitForFunction(wait, before, { timeout: 20_000 });
  return page.evaluate(() => document.body.dataset.run);
}

async function write(page, text) {
  await page.locator("textarea").fill(text);
}

const first = readFileSync(join(dist, "../../python/tailback/examples/first.toml"), "utf8");

// Open the page from a file, and from a server.
const page = await open(single);
seen.file = await ran(page);
seen.title = await page.locator("h2.title").textContent();
seen.charts = await page.locator(".uplot").count();
// Read the values that the charts show for a cursor in their middle.
seen.under = [];
for (const number of [6, 7, 8]) {
  await page.locator(".uplot .u-over").nth(number).hover();
  seen.under.push(await page.locator(".charts h3 .values").nth(number).innerText());
}
seen.rows = await page.locator(".log tbody tr").count();
seen.picture = await page.locator("canvas[role=img]").first().getAttribute("aria-label");

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
const server = createServer((request, response) => {
  const name = request.url === "/" ? "index.html" : request.url.slice(1);
  try {
    const content = readFileSync(join(dist, name));
    response.writeHead(200, { "Content-Type": types[extname(name)] }).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const served = await open(`http://127.0.0.1:${server.address().port}/`);
seen.http = await ran(served);
await served.context().close();
server.close();

// Make several mistakes in the scenario at once.
await write(page, first.replace('"50Mbit"', '"50Mbot"').replace("cubic", "cubik"));
await page.waitForSelector(".problems li");
seen.problems = await page.locator(".problems li").allTextContents();
seen.marked = await page.locator(".lines .bad").allTextContents();
await write(page, first);
await page.waitForFunction(() => document.querySelector(".problems li") === null);

// Move a slider. A new run appears, and the previous run is drawn beside it.
const slider = page.getByLabel("path.rtt", { exact: true });
await slider.fill("800");
seen.slid = await ran(page, seen.file);
seen.sliderText = /rtt = "([^"]+)"/.exec(await page.locator("textarea").inputValue())[1];
seen.pictures = await page.locator("figure.picture:not([hidden])").count();
seen.changed = await page.locator("td s").count();
seen.link = await page.evaluate(() => location.hash);

// Choose another algorithm. Options that the new algorithm also has are kept.
await page.getByLabel("bottleneck.queue.aqm", { exact: true }).selectOption("codel");
await ran(page, seen.slid);
seen.queue = /queue = (.+)/.exec(await page.locator("textarea").inputValue())[1];
const codel = await page.evaluate(() => document.body.dataset.run);
await page.getByLabel("add an option … bottleneck.queue", { exact: true }).selectOption("target");
await page.waitForFunction(() => document.querySelector("textarea").value.includes("target"));
seen.option = /queue = (.+)/.exec(await page.locator("textarea").inputValue())[1];
seen.codel = codel;
// Write a default into the file. The run stays the same.
await page.getByLabel("bottleneck.queue.aqm", { exact: true }).selectOption("fq_codel");
await ran(page, codel);
seen.kept = /queue = (.+)/.exec(await page.locator("textarea").inputValue())[1];

// Use the player.
await page.locator("h2.title").click();
await page.keyboard.press(" ");
await page.waitForFunction(() => document.querySelector(".player .main").textContent === "Pause");
await page.keyboard.press(" ");
const before = Number(await page.locator(".player input[type=range]").inputValue());
await page.keyboard.press("ArrowRight");
seen.stepped = Number.isFinite(before);
await page.locator(".log tbody tr").first().click();
seen.jumped = await page.locator(".player output").textContent();
seen.firstEvent = await page.locator(".log tbody tr button").first().textContent();
await page.context().close();

// Open a link. The link contains a scenario. The page warns if another version of the engine made
// the link.
const linked = await open(single + seen.link);
seen.linked = await ran(linked);
seen.linkedText = await linked.locator("textarea").inputValue();
seen.banner = await linked.locator(".banner").isVisible();
await linked.context().close();
const { deflateRawSync } = await import("node:zlib");
const packed = (data) => `#s=${deflateRawSync(JSON.stringify(data)).toString("base64url")}`;
const older = await open(single + packed({ v: 1, engine: "0.0+0", text: first }));
await ran(older);
seen.older = await older.locator(".banner").textContent();
await older.context().close();
const broken = await open(`${single}#s=AAAA`);
await ran(broken);
seen.broken = await broken.locator(".banner").textContent();
await broken.context().close();

// Put scripts into every place where a scenario has text.
const script = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>";
const hostile = first.replace(/title .*/, `title = """${script}"""`).replace("[[flows]]", `[[flows]]\nname = "a"\n# ${script}`);
const inert = await open(single + packed({ v: 1, engine: script, text: hostile, files: { [script]: script } }));
const good = await ran(inert);
seen.inertTitle = await inert.locator("h2.title").textContent();
const [download] = await Promise.all([
  inert.waitForEvent("download"),
  inert.getByLabel("Save as …").selectOption("svg"),
]);
seen.svg = readFileSync(await download.path(), "utf8");
const bad = hostile.replace('name = "a"', `name = """${script}"""`).replace("fifo", script).replace('"50Mbit"', `"${script}"`);
await write(inert, `${bad}\n["${script}"]\n"${script}" = 1\n`);
await inert.waitForSelector(".problems li");
seen.hostileProblems = await inert.locator(".problems li").count();
await write(inert, `${hostile}\n[sweep]\n"path.rtt" = ["10ms", "20ms"]\n`);
await ran(inert, good);
seen.points = await inert.getByLabel("Point of the sweep", { exact: true }).locator("option").allTextContents();
seen.hacked = await inert.evaluate(() => window.hacked ?? null);
seen.images = await inert.locator("img").count();
await inert.context().close();

// A lesson hides the run until the user has predicted it.
const school = await open(single);
const opened = await ran(school);
await school.getByLabel("Open an example").selectOption("lesson-standing-queue");
await ran(school, opened);
const picture = school.locator("figure.picture").first();
seen.lesson = await school.locator(".lesson h2").first().textContent();
seen.hidden = !(await picture.isVisible());
await school.getByRole("button", { name: "prediction" }).click();
seen.revealed = await picture.isVisible();
seen.answer = await school.locator(".lesson details").textContent();
await school.context().close();

// Open a published table, simulate another row, then all rows. Change a value, and open a link.
const shelf = await open(single);
let figure = await ran(shelf);
await shelf.getByLabel("Open a published figure").selectOption("dctcp-internet-2014/Table I: two Reno flows");
figure = await ran(shelf, figure);
const cells = () => shelf.locator(".published tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
seen.published = [{ run: figure, cells: await cells() }];
const rowOf = (number) => shelf.locator(".published tbody button").nth(number);
await rowOf(3).click();
figure = await ran(shelf, figure);
seen.published.push({ run: figure, cells: await cells() });
await shelf.getByRole("button", { name: "Simulate all" }).click();
await shelf.waitForFunction(() => [...document.querySelectorAll(".published td:last-child")].every((cell) => cell.textContent !== "–"));
seen.publishedAll = await cells();
await shelf.getByLabel("Published quantity").selectOption("mean queue");
seen.publishedQueues = await cells();
seen.publishedDots = await shelf.locator(".published .track i").count();
seen.swept = await shelf.getByLabel("bottleneck.queue.classic.min", { exact: true }).isDisabled();
seen.unswept = await shelf.getByLabel("bottleneck.rate", { exact: true }).isDisabled();
seen.publishedLink = await shelf.evaluate(() => location.hash);
await shelf.getByLabel("duration", { exact: true }).fill("300");
await shelf.waitForFunction(() => document.querySelector(".published .note:nth-of-type(2)").textContent.includes("You changed"));
seen.publishedChanged = await cells();
await shelf.context().close();
const shelved = await open(single + seen.publishedLink);
await ran(shelved);
seen.publishedLinked = await shelved.locator(".published tbody tr").count();
await shelved.getByLabel("Open a published figure").selectOption("abe-2017/Convergence");
await shelved.waitForFunction(() => document.querySelector(".published").hidden);
await shelved.context().close();

// Drop files of other tools on the page, and choose a file with the button.
const given = process.argv[4];
const drawn = await open(single);
await ran(drawn);
async function drop(files) {
  const read = (name) => [name, readFileSync(join(given, name)).toString("base64")];
  const transfer = await drawn.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, data] of files) transfer.items.add(new File([Uint8Array.from(atob(data), (one) => one.charCodeAt(0))], name));
    return transfer;
  }, files.map(read));
  await drawn.dispatchEvent("textarea", "drop", { dataTransfer: transfer });
}
const besides = (count) => drawn.waitForFunction((count) => document.querySelectorAll(".beside li").length === count, count);
const savedCsv = async () => {
  const [download] = await Promise.all([drawn.waitForEvent("download"), drawn.getByLabel("Save as …").selectOption("csv")]);
  return readFileSync(await download.path(), "utf8");
};
seen.csvAlone = await savedCsv();
const measured = ["old.qlog", "new.sqlog", "run.flent.gz"];
await drop(measured);
await besides(3);
const [chooser] = await Promise.all([drawn.waitForEvent("filechooser"), drawn.getByRole("button", { name: "Draw a file beside" }).press("Enter")]);
await chooser.setFiles([{ name: "<img src=x onerror='window.hacked=1'>.csv", mimeType: "text/csv", buffer: Buffer.from(seen.csvAlone) }]);
await besides(4);
seen.besides = await drawn.locator(".beside li").allTextContents();
seen.besideLegend = await drawn.locator(".legend li button").allTextContents();
seen.csvBesides = await savedCsv();
seen.besideImages = await drawn.locator("img").count();
await drop(["scenario.toml", "empty.qlog", "damaged.gz", "bomb.gz", "column.parquet", "group.parquet", "bits.parquet"]);
await drawn.waitForSelector(".refused:not([hidden])");
seen.refused = (await drawn.locator(".refused").textContent()).split("\n");
for (let left = 3; left >= 0; left -= 1) {
  await drawn.locator(".beside button").first().click();
  await besides(left);
}
seen.csvRemoved = await savedCsv();
seen.besideHacked = await drawn.evaluate(() => window.hacked ?? null);
// Drop a folder with runs on the page, as a person would, and choose the same folder with the
// button.
const runs = process.argv[5];
const devtools = await drawn.context().newCDPSession(drawn);
const data = { items: [], files: [runs], dragOperationsMask: 1 };
for (const type of ["dragEnter", "dragOver", "drop"]) await devtools.send("Input.dispatchDragEvent", { type, x: 700, y: 500, data });
await drawn.locator(".beside li").first().waitFor();
seen.droppedRuns = await drawn.locator(".beside li").allTextContents();
const count = seen.droppedRuns.length;
const [folders] = await Promise.all([drawn.waitForEvent("filechooser"), drawn.getByRole("button", { name: "Draw a run folder" }).click()]);
await folders.setFiles(runs);
await besides(2 * count);
seen.chosenRuns = (await drawn.locator(".beside li").allTextContents()).slice(count);
seen.csvRuns = await savedCsv();
const [wrong] = await Promise.all([drawn.waitForEvent("filechooser"), drawn.getByRole("button", { name: "Draw a run folder" }).click()]);
await wrong.setFiles(given);
await drawn.waitForSelector(".refused:not([hidden])");
seen.noRun = await drawn.locator(".refused").textContent();
await drawn.context().close();

// Fork the run at 10 s, move a slider twice, stop the flow, and save the scenario.
const fork = await open(single);
seen.unforked = await ran(fork);
await fork.locator(".player input[type=range]").fill("3333");
await fork.getByRole("button", { name: "Fork here" }).click();
const rate = fork.getByLabel("bottleneck.rate", { exact: true });
await rate.fill("300");
const once = await ran(fork, seen.unforked);
await rate.fill("200");
seen.forked = await ran(fork, once);
seen.forkedRate = await rate.getAttribute("aria-valuetext");
seen.forkedPictures = await fork.locator("figure.picture:not([hidden])").count();
await fork.getByLabel("stop or start now …", { exact: true }).selectOption("stop cubic");
seen.stopped = await ran(fork, seen.forked);
const [forkedToml] = await Promise.all([fork.waitForEvent("download"), fork.getByLabel("Save as …").selectOption("toml")]);
seen.forkedToml = readFileSync(await forkedToml.path(), "utf8");
// A congestion control does not change during a run.
seen.fixed = await fork.getByLabel("flows[0].cc", { exact: true }).isDisabled();
// Start the flow at the moment at which it stops. Then start it again, which is rejected.
const turn = fork.getByLabel("stop or start now …", { exact: true });
await turn.selectOption("start cubic");
seen.restarted = await ran(fork, seen.stopped);
const accepted = await fork.locator("textarea").inputValue();
await turn.selectOption("start cubic");
await fork.waitForFunction(() => document.querySelector(".banner").textContent.includes("rejected"));
seen.rejected = await fork.locator(".banner").textContent();
seen.rejectedText = (await fork.locator("textarea").inputValue()) === accepted;
seen.rejectedStale = await fork.evaluate(() => document.body.classList.contains("stale"));
// A later change is accepted, and removes the message.
await rate.fill("400");
seen.later = await ran(fork, seen.restarted);
seen.laterBanner = await fork.locator(".banner").isHidden();
await fork.context().close();

// Change a run whose events are an inline list, at two moments.
const listed = await open(single);
const unlisted = await ran(listed);
await write(listed, `events = [\n  { at = "2s", set = { "bottleneck.rate" = "20Mbit" } }, # ]\n]\n${first.replace('aqm = "fifo", limit = "1bdp"', 'aqm = "fq_codel", flows = 1000')}`);
let inlined = await ran(listed, unlisted);
await listed.getByRole("button", { name: "Fork here" }).click();
for (const [time, place] of [["3333", "300"], ["5000", "200"]]) {
  await listed.locator(".player input[type=range]").fill(time);
  await listed.getByLabel("bottleneck.rate", { exact: true }).fill(place);
  inlined = await ran(listed, inlined);
}
// The engine does not change this option during a run.
seen.fixedOption = await listed.getByLabel("bottleneck.queue.flows", { exact: true }).isDisabled();
seen.inlined = inlined;
seen.inlinedToml = await listed.locator("textarea").inputValue();
// This slider is rejected, because the minimum of RED exceeds its maximum. The slider moves back,
// although it is still in use.
await write(listed, first.replace('aqm = "fifo", limit = "1bdp"', 'aqm = "red", limit = "400000b", avpkt = "1000b", min = "50000b", max = "150000b"'));
await ran(listed, inlined);
await listed.getByLabel("A slider changes").selectOption("live");
const least = listed.getByLabel("bottleneck.queue.min", { exact: true });
const whole = await least.getAttribute("aria-valuetext");
await least.fill("1000");
await listed.locator(".banner", { hasText: "rejected" }).waitFor();
seen.slidBack = (await least.getAttribute("aria-valuetext")) === whole;
await listed.context().close();

// On a phone, no element is wider than the page.
const phone = await open(single, { viewport: { width: 400, height: 800 } });
await ran(phone);
seen.overflow = await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth);
await phone.context().close();

// A figure of a report links to the page, with the scenario of the figure.
const report = await browser.newPage();
await report.goto(pathToFileURL(process.argv[3]).href);
await report.locator("p.rerun a").first().click();
seen.reportRun = await ran(report);
seen.reportPoints = await report.getByLabel("Point of the sweep", { exact: true }).locator("option").allTextContents();
seen.reportBanner = await report.locator(".banner").textContent();
await report.close();

await browser.close();
process.stdout.write(JSON.stringify(seen));
