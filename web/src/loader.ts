// Unpacks the script of single.html and runs it. The page's content security policy lists the
// script's hash.

import { text } from "./packed";
import { noCompression } from "./words";

if (typeof DecompressionStream === "undefined") {
  document.getElementById("lab")?.append(noCompression);
} else {
  void text("script").then((source) => {
    const made = document.createElement("script");
    made.textContent = source;
    document.body.append(made);
  });
}
