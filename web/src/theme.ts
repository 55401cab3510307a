// Defines the colours of tailback's figures for light and dark pages.

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#5b4bb5", "#7a6a00"];
const DARK = ["#4aa8e0", "#f0803c", "#2fc296", "#e29fc6", "#a3dcfa", "#f2b63c", "#a99cf5", "#c9b84a"];

/** Returns whether the page is currently dark. */
export function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : chosen === "dark";
}

/** Switches between dark and light colours. */
export function turn(): void {
  document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
}

/** Returns the colour of a flow. */
export function colour(number: number): string {
  const all = isDark() ? DARK : LIGHT;
  return all[number % all.length] ?? "gray";
}

export interface Inks {
  ink: string;
  muted: string;
  grid: string;
  page: string;
  bad: string;
  mark: string;
}

/** Returns the colours of everything except flows. */
export function inks(): Inks {
  return isDark()
    ? { ink: "#e4e7eb", muted: "#a5b1bd", grid: "#2c343d", page: "#14181d", bad: "#ff7b72", mark: "#f2b63c" }
    : { ink: "#1f2933", muted: "#52606d", grid: "#e4e7eb", page: "#ffffff", bad: "#c62828", mark: "#b36b00" };
}
