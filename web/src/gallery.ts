// Scenarios to start from: the examples that come with tailback, and the named paths.

import { text } from "./packed";
import type { About } from "./protocol";

export interface Exhibit {
  id: string;
  label: string;
  doc: string;
  text: string;
  /** For a lesson, the question to answer before the run, and the answer. */
  lesson?: { task: string; answer: string };
}

/** The texts that build.mjs puts into the page. */
export interface Texts {
  examples: Record<string, string>;
  lessons: { name: string; scenario: string; lesson: string; answer: string }[];
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
