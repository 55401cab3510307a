// Calls the functions that crates/wasm exports. They write their results as bytes to the memory of
// the WebAssembly instance.

interface Exports {
  memory: WebAssembly.Memory;
  lab_take(length: number): number;
  lab_answer(): number;
  lab_answer_len(): number;
  lab_about(): number;
  lab_outline(): number;
  lab_load(): number;
  lab_begin(point: number, link: number, stays: number, from: number): number;
  lab_advance(events: number): number;
  lab_until(time: number): number;
  lab_change(): number;
  lab_summary(): number;
  lab_account(): number;
  lab_log(): number;
  lab_series(): number;
  lab_rows(series: number): number;
  lab_watched(): number;
  lab_column(number: number): number;
}

/** A link number that tells the engine not to record packets of any link. */
export const NO_LINK = 0xffff_ffff;

export class Engine {
  private readonly at: Exports;

  /** Starts an instance of the engine, or continues from a snapshot. A snapshot is loaded into a
   * new instance, because the memory of an existing instance cannot shrink to the snapshot's size.
   * */
  constructor(module: WebAssembly.Module, snapshot?: ArrayBuffer) {
    this.at = new WebAssembly.Instance(module, {}).exports as unknown as Exports;
    if (snapshot === undefined) return;
    const { memory } = this.at;
    memory.grow((snapshot.byteLength - memory.buffer.byteLength) / 65536);
    new Uint8Array(memory.buffer).set(new Uint8Array(snapshot));
  }

  /** Returns a copy of the engine's whole state. */
  snapshot(): ArrayBuffer {
    return this.at.memory.buffer.slice(0) as ArrayBuffer;
  }

  /** Returns the message of the panic that ended this instance. */
  panic(): string {
    return new TextDecoder().decode(this.bytes(this.at.lab_answer_len()));
  }

  about(): string {
    return this.text(this.at.lab_about());
  }

  outline(text: string): string {
    this.give(text);
    return this.text(this.at.lab_outline());
  }

  load(request: object): string {
    this.give(JSON.stringify(request));
    return this.text(this.at.lab_load());
  }

  begin(point: number, link: number, stays: number, from: number): boolean {
    return this.at.lab_begin(point, link, stays, from) !== 0;
  }

  /** Continues the run. Returns the run's progress from 0 to 1, or 2 at its end. */
  advance(events: number): number {
    return this.at.lab_advance(events);
  }

  /** Continues the run up to and including a time. Returns the run's progress from 0 to 1. */
  until(time: number): number {
    return this.at.lab_until(time);
  }

  /** Changes the run from now on. Returns the same answers as `load`. */
  change(request: object): string {
    this.give(JSON.stringify(request));
    return this.text(this.at.lab_change());
  }

  summary(): string {
    return this.text(this.at.lab_summary());
  }

  account(): string {
    return this.text(this.at.lab_account());
  }

  log(): string {
    return this.text(this.at.lab_log());
  }

  series(): string {
    return this.text(this.at.lab_series());
  }

  rows(series: number): Float64Array {
    return new Float64Array(this.copy(this.at.lab_rows(series)));
  }

  watched(): string {
    return this.text(this.at.lab_watched());
  }

  column(number: number): ArrayBuffer {
    return this.copy(this.at.lab_column(number));
  }

  private give(text: string): void {
    const bytes = new TextEncoder().encode(text);
    const place = this.at.lab_take(bytes.length);
    new Uint8Array(this.at.memory.buffer, place, bytes.length).set(bytes);
  }

  private bytes(length: number): Uint8Array {
    return new Uint8Array(this.at.memory.buffer, this.at.lab_answer(), length);
  }

  private text(length: number): string {
    return new TextDecoder().decode(this.bytes(length));
  }

  private copy(length: number): ArrayBuffer {
    const place = this.at.lab_answer();
    return this.at.memory.buffer.slice(place, place + length) as ArrayBuffer;
  }
}
