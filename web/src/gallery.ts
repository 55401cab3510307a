// Offers scenarios with which the user can start: examples, lessons, named paths, and published
// experiments.

import { text } from "./packed";
import type { About } from "./protocol";
import type { Column, Published } from "./published";

export interface Exhibit {
  id: string;
  label: string;
  doc: string;
  text: string;
  /** For a lesson, the question to answer before the run, and the answer. */
  lesson?: { task: string; answer: string };
  /** For a published experiment, the published values. */
  published?: Published;
}

/** The texts that build.mjs puts into the page. */
export interface Texts {
  examples: Record<string, string>;
  lessons: { name: string; scenario: string; lesson: string; answer: string }[];
  /** For each field, a list with the field of every exhibit. Only the first exhibit of an
   * experiment has a title. */
  exhibits: {
    of: string[];
    title: (string | null)[];
    label: string[];
    text: string[];
    rows: string[][];
    points: (number[] | null)[];
    columns: Omit<Column, "values">[][];
    values: (number | null)[][][];
  };
}

export async function texts(): Promise<Texts> {
  return JSON.parse(await text("texts")) as Texts;
}

function title(text: string): string {
  return /^title\s*=\s*"([^"]*)"/m.exec(text)?.[1] ?? "";
}

export function ofExamples({ examples }: Texts): Exhibit[] {
  return Object.entries(examples).map(([name, text]) => ({ id: name, label: title(text) || name, doc: name, text }));
}

export function ofLessons({ lessons }: Texts): Exhibit[] {
  return lessons.map(({ name, scenario, lesson, answer }) => ({
    id: `lesson-${name}`,
    label: /^# (.*)/.exec(lesson)?.[1] ?? name,
    doc: name,
    text: scenario,
    lesson: { task: lesson, answer },
  }));
}

/** Returns the figures and tables of published experiments, by experiment. */
export function ofExperiments({ exhibits }: Texts): [string, Exhibit[]][] {
  const groups = new Map<string, Exhibit[]>();
  let title = "";
  exhibits.of.forEach((of, at) => {
    title = exhibits.title[at] ?? title;
    const label = exhibits.label[at] ?? "";
    const exhibit = { id: `${of}/${label}`, label, doc: title, text: exhibits.text[at] ?? "" };
    const columns = (exhibits.columns[at] ?? []).map((column, place) => ({ ...column, values: exhibits.values[at]?.[place] ?? [] }));
    const published = { title, rows: exhibits.rows[at] ?? [], points: exhibits.points[at] ?? null, columns };
    groups.set(of, [...(groups.get(of) ?? []), columns.length > 0 ? { ...exhibit, published } : exhibit]);
  });
  return [...groups];
}

export function ofPaths(about: About): Exhibit[] {
  return about.registry.paths.map((path) => ({
    id: `path-${path.name}`,
    label: path.name,
    doc: path.doc,
    text: `# ${path.doc}
title    = "CUBIC over ${path.name}"
duration = "30s"

[path]
profile = "${path.name}"             # its numbers: ${path.source}

[[flows]]
cc = "cubic"
`,
  }));
}
