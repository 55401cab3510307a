// Sends the page's requests to the worker. Only the newest run is active.

import source from "made:worker";
import { packed } from "./packed";
import type { About, FromWorker, Loaded, Problem, Request, Result, Value } from "./protocol";

export interface Listener {
  about(about: About): void;
  loaded(values: Value[], loaded: Loaded | null, problems: Problem[]): void;
  progress(fraction: number): void;
  result(result: Result): void;
  failed(message: string): void;
}

export class Client {
  private readonly worker: Worker;
  private last = 0;

  constructor(listener: Listener) {
    const place = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(place);
    this.worker.onerror = (event) => listener.failed(event.message);
    this.worker.onmessage = (event: MessageEvent<FromWorker>) => {
      const message = event.data;
      if (message.kind === "about") {
        listener.about(message.about);
      } else if (message.id !== this.last) {
        // If a newer request has replaced this request, ignore the answer.
      } else if (message.kind === "loaded") {
        listener.loaded(message.values, message.loaded, message.problems);
      } else if (message.kind === "progress") {
        listener.progress(message.fraction);
      } else if (message.kind === "result") {
        listener.result(message.result);
      } else {
        listener.failed(message.message);
      }
    };
    void this.start(listener);
  }

  run(request: Request): void {
    this.last += 1;
    this.worker.postMessage({ kind: "run", id: this.last, request });
  }

  private async start(listener: Listener): Promise<void> {
    try {
      const inline = packed("engine");
      const engine = inline ?? (await (await fetch("tailback.wasm")).arrayBuffer());
      this.worker.postMessage({ kind: "start", engine, packed: inline !== null }, [engine]);
    } catch (error) {
      listener.failed(String(error));
    }
  }
}
