// Plays runs on the page at a given pace, and writes the frames per second of each as JSON.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";

const single = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist/single.html");
const { text, pace, repeats } = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, reducedMotion: "reduce" });
const packed = deflateRawSync(JSON.stringify({ v: 1, engine: "", text })).toString("base64url");
await page.goto(`${pathToFileURL(single).href}#s=${packed}`);
await page.waitForFunction(() => document.body.dataset.run);
await page.getByLabel("Speed", { exact: true }).selectOption(String(pace));
const rates = [];
for (let number = 0; number < repeats; number += 1) {
  const rate = await page.evaluate(
    () =>
      new Promise((done) => {
        const [start, play] = document.querySelectorAll(".player button");
        start.click();
        play.click();
        const began = performance.now();
        let frames = 0;
        const frame = () => {
          frames += 1;
          if (play.textContent === "Pause") requestAnimationFrame(frame);
          else done((1000 * frames) / (performance.now() - began));
        };
        requestAnimationFrame(frame);
      }),
  );
  rates.push(rate);
}
await browser.close();
process.stdout.write(JSON.stringify(rates));
