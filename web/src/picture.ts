// Draws the bottleneck at one moment, from the times at which packets entered and left the queue.
// Packets arrive from the left, wait in the queue, and leave over the link.

import { el, rate, short } from "./dom";
import type { Result } from "./protocol";
import { ACK, LEFT_CE, LEFT_SCE, Queue } from "./stays";
import { colour, inks } from "./theme";
import { causes, words } from "./words";

const HEIGHT = 210;
/** Vertical position of the top and the bottom of the queue. */
const TOP = 42;
const BOTTOM = 150;
/** Time for which drops stay visible, seconds of real time. */
const FALL = 0.6;
/** Time in which packets move to the queue and away from it, seconds of real time. */
const MOVE = 0.5;
/** Largest number of moving packets to draw. */
const MOST_MOVING = 80;

export class Picture {
  readonly element = el("figure", { class: "picture" });
  readonly canvas = el("canvas", { role: "img" });
  private readonly caption = el("figcaption", {});
  private readonly note = el("p", { class: "note" });
  private queue: Queue | null = null;
  private result: Result | null = null;
  private hidden = new Set<number>();

  constructor(private readonly heading: string) {
    this.element.append(this.caption, this.canvas, this.note);
  }

  set(result: Result): void {
    this.result = result;
    this.queue = new Queue(result.watched);
  }

  /** Returns the packets of the shown link, with their times in the queue. */
  stays(): Queue | null {
    return this.queue;
  }

  hide(groups: Set<number>): void {
    this.hidden = groups;
  }

  /** Largest queue to show, packets. In a comparison, both drawings have the same scale. */
  most = 1;

  /** Draws a moment. `pace` is how many seconds of the run pass in a second on the screen. */
  draw(time: number, pace: number): void {
    const { result, queue } = this;
    const width = this.canvas.clientWidth;
    const context = this.canvas.getContext("2d");
    if (result === null || queue === null || width === 0 || context === null) return;
    const ratio = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(HEIGHT * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, HEIGHT);
    this.scene(context, queue, result, width, time, pace);
  }

  private scene(at: CanvasRenderingContext2D, queue: Queue, result: Result, width: number, time: number, pace: number): void {
    const ink = inks();
    const link = result.loaded.points[result.point]?.links[result.link];
    const narrow = width < 520;
    const begin = narrow ? 66 : 118;
    const end = width - (narrow ? 84 : 150);
    const middle = (TOP + BOTTOM) / 2;
    at.font = "12px system-ui, sans-serif";
    at.lineWidth = 1;

    // Draw the line along which packets move.
    at.strokeStyle = ink.grid;
    at.lineWidth = 8;
    line(at, 8, middle, begin, middle);
    line(at, end, middle, width - 4, middle);
    at.lineWidth = 1;

    const there = queue.at(time);
    const waiting = there.filter((one) => (queue.fate[one] ?? 0) === 0 || (queue.left[one] ?? 0) > time);
    this.box(at, queue, waiting, begin, end, time, link?.aqm ?? "");
    this.moving(at, queue, queue.coming(time, time + MOVE * pace), (one) => 8 + (begin - 12) * (1 - ((queue.came[one] ?? 0) - time) / (MOVE * pace)), middle, false);
    const gone = queue.leaving(time - MOVE * pace, time);
    const sent = gone.filter((one) => (queue.fate[one] ?? 0) === 0);
    this.moving(at, queue, sent, (one) => end + 6 + (width - end - 12) * ((time - (queue.left[one] ?? 0)) / (MOVE * pace)), middle, true);
    this.falling(at, queue, queue.leaving(time - FALL * pace, time), begin, time, pace);

    at.fillStyle = ink.muted;
    at.textAlign = "left";
    at.fillText("senders", 8, middle - 14);
    at.textAlign = "right";
    at.fillText(narrow ? "link" : "link to receivers", width - 4, middle - 14);
    const step = link?.rates.filter(([from]) => from <= time).at(-1);
    at.fillText(link === undefined ? "" : rate(step?.[1] ?? link.rate_bit), width - 4, middle + 24);
    this.tell(waiting.length, time, link?.aqm ?? "", link?.name ?? "");
  }

  /** Draws the queue: packets in columns, with the head of the queue at the right. */
  private box(at: CanvasRenderingContext2D, queue: Queue, waiting: number[], begin: number, end: number, time: number, aqm: string): void {
    const ink = inks();
    at.strokeStyle = ink.muted;
    at.strokeRect(begin, TOP - 4, end - begin, BOTTOM - TOP + 8);
    at.fillStyle = ink.ink;
    at.textAlign = "left";
    at.font = "600 12px system-ui, sans-serif";
    at.fillText(`queue: ${aqm}`, begin, TOP - 12);
    at.font = "12px system-ui, sans-serif";
    at.textAlign = "right";
    at.fillStyle = ink.muted;
    at.fillText(`${waiting.length} ${waiting.length === 1 ? "packet" : "packets"}`, end, TOP - 12);

    const { cell, each } = this.cells(Math.max(queue.most, this.most), end - begin - 8, BOTTOM - TOP);
    const rows = Math.max(1, Math.floor((BOTTOM - TOP) / cell));
    // If each flow has its own queue, draw a lane for each queue.
    const lanes = this.lanes(waiting, queue);
    const rowsOfLane = Math.max(1, Math.floor(rows / lanes.length));
    lanes.forEach((lane, number) => {
      const top = TOP + (number * (BOTTOM - TOP)) / lanes.length;
      lane.forEach((one, place) => {
        if (place % each !== 0) return;
        const cellNumber = Math.floor(place / each);
        const x = end - 4 - cell * (1 + Math.floor(cellNumber / rowsOfLane));
        const y = top + cell * (cellNumber % rowsOfLane);
        if (x > begin) this.packet(at, queue, one, x, y, cell, time);
      });
      if (number > 0) {
        at.strokeStyle = ink.grid;
        line(at, begin + 1, top - 1, end - 1, top - 1);
      }
    });
    this.note.textContent = each > 1 ? words.cells(each) : "";
  }

