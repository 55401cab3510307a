// Shows a lesson, in which the user answers a question before the run is shown.

import { button, el } from "./dom";
import { words } from "./words";

/** Returns the headings and paragraphs of a Markdown text, without its markup. */
function paragraphs(markdown: string): HTMLElement[] {
  const plain = (text: string) => text.replace(/\*\*|`/g, "").replace(/\s*\n\s*/g, " ");
  return markdown
    .split(/\n\s*\n/)
    .filter((part) => part.trim() !== "")
    .map((part) => {
      const [, level, heading] = /^(#+) (.*)/.exec(part) ?? [];
      return heading === undefined ? el("p", {}, plain(part)) : el(level === "#" ? "h2" : "h3", {}, plain(heading));
    });
}

/** Shows the question, and calls `shown` when the user has answered. */
export function lesson(task: string, answer: string, shown: () => void): HTMLElement {
  const made = el("section", { class: "lesson" }, ...paragraphs(task));
  const ready = button(words.predicted, "", () => {
    ready.remove();
    made.append(el("details", {}, el("summary", {}, words.answer), ...paragraphs(answer).slice(1)));
    shown();
  });
  ready.classList.add("main");
  made.append(ready);
  return made;
}
