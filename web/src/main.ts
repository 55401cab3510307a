// The page: scenario on the left, the bottleneck in the middle, charts on the right, the log below.

import { Charts } from "./charts";
import { Client } from "./client";
import { Controls, type Edit } from "./controls";
import { button, el, menu, rate } from "./dom";
import type { Draft } from "./edit";
import { Editor } from "./editor";
import { Events } from "./events";
import { type Chosen, type Foreign, MOST_RUNS, dropped, ofFolders, read } from "./foreign";
import { type Exhibit, ofExamples, ofExperiments, ofLessons, ofPaths, texts } from "./gallery";
import { lesson } from "./lesson";
import { Moment, type Place, inline, moment } from "./live";
import { Picture } from "./picture";
import { Player } from "./player";
import type { About, Loaded, Problem, Result, Value } from "./protocol";
import { PublishedValues } from "./published";
import { results } from "./results";
import { type Shared, checked, fragment, save, unpacked } from "./share";
import { csv, svg } from "./svg";
import { colour, inks, turn } from "./theme";
import { foreign, noCompression, words } from "./words";

/** The scenario that the page opens first. */
const FIRST = "first";

/** The state to which the page returns if the engine rejects a change during the run. */
interface Accepted {
  text: string;
  outline: Draft;
  moment: Moment | null;
  now: Map<string, string>;
  before: Result | null;
}

class Lab {
  private about: About | null = null;
  private text = "";
  private files: Record<string, string> = {};
  private point = 0;
  private link = 0;
  private from = 0;
  private loaded: Loaded | null = null;
  private result: Result | null = null;
  private before: Result | null = null;
  private kept = false;
  private fresh = true;
  /** Whether a slider changes the run only from the present moment on. */
  private live = false;
  /** The last moment at which the user changed the run, and the changes at that moment. */
  private moment: Moment | null = null;
  /** The state before the changes that the engine has not accepted or rejected yet. */
  private accepted: Accepted | null = null;
  /** Whether the last change was rejected. The banner then shows the reason. */
  private rejected = false;
  /** The values of the last text that the engine has read. */
  private outline: Draft = { text: "", values: [] };
  /** Whether a run is in progress. */
  private waiting = false;
  private readonly hidden = new Set<number>();

  private readonly client: Client;
  private controls: Controls | null = null;
  private readonly editor = new Editor((text) => this.edited(text));
  private readonly now = new Picture(words.now);
  private readonly old = new Picture(words.before);
  private readonly player = new Player(() => this.draw(), (forward) => this.step(forward));
  private readonly charts = new Charts((time) => this.player.go(time));
  private readonly events = new Events((time) => this.player.go(time));
  private readonly banner = el("p", { class: "banner", role: "status", hidden: true });
  private readonly bar = el("progress", { max: "1", value: "0", "aria-label": words.running });
  private readonly title = el("h2", { class: "title" });
  private readonly facts = el("p", { class: "facts" });
  private readonly legend = el("ul", { class: "legend" });
  private readonly choices = el("div", { class: "choices" });
  private readonly controlsHost = el("div", {});
  private readonly resultsHost = el("div", {});
  private readonly identity = el("p", { class: "note", title: words.runIdTitle });
  private readonly keeping = el("div", { class: "keeping" });
  private readonly lessonHost = el("div", {});
  private readonly beside: Foreign[] = [];
  private readonly besideHost = el("ul", { class: "beside", "aria-live": "polite" });
  private readonly besideError = el("p", { class: "refused", role: "alert", hidden: true });
  private exhibits: Exhibit[] = [];
  private readonly published = new PublishedValues((point) => this.goTo(point));
  private readonly galleryHost = el("span", { class: "open" });
  private readonly reach = menu(words.reach, [["", words.whole], ["live", words.fromNow]], "", (chosen) => this.fork(chosen !== "", false));