  /** Returns the waiting packets by lane. */
  private lanes(waiting: number[], queue: Queue): number[][] {
    const result = this.result;
    const aqm = result?.loaded.points[result.point]?.links[result.link]?.aqm ?? "";
    const groups = result?.watched.groups.length ?? 1;
    if (!this.separate(aqm) || groups < 2 || groups > 6) return [waiting];
    const lanes: number[][] = Array.from({ length: groups }, () => []);
    for (const one of waiting) lanes[queue.group[one] ?? 0]?.push(one);
    return lanes;
  }

  /** Returns whether an AQM has separate queues for flows or classes, according to the registry. */
  separate: (aqm: string) => boolean = () => false;

  /** Returns the size of a cell in pixels, and the number of packets that a cell represents. */
  private cells(most: number, width: number, height: number): { cell: number; each: number } {
    const fits = (cell: number) => Math.floor(width / cell) * Math.floor(height / cell);
    for (const cell of [14, 12, 10, 8, 6, 5, 4]) {
      if (fits(cell) >= most) return { cell, each: 1 };
    }
    return { cell: 4, each: Math.ceil(most / Math.max(1, fits(4))) };
  }

  private packet(at: CanvasRenderingContext2D, queue: Queue, one: number, x: number, y: number, cell: number, time: number): void {
    const group = queue.group[one] ?? 0;
    const flags = queue.flags[one] ?? 0;
    at.globalAlpha = this.hidden.has(group) ? 0.15 : 1;
    at.fillStyle = colour(group);
    const gap = cell > 5 ? 1.5 : 0.5;
    at.fillRect(x, y, cell - gap, cell - gap);
    // A queue may mark a packet on arrival or on departure. In both cases, draw the outline of a
    // marked packet only once it has left the queue.
    if ((flags & (LEFT_CE | LEFT_SCE)) !== 0 && time >= (queue.left[one] ?? Infinity)) {
      at.strokeStyle = inks().mark;
      at.lineWidth = 2;
      at.strokeRect(x, y, cell - gap, cell - gap);
      at.lineWidth = 1;
    }
    at.globalAlpha = 1;
  }

  /** Draws moving packets. If there are too many, draws an evenly spaced selection. */
  private moving(at: CanvasRenderingContext2D, queue: Queue, packets: number[], place: (one: number) => number, y: number, left: boolean): void {
    const step = Math.max(1, Math.ceil(packets.length / MOST_MOVING));
    packets.forEach((one, number) => {
      if (number % step !== 0) return;
      const small = ((queue.flags[one] ?? 0) & ACK) !== 0 ? 4 : 8;
      this.packet(at, queue, one, place(one) - small / 2, y - small / 2, small + 1.5, left ? Infinity : -Infinity);
    });
  }

  /** Draws dropped packets, which fall out of the queue, each with the cause of its drop. */
  private falling(at: CanvasRenderingContext2D, queue: Queue, gone: number[], begin: number, time: number, pace: number): void {
    const ink = inks();
    const drops = gone.filter((one) => (queue.fate[one] ?? 0) > 0);
    const step = Math.max(1, Math.ceil(drops.length / MOST_MOVING));
    const reasons = new Map<string, number>();
    drops.forEach((one, number) => {
      const cause = this.result?.watched.causes[(queue.fate[one] ?? 1) - 1] ?? "";
      reasons.set(cause, (reasons.get(cause) ?? 0) + 1);
      if (number % step !== 0) return;
      const age = (time - (queue.left[one] ?? 0)) / (FALL * pace);
      const x = begin + 14 + ((one * 37) % 60);
      const y = BOTTOM + 12 + 34 * age;
      at.globalAlpha = 1 - 0.7 * age;
      at.fillStyle = colour(queue.group[one] ?? 0);
      at.fillRect(x - 3, y - 3, 7, 7);
      at.strokeStyle = ink.bad;
      at.lineWidth = 2;
      line(at, x - 5, y - 5, x + 6, y + 6);
      line(at, x + 6, y - 5, x - 5, y + 6);
      at.lineWidth = 1;
      at.globalAlpha = 1;
    });
    at.fillStyle = ink.bad;
    at.textAlign = "left";
    [...reasons].forEach(([cause, count], number) => {
      at.fillText(`✕ ${count} dropped: ${causes[cause] ?? cause}`, begin + 90, BOTTOM + 24 + 15 * number);
    });
  }

  /** Describes the drawing as text, for screen readers. */
  private tell(waiting: number, time: number, aqm: string, name: string): void {
    const result = this.result;
    const took = result === null ? "" : ` · ${words.took(short(result.summary.duration_s), short(result.took_ms))}`;
    this.caption.textContent = `${this.heading} · ${short(time, 4)} s${took}`;
    this.canvas.setAttribute("aria-label", `${this.heading}: at ${short(time, 4)} s, ${waiting} packets wait at ${name} (${aqm})`);
  }
}

function line(at: CanvasRenderingContext2D, x: number, y: number, toX: number, toY: number): void {
  at.beginPath();
  at.moveTo(x, y);
  at.lineTo(toX, toY);
  at.stroke();
}
