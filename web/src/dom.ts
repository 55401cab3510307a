// Helpers that make DOM elements. They insert text as text nodes, never as HTML, because the text
// may be untrusted.

type Child = Node | string | null;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child): child is Node | string => child !== null));
  return made;
}

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  const made = el("button", { type: "button", title }, label);
  made.addEventListener("click", act);
  return made;
}

/** Makes a menu of values with labels. */
export function menu(label: string, entries: [string, string][], chosen: string, act: (value: string) => void): HTMLSelectElement {
  const made = el("select", { "aria-label": label });
  for (const [value, text] of entries) {
    made.append(el("option", { value, selected: value === chosen }, text));
  }
  made.addEventListener("change", () => act(made.value));
  return made;
}

/** Formats a number, by default with three significant digits. */
export function short(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

/** Formats a rate in bit/s, kbit/s, Mbit/s or Gbit/s. */
export function rate(bit: number): string {
  const units: [number, string][] = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]];
  const [size, unit] = units.find(([size]) => bit >= size) ?? [1, "bit/s"];
  return `${short(bit / size)} ${unit}`;
}