  constructor() {
    document.getElementById("lab")?.append(this.page());
    this.say(words.loading);
    this.client = new Client({
      about: (about) => void this.begin(about),
      loaded: (values, loaded, problems) => this.read(values, loaded, problems),
      progress: (fraction) => (this.bar.value = fraction),
      result: (result) => this.show(result),
      failed: (message) => this.failed(message),
    });
    window.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("resize", () => this.draw());
    window.addEventListener("hashchange", () => void this.openLink());
    this.takeDrops();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  private page(): HTMLElement {
    const saves = menu(words.save, [["", words.save], ["toml", "scenario (TOML)"], ["csv", "charts (CSV)"], ["png", "picture (PNG)"], ["svg", "charts (SVG)"], ["json", "summary (JSON)"]], "", (kind) => {
      saves.value = "";
      this.save(kind);
    });
    const theme = button("◐", words.theme, () => {
      turn();
      this.recolour();
    });
    const head = el(
      "header",
      {},
      el("h1", {}, words.name),
      el("p", {}, words.claim),
      el("nav", {}, this.galleryHost, button(words.share, words.shareTitle, () => void this.copy(false)), button(words.markdown, words.shareTitle, () => void this.copy(true)), saves, theme),
    );
    const left = el(
      "section",
      { class: "left", "aria-label": words.scenario },
      el("h2", {}, words.controls),
      el("p", { class: "note" }, words.controlsHint),
      el("label", {}, `${words.reach} `, this.reach),
      this.controlsHost,
      el("h2", {}, words.scenario),
      this.editor.element,
    );
    this.old.element.hidden = true;
    const middle = el(
      "section",
      { class: "middle", "aria-label": words.bottleneck },
      this.lessonHost,
      this.title,
      this.facts,
      this.choices,
      this.legend,
      this.now.element,
      this.old.element,
      this.player.element,
      this.keeping,
      this.resultsHost,
      this.identity,
      this.events.element,
      el("p", { class: "note" }, words.keys),
    );
    const file = el("input", { type: "file", multiple: true, hidden: true });
    file.addEventListener("change", () => {
      void this.take([...(file.files ?? [])].map((file) => ({ path: file.name, file })));
      file.value = "";
    });
    const folder = el("input", { type: "file", webkitdirectory: true, hidden: true });
    folder.addEventListener("change", () => {
      void this.take([...(folder.files ?? [])].map((file) => ({ path: file.webkitRelativePath, file })));
      folder.value = "";
    });
    const right = el(
      "section",
      { class: "right" },
      el("h2", {}, words.charts),
      el("p", { class: "note" }, words.chartsHint),
      el("div", { class: "choices" }, button(foreign.open, foreign.hint, () => file.click()), button(foreign.folder, foreign.hint, () => folder.click())),
      file,
      folder,
      el("p", { class: "note" }, foreign.hint),
      this.besideError,
      this.besideHost,
      this.charts.element,
    );
    return el("main", {}, head, this.banner, this.bar, left, middle, this.published.element, right);
  }

  private say(text: string): void {
    this.banner.textContent = text;
    this.banner.hidden = text === "";
  }

  /** Starts the page when the engine is loaded. */
  private async begin(about: About): Promise<void> {
    this.about = about;
    this.say("");
    const apart = new Set(about.registry.aqm.filter((entry) => entry.in_order !== true).map((entry) => entry.name));
    this.now.separate = this.old.separate = (aqm) => apart.has(aqm);
    this.controls = new Controls(about, (draft, began, edit) => this.changed(draft, began, edit));
    this.controlsHost.replaceChildren(this.controls.element);
    const known = await texts();
    const groups: [string, Exhibit[]][] = [
      [words.examples, ofExamples(known)],
      [words.lessons, ofLessons(known)],
      [words.paths, ofPaths(about)],
    ];
    const experiments = ofExperiments(known);
    this.exhibits = [...groups, ...experiments].flatMap(([, own]) => own);
    this.galleryHost.replaceChildren(this.gallery(about, words.gallery, groups), this.gallery(about, words.experiments, experiments));
    const given: unknown = JSON.parse(document.getElementById("opened")?.textContent ?? "null");
    if (given !== null) {
      this.open(checked(given));
    } else if (!(await this.openLink())) {
      const first = this.exhibits.find((exhibit) => exhibit.id === FIRST) ?? this.exhibits[0];
      if (first !== undefined) this.open({ v: 1, engine: about.version, text: first.text });
      if (location.hash.startsWith("#s=")) this.say(words.unreadable);
    }
  }

  private gallery(about: About, title: string, groups: [string, Exhibit[]][]): HTMLElement {
    const exhibits = groups.flatMap(([, own]) => own);
    const choice = el("select", { "aria-label": title }, el("option", { value: "" }, `${title} …`));
    for (const [label, own] of groups) {
      choice.append(el("optgroup", { label }, ...own.map((one) => el("option", { value: one.id, title: one.doc }, one.label))));
    }
    choice.addEventListener("change", () => {
      const chosen = exhibits.find((exhibit) => exhibit.id === choice.value);
      choice.value = "";
      if (chosen === undefined) return;
      this.open({ v: 1, engine: about.version, text: chosen.text });
      if (chosen.lesson !== undefined) this.teach(chosen.lesson);
    });
    return choice;
  }

  /** Opens a point of the sweep, without a comparison with the previous point. */
  private goTo(point: number): void {
    this.point = point;
    if (!this.kept) this.before = null;
    this.rerun(this.text);
  }

  /** Asks for a prediction, and hides the run until the user has made one. */
  private teach({ task, answer }: { task: string; answer: string }): void {
    document.body.classList.add("predicting");
    const shown = () => {
      document.body.classList.remove("predicting");
      this.player.go(0);
      this.charts.refresh();
    };
    this.lessonHost.replaceChildren(lesson(task, answer, shown));
  }

  /** Opens the scenario that the address bar contains. */
  private async openLink(): Promise<boolean> {
    try {
      const shared = await unpacked(location.hash);
      if (shared === null) return false;
      if (shared.text !== this.text) this.open(shared);
      return true;
    } catch {
      this.say(words.unreadable);
      return false;
    }
  }

  private open(shared: Shared): void {
    this.before = null;
    this.kept = false;
    this.fresh = true;
    this.forget();
    this.fork(false, false);
    this.lessonHost.replaceChildren();
    document.body.classList.remove("predicting");
    this.files = shared.files ?? {};
    this.point = shared.point ?? 0;
    this.link = 0;
    this.hidden.clear();
    this.controls?.reset();
    this.player.play(false);
    const here = this.about?.version ?? "";
    this.say(shared.engine !== "" && shared.engine !== here ? words.lossy(shared.engine, here) : "");
    const exhibit = this.exhibits.find((one) => one.published !== undefined && one.text === shared.text);
    this.published.open(exhibit?.published ?? null, shared.text);
    this.editor.set(shared.text);
    this.rerun(shared.text);
  }

  private rerun(text: string, from = 0): void {
    this.text = text;
    this.from = from;
    this.waiting = true;
    const { moment } = this;
    const fork = moment === null || moment.text() !== text ? null : { text: moment.base, time: moment.time };
    this.client.run({ text, files: this.files, point: this.point, link: this.link, from_s: from, fork });
  }

  private edited(text: string): void {
    this.compare();
    this.forget();
    this.rerun(text);
  }

  /** Handles a change of a slider or menu. `began` is true if the user used another slider or menu
   * before. */
  private changed(draft: Draft, began: boolean, edit: Edit | null): void {
    if (this.live && edit !== null) {
      this.change(began, (at) => at.sets.set(edit.path, edit.by));
      this.controls?.now.set(edit.path, edit.by);
      return;
    }
    if (began) this.compare();
    this.forget();
    this.editor.set(draft.text);
    this.rerun(draft.text);
  }

  /** Forgets which changes belong to the last moment. The changes stay in the scenario. */
  private forget(): void {
    this.moment = null;
    this.accepted = null;
    this.controls?.now.clear();
    this.reject("");
  }

  /** Shows why a change was rejected. An empty reason removes the message. */
  private reject(why: string): void {
    if (why !== "" || this.rejected) this.say(why);
    this.rejected = why !== "";
  }

  /** Changes the run from the present moment on, or from the last moment if the user still moves the
   * same slider. */
  private change(began: boolean, by: (at: Moment) => void): void {
    const { text, outline, before } = this;
    // After a rejection, `this.moment` belongs to an older change.
    const fresh = began || (this.rejected && this.accepted === null);
    this.accepted ??= { text, outline, moment: this.moment, now: new Map(this.controls?.now), before };
    if (began) this.compare();
    const time = moment(this.player.time, this.result?.summary.duration_s ?? 0);
    const other = fresh && this.moment?.time !== time;
    const next = this.moment === null || other ? new Moment(text, time, this.place()) : this.moment.copy();
    by(next);
    this.moment = next;
    this.editor.set(next.text());
    this.rerun(next.text());
  }

  /** Returns the place for another event in the text, if its events are inline. */
  private place(): Place | null {
    if (this.outline.text === this.text) return inline(this.outline.values);
    return this.moment?.text() === this.text ? this.moment.after() : null;
  }

  /** Returns to the last accepted state, and shows the problems of the rejected change. */
  private back(to: Accepted, problems: Problem[]): void {
    const { result } = this;
    this.accepted = null;
    this.moment = to.moment;
    this.before = to.before;
    this.editor.set(to.text);
    this.reject(words.rejected(problems.map(({ text }) => text).join(". ")));
    if (this.controls !== null) this.controls.now = to.now;
    if (to.outline.text === to.text) this.controls?.show(to.outline, true);
    const shown = result?.text === to.text && result.point === this.point && result.link === this.link;
    if (!shown || to.outline.text !== to.text) return this.rerun(to.text);
    this.text = to.text;
    this.waiting = false;
    this.bar.classList.remove("busy");
  }

  /** Switches whether sliders change the run only from the present moment on. If `keep` is true,
   * stores the current result, with which later runs are compared. */
  private fork(on: boolean, keep: boolean): void {
    this.live = on;
    if (keep) {
      this.player.play(false);
      this.before = this.result;
      this.kept = true;
      if (this.result !== null) this.show(this.result);
    }
    this.reach.value = on ? "live" : "";
    this.controls?.limit(on);
  }

  /** Returns a menu that starts or stops flows and sources from the present moment on. */
  private turns(result: Result): HTMLElement {
    const names = result.watched.groups.map((group) => group.name);
    const items = ["stop", "start"].flatMap((word) => names.map((name): [string, string] => [`${word} ${name}`, `${word} ${name}`]));
    const choice = menu(words.turn, [["", words.turn], ...items], "", (chosen) => {
      choice.value = "";
      const [word = "", name = ""] = chosen.split(/ (.*)/);
      this.change(true, (at) => at.turn(name, word === "start"));
    });
    return choice;
  }

  /** Stores the current result, so that the next run is compared with it. */
  private compare(): void {
    if (!this.kept && this.result !== null) this.before = this.result;
  }

  /** Shows a loaded scenario, or its errors. */
  private read(values: Value[], loaded: Loaded | null, problems: Problem[]): void {
    if (this.accepted !== null) {
      if (loaded === null) return this.back(this.accepted, problems);
      this.accepted = null;
      this.reject("");
    }
    this.outline = { text: this.text, values };
    this.loaded = loaded;
    this.waiting = loaded !== null;
    this.bar.value = loaded === null ? 0 : 0.02;
    this.bar.classList.toggle("busy", loaded !== null);
    document.body.classList.toggle("stale", loaded === null);
    this.editor.complain(problems, loaded?.warnings ?? []);
    this.controls?.show({ text: this.text, values });
    if (loaded !== null) this.controls?.learn(loaded.points[Math.min(this.point, loaded.points.length - 1)]?.links ?? []);
  }

  private failed(message: string): void {
    this.waiting = false;
    this.bar.classList.remove("busy");
    this.say(words.stopped(message));
  }

  private show(result: Result): void {
    this.waiting = false;
    this.result = result;
    this.point = result.point;
    this.link = result.link;
    this.bar.classList.remove("busy");
    this.now.set(result);
    if (this.before !== null) this.old.set(this.before);
    this.old.element.hidden = this.before === null;
    const pictures = this.before === null ? [this.now] : [this.now, this.old];
    const most = Math.max(...pictures.map((picture) => picture.stays()?.most ?? 1));
    for (const picture of pictures) picture.most = most;
    this.title.textContent = result.loaded.title || words.scenario;
    document.title = `${result.loaded.title || words.scenario} · ${words.name}`;
    this.facts.textContent = facts(result);
    this.pick(result);
    this.controls?.learn(result.loaded.points[result.point]?.links ?? []);
    this.name(result);
    this.listBeside();
    this.keep();
    this.charts.show(result, this.before);
    this.events.show(result.log);
    this.resultsHost.replaceChildren(results(result, this.before));
    this.identity.textContent = words.runId(result.summary.run_id, result.loaded.version);
    this.player.length(result.summary.duration_s);
    if (this.fresh && this.from === 0) {
      this.player.go(0);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.play(true);
    }
    this.fresh = false;
    this.draw();
    void this.address();
    document.body.dataset["run"] = result.summary.run_id;
    this.published.show(result);
  }

  /** Shows the menus that choose the point of a sweep, and the link to draw. */
  private pick(result: Result): void {
    const { points, count } = result.loaded;
    const links = points[result.point]?.links ?? [];
    const made: HTMLElement[] = [];
    if (count > 1) {
      const label = (at: number) => {
        const point = points[at];
        const values = (point?.params ?? []).map(([path], place) => `${path} = ${point?.labels[place] ?? ""}`);
        return `${at + 1} of ${count}: ${[...values, `seed ${point?.seed ?? ""}`].join(", ")}`;
      };
      const choice = menu(words.point, points.map((_, at) => [String(at), label(at)]), String(result.point), (chosen) => {
        this.point = Number(chosen);
        this.compare();
        this.rerun(this.text);
      });
      made.push(el("label", {}, `${words.point} `, choice));
    }
    if (links.length > 1) {
      const choice = menu(words.link, links.map((link, at) => [String(at), `${link.name}, ${link.aqm}, ${rate(link.rate_bit)}`]), String(result.link), (chosen) => {
        this.link = Number(chosen);
        if (!this.kept) this.before = null;
        this.rerun(this.text);
      });
      made.push(el("label", {}, `${words.link} `, choice));
    }
    this.choices.replaceChildren(...made);
  }

  /** Shows the legend. A click on an entry hides its flow in the charts. */
  private name(result: Result): void {
    const named = new Map(this.beside.flatMap((file) => file.series.map(({ curve }) => [curve.group, curve.label])));
    const groups = result.watched.groups.map((group, number) => ({ ...group, number, dash: false }));
    const files = [...named].map(([number, label]) => ({ name: label, what: label, count: 1, number, dash: true }));
    const items = [...groups, ...files].map(({ number, dash, ...group }) => {
      const toggle = button("", group.what, () => {
        if (!this.hidden.delete(number)) this.hidden.add(number);
        this.hide();
        this.name(result);
      });
      const swatch = el("i", { class: dash ? "swatch dash" : "swatch" });
      swatch.style.background = colour(number);
      const many = group.count > 1 ? ` × ${group.count}` : "";
      const what = group.what === group.name ? "" : ` (${group.what})`;
      toggle.append(swatch, `${group.name}${many}${what}`);
      toggle.setAttribute("aria-pressed", String(!this.hidden.has(number)));
      return el("li", {}, toggle);
    });
    const marks = el("i", { class: "swatch outlined" });
    const cross = el("b", { class: "cross" }, words.dropped);
    this.legend.replaceChildren(...items, el("li", { class: "key" }, marks, words.marked), el("li", { class: "key" }, cross));
  }

  /** Handles files that are dropped on the page. */
  private takeDrops(): void {
    const dragged = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    window.addEventListener("dragover", (event) => dragged(event) && event.preventDefault());
    window.addEventListener("drop", (event) => {
      if (!dragged(event)) return;
      event.preventDefault();
      if (event.dataTransfer !== null) void this.take(dropped(event.dataTransfer));
    });
  }

  /** Reads files, and draws them beside the run. */
  private async take(chosen: Chosen[] | Promise<Chosen[]>): Promise<void> {
    const failed: string[] = [];
    const failure = (name: string, error: unknown) => failed.push(foreign.failed(name, error instanceof Error && error.name === "Error" ? error.message : foreign.unreadable));
    let files: File[] = [];
    try {
      const found = ofFolders(await chosen);
      files = found.files;
      if (found.leftOut) failed.push(foreign.leftOut(MOST_RUNS));
    } catch (error) {
      failure(foreign.named, error);
    }
    for (const file of files) {
      try {
        this.beside.push(await read(file));
      } catch (error) {
        failure(file.name, error);
      }
    }
    this.besideError.textContent = failed.join("\n");
    this.besideError.hidden = failed.length === 0;
    this.drawBeside();
  }

  private drawBeside(): void {
    this.charts.besides(this.beside.flatMap((file) => file.series));
    this.listBeside();
    if (this.result !== null) this.name(this.result);
  }

  /** Lists the files that are drawn beside the run, with what was read from them. */
  private listBeside(): void {
    const end = this.result?.summary.duration_s ?? Infinity;
    const items = this.beside.map((file) => {
      const remove = button(foreign.remove, foreign.removeTitle(file.name), () => {
        this.beside.splice(this.beside.indexOf(file), 1);
        this.drawBeside();
      });
      const late = file.series.reduce((sum, { times }) => sum + times.filter((time) => time > end).length, 0);
      return el("li", {}, el("b", {}, file.name), ` ${file.said}${late > 0 ? foreign.late(late) : ""} `, remove);
    });
    this.besideHost.replaceChildren(...items);
  }

  private hide(): void {
    this.now.hide(this.hidden);
    this.old.hide(this.hidden);
    this.charts.hide(this.hidden);
    this.draw();
  }

  /** Shows the buttons that store a run for comparison. */
  private keep(): void {
    const keep = button(words.keep, words.keepTitle, () => {
      this.before = this.result;
      this.kept = true;
      if (this.result !== null) this.show(this.result);
    });
    const release = button(words.release, words.releaseTitle, () => {
      this.before = null;
      this.kept = false;
      if (this.result !== null) this.show(this.result);
    });
    const fork = button(words.fork, words.forkTitle, () => this.fork(true, true));
    const turns = this.result === null ? [] : [this.turns(this.result)];
    this.keeping.replaceChildren(keep, fork, ...turns, ...(this.before === null ? [] : [release]));
  }

  private draw(): void {
    const { time, pace } = this.player;
    this.now.draw(time, pace);
    if (!this.old.element.hidden) this.old.draw(time, pace);
    this.charts.playhead(time);
    this.events.follow(time);
    const stays = this.now.stays();
    if (stays !== null && !stays.knows(time) && !this.waiting) {
      // In a long run, packets are stored only during one period of the run. If this time is
      // outside the period, run again and store the packets around this time.
      this.rerun(this.text, Math.max(0, time - 0.02));
    }
  }

  private step(forward: boolean): void {
    this.player.play(false);
    const stays = this.now.stays();
    const time = forward ? stays?.next(this.player.time) : stays?.previous(this.player.time);
    if (time !== null && time !== undefined) this.player.go(time);
  }

  private key(event: KeyboardEvent): void {
    const place = event.target as HTMLElement | null;
    if (place?.closest("textarea, input, select, button") || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts: Record<string, () => void> = {
      " ": () => this.player.turn(),
      ArrowRight: () => this.step(true),
      ArrowLeft: () => this.step(false),
      ",": () => this.player.faster(-1),
      ".": () => this.player.faster(1),
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  private recolour(): void {
    this.charts.refresh();
    if (this.result !== null) {
      this.name(this.result);
      this.resultsHost.replaceChildren(results(this.result, this.before));
    }
    this.draw();
  }

  private shared(): Shared {
    const files = Object.keys(this.files).length === 0 ? {} : { files: this.files };
    return { v: 1, engine: this.about?.version ?? "", text: this.text, point: this.point, ...files };
  }

  /** Writes the scenario into the address bar. */
  private async address(): Promise<void> {
    history.replaceState(null, "", await fragment(this.shared()));
  }

  private async copy(markdown: boolean): Promise<void> {
    await this.address();
    const title = (this.loaded?.title || words.scenario).replace(/[[\]\\`*_<>]/g, "\\$&");
    const text = markdown ? `[${title}](${location.href})` : location.href;
    try {
      await navigator.clipboard.writeText(text);
      this.say(words.copied);
    } catch {
      this.say(words.notCopied);
    }
  }

  private save(kind: string): void {
    const { result } = this;
    if (kind === "toml") save("scenario.toml", new Blob([this.text], { type: "application/toml" }));
    if (result === null) return;
    const charts = this.charts.current();
    if (kind === "csv") save("lab.csv", new Blob([csv(charts)], { type: "text/csv" }));
    if (kind === "json") save("summary.json", new Blob([result.summary_text], { type: "application/json" }));
    if (kind === "svg") {
      save("lab.svg", new Blob([svg(charts, result.summary.duration_s, result.loaded.title)], { type: "image/svg+xml" }));
    }
    if (kind === "png") this.png();
  }

  /** Saves the animation's current frame and the charts as one PNG. */
  private png(): void {
    const parts = [this.now.canvas, ...this.charts.canvases()];
    const width = Math.max(...parts.map((part) => part.width));
    const sheet = el("canvas", { width: String(width), height: String(parts.reduce((sum, part) => sum + part.height, 0)) });
    const context = sheet.getContext("2d");
    if (context === null) return;
    context.fillStyle = inks().page;
    context.fillRect(0, 0, sheet.width, sheet.height);
    let top = 0;
    for (const part of parts) {
      context.drawImage(part, 0, top);
      top += part.height;
    }
    sheet.toBlob((content) => content !== null && save("lab.png", content));
  }
}

/** Describes a scenario in one line. */
function facts(result: Result): string {
  const point = result.loaded.points[result.point];
  const link = point?.links[result.link];
  const flows = result.watched.groups.reduce((sum, group) => sum + group.count, 0);
  const senders = `${flows} ${flows === 1 ? "sender" : "senders"}`;
  const over = link === undefined ? "" : ` over a link of ${rate(link.rate_bit)}, queue ${link.aqm}`;
  return `${senders}${over}, ${point?.duration_s ?? 0} s`;
}

if (typeof DecompressionStream === "undefined") {
  document.getElementById("lab")?.append(noCompression);
} else {
  new Lab();
}
