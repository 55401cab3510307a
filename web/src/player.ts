// Plays, pauses and steps the animation of the bottleneck, and moves it to any time.

import { button, el, menu } from "./dom";
import { words } from "./words";

const PACES = [0.001, 0.01, 0.1, 1, 10, 50];

function named(pace: number): string {
  return pace >= 1 ? `${pace} ×` : `1/${Math.round(1 / pace)} ×`;
}

export class Player {
  readonly element = el("div", { class: "player" });
  time = 0;
  pace = 1;
  private end = 1;
  private playing = false;
  private last = 0;
  private readonly toggle: HTMLButtonElement;
  private readonly slider = el("input", { type: "range", min: "0", max: "10000", step: "1", "aria-label": words.time });
  private readonly shown = el("output", {});
  private readonly speed: HTMLSelectElement;

  constructor(
    private readonly draw: () => void,
    private readonly step: (forward: boolean) => void,
  ) {
    this.toggle = button(words.play, words.play, () => this.play(!this.playing));
    this.toggle.classList.add("main");
    this.speed = menu(words.speed, PACES.map((pace) => [String(pace), named(pace)]), "1", (pace) => {
      this.pace = Number(pace);
      this.draw();
    });
    this.slider.addEventListener("input", () => {
      this.play(false);
      this.go((this.end * Number(this.slider.value)) / 10_000);
    });
    this.element.append(
      button(words.toStart, words.start, () => this.go(0)),
      this.toggle,
      button(words.next, words.nextTitle, () => this.step(true)),
      el("label", {}, `${words.speed} `, this.speed),
      el("div", { class: "time" }, this.slider, this.shown),
    );
  }

  length(end: number): void {
    this.end = end;
    this.go(Math.min(this.time, end));
  }

  go(time: number): void {
    this.time = Math.min(Math.max(0, time), this.end);
    this.slider.value = String(Math.round((10_000 * this.time) / this.end));
    const text = `${this.time.toFixed(this.pace < 0.1 ? 5 : 2)} s`;
    this.shown.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.draw();
  }

  play(on: boolean): void {
    if (on && this.time >= this.end) this.time = 0;
    const began = on && !this.playing;
    this.playing = on;
    this.toggle.textContent = on ? words.pause : words.play;
    if (!began) return;
    this.last = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  /** Changes the pace by a number of steps. */
  faster(by: number): void {
    const at = PACES.indexOf(this.pace) + by;
    this.pace = PACES[Math.min(Math.max(0, at), PACES.length - 1)] ?? 1;
    this.speed.value = String(this.pace);
    this.draw();
  }

  turn(): void {
    this.play(!this.playing);
  }

  private frame(now: number): void {
    if (!this.playing) return;
    // While a page is in the background, the browser draws no frames. Limit the time step, so that
    // the animation resumes where it stopped.
    const passed = Math.min(0.1, Math.max(0, (now - this.last) / 1000));
    this.last = now;
    this.go(this.time + passed * this.pace);
    if (this.time >= this.end) {
      this.play(false);
      return;
    }
    requestAnimationFrame((next) => this.frame(next));
  }
}
